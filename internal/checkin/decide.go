package checkin

import (
	"errors"
	"slices"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/money"
)

// OwingRule says whether guests who still owe money may check in.
type OwingRule string

const (
	OwingBlocks    OwingRule = "block"     // any amount owed blocks; this is the default, also for an unknown rule
	OwingAllowed   OwingRule = "allow"     // guests who owe money may check in, because the property collects at check-out
	OwingThreshold OwingRule = "threshold" // an amount above the threshold blocks
)

// Policy is a property's policy for self check-in. Threshold is used only with [OwingThreshold]; an amount in another
// currency blocks.
type Policy struct {
	Owing     OwingRule
	Threshold money.Amount
}

// LastKnown is what the PMS last sent with the reservation itself. Owing is nil if the PMS never sent it.
type LastKnown struct {
	Owing *money.Amount
}

// Source is the source of the data that a verdict is based on.
type Source string

const (
	FromPMS         Source = "pms"             // getCheckInStatus answered, or failed to
	FromReservation Source = "reservationData" // getCheckInStatus is not registered, so the stored reservation decides
)

// Verdict is the decision whether the guest may check in. Staff see Reasons, the PMS's texts and the amount; the
// guest sees only GuestSentence.
type Verdict struct {
	Allowed        bool
	Reasons        []fault.Reason // Reasons are why the guest is blocked, most important first; empty if allowed
	GuestSentence  string         // GuestSentence is empty if the guest is allowed
	Source         Source
	Owing          *money.Amount // Owing is nil if the amount is not known
	PartnerReason  string        // PartnerReason is the reason in a PMS's error, for staff
	PartnerMessage string
}

// Decide converts an answer to getCheckInStatus to a verdict. A nil err means that status is the PMS's answer. With
// [ErrNotRegistered] the last reservation data decides; it has no state of the room, which then does not block. Any
// other error blocks.
func Decide(status Status, err error, last LastKnown, policy Policy) Verdict {
	if errors.Is(err, ErrNotRegistered) {
		return decideOn(FromReservation, last.Owing, true, policy)
	}
	if err != nil {
		return refusedByPartner(err)
	}
	return decideOn(FromPMS, &status.Owing, status.RoomReady, policy)
}

func decideOn(source Source, owing *money.Amount, roomReady bool, policy Policy) Verdict {
	v := Verdict{Source: source, Owing: owing}
	if owing != nil && policy.blocks(*owing) {
		v.Reasons = append(v.Reasons, fault.Owing)
	}
	if !roomReady {
		v.Reasons = append(v.Reasons, fault.RoomNotReady)
	}
	v.Allowed = len(v.Reasons) == 0
	v.GuestSentence = guestSentence(v.Reasons)
	return v
}

func (p Policy) blocks(owing money.Amount) bool {
	switch {
	case owing.Minor <= 0:
		return false
	case p.Owing == OwingAllowed:
		return false
	case p.Owing == OwingThreshold && owing.Currency == p.Threshold.Currency:
		return owing.Minor > p.Threshold.Minor
	default:
		return true
	}
}

func refusedByPartner(err error) Verdict {
	v := Verdict{Source: FromPMS, Reasons: []fault.Reason{PartnerError}}
	if f, ok := fault.Of(err); ok {
		v.PartnerReason, v.PartnerMessage = f.Meta[MetaReason], f.Meta[MetaMessage]
		if f.Reason == PartnerUnavailable {
			v.Reasons[0] = PartnerUnavailable
		}
	}
	v.GuestSentence = guestSentence(v.Reasons)
	return v
}

// guestSentence returns what a blocked guest should do. It never contains the PMS's text, which is only for staff.
func guestSentence(reasons []fault.Reason) string {
	owing, room := slices.Contains(reasons, fault.Owing), slices.Contains(reasons, fault.RoomNotReady)
	switch {
	case len(reasons) == 0:
		return ""
	case owing && room:
		return "There is a payment open and your room is not ready yet. Please see the reception, or pay and try again a little later."
	case owing:
		return "There is a payment open for your stay. Please pay it or see the reception, then try again."
	case room:
		return "Your room is not ready yet. Please try again a little later."
	default:
		return "We could not confirm your check-in with the property just now. Please try again, or see the reception."
	}
}

// Fault converts the verdict to an error, or nil if the guest may check in. Its message is the guest's sentence.
func (v Verdict) Fault() *fault.Fault {
	if v.Allowed {
		return nil
	}
	kind, reason, sentence := fault.Precondition, PartnerError, v.GuestSentence
	if len(v.Reasons) > 0 {
		reason = v.Reasons[0]
	}
	if sentence == "" {
		sentence = guestSentence([]fault.Reason{reason})
	}
	if reason == PartnerUnavailable {
		kind = fault.Unavailable
	}
	return fault.New(kind, reason, sentence)
}
