package property

import (
	"cmp"
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/money"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/staff"
)

// CheckIns implements CheckInService: the settings of self check-in, and what staff see and do about check-ins.
type CheckIns struct {
	propertyv1.UnimplementedCheckInServiceServer
	Deps
	Service *checkin.Service
	// MailLink orders a mail with a new link to the booker. It returns false, and orders none, if a mail for the same o.Occasion, unless
	// that is empty, was ordered before.
	MailLink func(tx *db.Tx, o mail.LinkOrder) (bool, error)
	// GuestAddress returns the guest's mail address for a new link, or "" if none is known. A booking agency's relay address does not
	// count.
	GuestAddress func(tx *db.Tx, row *reservation.Row) (string, error)
}

var (
	errNoGuestAddress = fault.New(fault.Precondition, fault.NoGuestAddress,
		"no mail address of the guest is known: enter it in the PMS, or let the guest start at the kiosk or by the QR code at the door")
	errRelayAddress = fault.New(fault.Precondition, fault.NoGuestAddress,
		"the booker's mail address is a booking agency's relay, which filters mails and breaks links: enter the guest's own address in the PMS, "+
			"or let the guest start at the kiosk or by the QR code at the door")
)

// GetCheckIn returns the stored check-in of a reservation as staff see it. It makes no call to the PMS.
func (s *CheckIns) GetCheckIn(ctx context.Context, r *propertyv1.GetCheckInRequest) (*propertyv1.GetCheckInResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	v, err := s.Service.Get(view, checkin.Key{PropertyID: propertyID, ReservationID: r.GetReservationId()})
	if err != nil {
		return nil, err
	}
	m, err := s.message(ctx, view, v)
	return &propertyv1.GetCheckInResponse{Data: m}, err
}

// ClearStage records that a member of staff cleared or, with a reason, refused the identity check or the signature of a check-in. It fails
// if the check-in has ended or does not need the stage, or if a stage is cleared before the day of arrival.
func (s *CheckIns) ClearStage(ctx context.Context, r *propertyv1.ClearStageRequest) (*propertyv1.ClearStageResponse, error) {
	who, _ := actor.From(ctx)
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.ClearStageResponse, error) {
		by, err := staffName(tx, who)
		if err != nil {
			return nil, err
		}
		k := checkin.Key{PropertyID: propertyID, ReservationID: r.GetReservationId()}
		v, err := s.Service.ClearStage(tx, k, checkin.Stage(r.GetStage()), by, strings.TrimSpace(r.GetRefuseBecause()))
		if err != nil {
			return nil, err
		}
		m, err := s.message(tx.Context(), tx, v)
		return &propertyv1.ClearStageResponse{Data: m}, err
	})
}

// WaiveOwing lets a guest check in although an amount is owed. It needs a reason. It fails if the amount is no longer the one in the
// request, or none stops the check-in.
func (s *CheckIns) WaiveOwing(ctx context.Context, r *propertyv1.WaiveOwingRequest) (*propertyv1.WaiveOwingResponse, error) {
	if err := RequireName("reason", r.GetReason()); err != nil {
		return nil, err
	}
	who, _ := actor.From(ctx)
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.WaiveOwingResponse, error) {
		by, err := staffName(tx, who)
		if err != nil {
			return nil, err
		}
		v, err := s.Service.WaiveOwing(tx, checkin.Key{PropertyID: propertyID, ReservationID: r.GetReservationId()}, by, strings.TrimSpace(r.GetOwing()))
		if err != nil {
			return nil, err
		}
		m, err := s.message(tx.Context(), tx, v)
		return &propertyv1.WaiveOwingResponse{Data: m}, err
	})
}

// AskAgain asks the PMS again whether the guest may check in, or repeats a checkIn call that had no answer. It never makes a new checkIn
// call, and asks nothing before the guest begins or after the PMS has accepted the check-in. The call runs outside of a transaction; the
// answer is then stored under the caller's Idempotency-Key. If the server crashes in between, a repeated call asks once more, which has no
// second effect at the PMS.
func (s *CheckIns) AskAgain(ctx context.Context, r *propertyv1.AskAgainRequest) (*propertyv1.AskAgainResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // if the caller disconnects, the answer is still stored for a repeated call
	v, err := s.Service.AskAgainAsStaff(ctx, checkin.Key{PropertyID: propertyID, ReservationID: r.GetReservationId()})
	if err != nil {
		return nil, err
	}
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, _ string) (*propertyv1.AskAgainResponse, error) {
		m, err := s.message(tx.Context(), tx, v)
		return &propertyv1.AskAgainResponse{Data: m}, err
	})
}

// EndCall ends a checkIn call to the PMS that had no answer, after a member of staff saw in the PMS that the guest is not checked in. The
// guest can then try again. It fails if there is no such call, or it still runs.
func (s *CheckIns) EndCall(ctx context.Context, r *propertyv1.EndCallRequest) (*propertyv1.EndCallResponse, error) {
	who, _ := actor.From(ctx)
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.EndCallResponse, error) {
		by, err := staffName(tx, who)
		if err != nil {
			return nil, err
		}
		v, err := s.Service.ForgetUnansweredCall(tx, checkin.Key{PropertyID: propertyID, ReservationID: r.GetReservationId()}, by)
		if err != nil {
			return nil, err
		}
		m, err := s.message(tx.Context(), tx, v)
		return &propertyv1.EndCallResponse{Data: m}, err
	})
}

// ResendInvitation orders a mail with a new check-in link to the booker, and ends the booker's earlier links that no device has opened. It
// fails for a stay that was canceled or ended more than seven days ago, and without a usable address.
func (s *CheckIns) ResendInvitation(ctx context.Context, r *propertyv1.ResendInvitationRequest) (*propertyv1.ResendInvitationResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.ResendInvitationResponse, error) {
		row, err := reservation.Get(tx, reservation.Scope{PropertyID: propertyID}, r.GetReservationId())
		if err != nil {
			return nil, err
		}
		if row.State == "canceled" || !tx.Now().Before(guest.LinksEndAt(row)) {
			return nil, fault.New(fault.Precondition, fault.StayEnded, "the stay was canceled, or ended more than seven days ago, so its guest gets no link")
		}
		address, err := s.GuestAddress(tx, row)
		if err != nil {
			return nil, err
		}
		if address == "" {
			return nil, s.whyNoAddress(ctx, row)
		}
		if err := guest.RevokeLinks(tx, propertyID, row.ID, "", true); err != nil {
			return nil, err
		}
		_, err = s.MailLink(tx, mail.LinkOrder{PropertyID: propertyID, ReservationID: row.ID})
		return &propertyv1.ResendInvitationResponse{}, err
	})
}

// whyNoAddress returns the error for a guest without a usable mail address. If the PMS has only a booking agency's relay address, the error
// says so.
func (s *CheckIns) whyNoAddress(ctx context.Context, row *reservation.Row) error {
	booker, err := reservation.Service{Keys: s.Keys}.Booker(ctx, row)
	switch {
	case err != nil:
		return err
	case booker.Email != nil && mail.IsRelay(*booker.Email):
		return errRelayAddress
	}
	return errNoGuestAddress
}

// message converts a check-in for staff, with the details of each stop (a reason that holds it back) and the names of the staff who cleared
// a stage. The owing amount is that of the PMS's last answer, or else that of the reservation.
func (s *CheckIns) message(ctx context.Context, view *db.Tx, v checkin.View) (*propertyv1.StaffCheckIn, error) {
	m := &propertyv1.StaffCheckIn{
		Stage: string(v.Stage), BeganBy: v.Row.BeganBy, BeganAt: convert.OptionalTime(v.Row.BeganAt), NextAskAt: clock.Timestamp(v.NextAsk()),
		AttemptKey: v.Attempt.Key, Attempts: int32(v.Attempt.Calls), AcceptedAt: clock.Timestamp(v.Attempt.AcceptedAt),
		ArrivalTime: v.Row.ArrivalTime, HouseRulesAcceptedAt: convert.OptionalTime(v.Row.HouseRulesAcceptedAt),
	}
	if v.Answer != nil {
		m.AskedAt = timestamppb.New(v.Answer.At)
		m.RoomReady = v.Row.Answer.RoomReady
	}
	owing := v.Reservation.Owing
	if v.Answer != nil && v.Answer.Owing != nil {
		owing = v.Answer.Owing
	}
	if owing != nil {
		m.Owing, m.OwingCurrency = owing.Number(), owing.Currency
	}
	for _, stop := range v.Stops {
		facts, err := s.Service.FactsOf(ctx, v, stop)
		if err != nil {
			return nil, err
		}
		m.Stops = append(m.Stops, staffStop(stop.Reason, facts, chain.Reader(ctx)))
	}
	var by []string
	for _, c := range v.Cleared {
		by = append(by, c.Stored.By)
	}
	names, err := staff.Names(view, s.Keys, v.Row.PropertyID, by)
	if err != nil {
		return nil, err
	}
	for _, counts := range v.Cleared {
		c := counts.Stored
		at, _ := time.Parse(time.RFC3339, c.At)
		cleared := &propertyv1.ClearedStage{Stage: c.Stage, By: cmp.Or(names[c.By], c.By), At: timestamppb.New(at), Refused: c.Refused}
		if c.OwingCurrency != "" {
			cleared.Owing, cleared.OwingCurrency = money.Amount{Minor: c.OwingMinor, Currency: c.OwingCurrency}.Number(), c.OwingCurrency
		}
		m.Cleared = append(m.Cleared, cleared)
	}
	for _, g := range v.People.Members {
		m.Guests = append(m.Guests, staffGuest(g))
	}
	return m, nil
}

// staffStop converts a reason that stops a check-in, with the details that staff see.
func staffStop(reason checkin.StopReason, facts checkin.StopFacts, to message.Reader) *propertyv1.StaffStop {
	return &propertyv1.StaffStop{
		Reason: string(reason), Text: to.Text(facts.Text), PartnerReason: facts.PartnerReason, PartnerMessage: facts.PartnerMessage,
		PartnerStatus: int32(facts.Status), Since: clock.Timestamp(facts.Since), Endpoint: facts.Endpoint, CallId: facts.Call,
		LastAnsweredAt: clock.Timestamp(facts.LastAnsweredAt), OwingPolicy: string(facts.OwingPolicy), OwingLimit: facts.OwingLimit,
		Parameters: convert.Struct(facts.Text.Params),
	}
}

// staffGuest converts the progress of a guest's registration form, without the answers.
func staffGuest(m guest.Member) *propertyv1.StaffGuest {
	g := &propertyv1.StaffGuest{Id: m.Row.ID, Role: m.Row.Role, Complete: len(m.Missing) == 0, Child: m.Row.Child, Signed: !m.SignedAt.IsZero()}
	if len(m.Missing) > 0 {
		step, _ := rule.StepOf(m.Missing[0])
		g.MissingStep = string(step)
	}
	for _, f := range m.Open {
		g.OpenUntilDeparture = append(g.OpenUntilDeparture, string(f))
	}
	return g
}

// staffName returns the name under which the actions of a member of staff are recorded: the actor's Author or, for a token of the property,
// its name. A token for one command of an operator counts as the operator.
func staffName(tx *db.Tx, who actor.Actor) (string, error) {
	if who.For != "" || who.TokenID == "" {
		return who.Author(), nil
	}
	name, err := credential.TokenName(tx, who.PropertyID, who.TokenID)
	if err != nil || name != "" {
		return name, err
	}
	return who.Author(), nil
}
