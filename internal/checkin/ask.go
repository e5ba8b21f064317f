package checkin

import (
	"context"
	"errors"

	"latchkey.dev/internal/fault"
)

// Ask asks the PMS whether the guest may check in, and decides. It caches nothing: each call queries the PMS.
func Ask(ctx context.Context, pms PMS, reservationID string, last LastKnown, policy Policy) Verdict {
	status, err := pms.CheckInStatus(ctx, reservationID)
	return Decide(status, err, last, policy)
}

// Completion is how a checkIn call ended. The stay itself begins with the reservation that
// the partner sends afterwards, never with this answer.
type Completion struct {
	Accepted       bool // the partner has taken the check-in
	AtDesk         bool // checkIn is not registered: the desk completes it
	NotifyStaff    bool
	Reason         fault.Reason // why it was not accepted; empty when it was
	GuestSentence  string
	PartnerReason  string
	PartnerMessage string
}

// Complete asks the PMS to check the guest in, which it does only after a verdict that
// allows it. The partner learns the reservation's id alone unless a disclosure is passed;
// a disclosure is made only for a guest who has confirmed check-in at the property.
func Complete(ctx context.Context, pms PMS, verdict Verdict, idempotencyKey, reservationID string, disclosure *Disclosure) Completion {
	if f := verdict.Fault(); f != nil {
		return Completion{
			NotifyStaff: true, Reason: f.Reason, GuestSentence: f.Message,
			PartnerReason: verdict.PartnerReason, PartnerMessage: verdict.PartnerMessage,
		}
	}
	body := Disclosure{}
	if disclosure != nil {
		body = *disclosure
	}
	body.ReservationID = reservationID
	err := pms.CheckIn(ctx, idempotencyKey, body)
	switch {
	case err == nil:
		return Completion{Accepted: true, GuestSentence: "The property has your check-in. Your access is shown here as soon as it is confirmed."}
	case errors.Is(err, ErrNotRegistered):
		return Completion{
			AtDesk: true, NotifyStaff: true, Reason: EndpointNotRegistered,
			GuestSentence: "Almost done: the reception completes your check-in.",
		}
	}
	refusal := refusedByPartner(err)
	return Completion{
		NotifyStaff: true, Reason: refusal.Reasons[0], GuestSentence: refusal.GuestSentence,
		PartnerReason: refusal.PartnerReason, PartnerMessage: refusal.PartnerMessage,
	}
}
