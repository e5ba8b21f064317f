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

// Completion is the result of a checkIn call. It does not start the stay: the PMS then sends the changed reservation.
type Completion struct {
	Accepted       bool // Accepted means that the PMS accepted the check-in
	AtDesk         bool // AtDesk means that checkIn is not registered, so that staff at the desk complete the check-in
	NotifyStaff    bool
	Reason         fault.Reason // Reason is why the check-in was not accepted; empty if it was
	GuestSentence  string
	PartnerReason  string
	PartnerMessage string
}

// Complete asks the PMS to check the guest in, if the verdict allows it. Without a disclosure the PMS receives only
// the reservation's id; a disclosure is made only for a guest who has confirmed check-in at the property.
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
