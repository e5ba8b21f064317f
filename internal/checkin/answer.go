package checkin

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/money"
	"latchkey.dev/internal/text"
)

// Sources of a stored answer to getCheckInStatus.
const (
	fromPMS         = "pms"             // getCheckInStatus was called, and answered or failed
	fromReservation = "reservationData" // getCheckInStatus is not registered
)

// answerOf converts a stored answer to getCheckInStatus. It returns nil if the PMS was not asked yet.
func answerOf(a schema.StatusAnswer) *Answer {
	if a.At == "" {
		return nil
	}
	at, _ := time.Parse(time.RFC3339Nano, a.At)
	about, _ := time.Parse(time.RFC3339Nano, a.Reservation)
	out := &Answer{At: at, About: about, NotRegistered: a.Source == fromReservation, Failure: StopReason(a.Reason), RoomReady: a.RoomReady != nil && *a.RoomReady}
	if a.OwingMinor != nil {
		out.Owing = &money.Amount{Minor: *a.OwingMinor, Currency: a.Currency}
	}
	return out
}

// storedAnswer returns the result of getCheckInStatus in the form that is stored. at is the time of the call, and about is when the PMS had
// last changed the reservation then. sealed is the encrypted text of err.
func storedAnswer(at, about time.Time, status Status, err error, sealed []byte) schema.StatusAnswer {
	a := schema.StatusAnswer{At: at.UTC().Format(time.RFC3339Nano), Reservation: about.UTC().Format(time.RFC3339Nano), Source: fromPMS}
	switch {
	case errors.Is(err, ErrNotRegistered):
		a.Source = fromReservation
	case err != nil:
		a.Reason = string(StopPartnerError)
		if fault.Has(err, PartnerUnavailable) {
			a.Reason = string(StopPartnerUnavailable)
		}
		a.Status, a.Call, a.ErrorText = statusOf(err), callOf(err), sealed
	default:
		a.OwingMinor, a.Currency, a.RoomReady = &status.Owing.Minor, status.Owing.Currency, &status.RoomReady
	}
	return a
}

// isAfter reports whether an answer is later than a time. It is false if the PMS was not asked yet.
func isAfter(a schema.StatusAnswer, t time.Time) bool {
	at, err := time.Parse(time.RFC3339Nano, a.At)
	return err == nil && at.After(t)
}

// outcomeOf returns the state of an attempt after a checkIn call that returned err: AttemptAccepted for nil, and AttemptAtDesk for
// ErrNotRegistered. Without a definite answer (none, one that cannot be read, or a status 408, 409, 425, 429 or 5xx) the attempt stays
// AttemptCalling, because its effect is not known: the call is repeated under the same key. Every other status gives AttemptRefused.
func outcomeOf(err error) AttemptState {
	switch {
	case err == nil:
		return AttemptAccepted
	case errors.Is(err, ErrNotRegistered):
		return AttemptAtDesk
	}
	f, ok := fault.Of(err)
	if !ok || f.Reason != PartnerError || f.Meta[MetaUnreadable] != "" {
		return AttemptCalling // to be repeated: the PMS was not reached, a setting is wrong, or the answer cannot be read
	}
	switch status := statusOf(err); {
	case status == 408, status == 409, status == 425, status == 429, status >= 500:
		return AttemptCalling
	}
	return AttemptRefused
}

// refusalOf returns why a checkIn call did not succeed, in the form that is stored. state is the result of outcomeOf, and sealed the
// encrypted text of err.
func refusalOf(at time.Time, state AttemptState, err error, sealed []byte) schema.StatusAnswer {
	a := schema.StatusAnswer{At: at.UTC().Format(time.RFC3339Nano), Source: fromPMS, Reason: string(StopCheckInRefused), Status: statusOf(err), Call: callOf(err), ErrorText: sealed}
	if state == AttemptCalling {
		a.Reason = string(StopNoAnswer)
	}
	return a
}

// statusOf returns the HTTP status of the PMS's answer, or 0.
func statusOf(err error) int {
	f, ok := fault.Of(err)
	if !ok {
		return 0
	}
	status, _ := strconv.Atoi(f.Meta[MetaStatus])
	return status
}

// callOf returns the webhook-id of a call that failed, cut to maxCallID bytes, or "".
func callOf(err error) string {
	f, ok := fault.Of(err)
	if !ok {
		return ""
	}
	return text.Truncate(f.Meta[MetaCall], maxCallID)
}

// maxCallID is the most bytes of a webhook-id that are stored; a longer one is cut.
const maxCallID = 128

// mergeAnswer completes a new answer with what only the earlier ones have: whether the room was ready, if the PMS fails now; when the PMS
// last answered without an error; and since when each reason has lasted.
func mergeAnswer(before, a schema.StatusAnswer) schema.StatusAnswer {
	a.GoodAt = before.GoodAt
	switch {
	case a.Reason != "":
		a.RoomReady = before.RoomReady
	case a.Source == fromPMS:
		a.GoodAt = a.At
	}
	a.Since = map[string]string{}
	for reason, holds := range map[StopReason]bool{
		StopReason(a.Reason): a.Reason != "", StopOwing: a.OwingMinor != nil && *a.OwingMinor > 0, StopRoomNotReady: a.RoomReady != nil && !*a.RoomReady,
	} {
		if holds {
			a.Since[string(reason)] = cmp.Or(before.Since[string(reason)], a.At)
		}
	}
	return a
}
