package property

import (
	"context"

	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

var errNoAccess = fault.New(fault.Precondition, fault.NoAccess,
	"no door of the stay has a code now: the guest is not in house, or the stay has no room with a lock; ExplainReservation says why")

var errNoOtherPIN = fault.New(fault.Precondition, fault.Reason(access.PINNotPossible),
	"the lock of the room accepts no other PIN that is free, so nothing changes; try again when other stays have ended, or set a longer pinLength")

// ExtendAccess extends the access of a guest in house to the request's time, at most 24 hours after the planned end of the stay. It needs a
// reason. It replaces an earlier extension. If the PMS changes the dates or ends the stay, the extension ends.
func (s *reservations) ExtendAccess(ctx context.Context, r *propertyv1.ExtendAccessRequest) (*propertyv1.ExtendAccessResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.ExtendAccessResponse, error) {
		if err := RequireName("reason", r.GetReason()); err != nil {
			return nil, err
		}
		plan, err := s.reservations().ExtendAccess(tx, propertyID, r.GetId(), r.GetUntil().AsTime(), author(ctx))
		if err != nil {
			return nil, err
		}
		return &propertyv1.ExtendAccessResponse{Data: stayAccess(r.GetId(), plan)}, nil
	})
}

// stayAccess converts an access plan to its status and the time for which the doors open.
func stayAccess(reservationID string, p access.Plan) *propertyv1.StayAccess {
	out := &propertyv1.StayAccess{Id: reservationID, Status: string(p.Status)}
	if p.Window != nil {
		out.OpensFrom, out.OpensUntil = clock.Timestamp(p.Window.From), clock.Timestamp(p.Window.To)
	}
	return out
}

// RevealPin returns the PINs of a stay, and records that the caller read them. It needs a reason, and fails if there are no PINs. The
// stored answer for the Idempotency-Key has no PINs: a repeated call decrypts them again, and records that.
func (s *reservations) RevealPin(ctx context.Context, r *propertyv1.RevealPinRequest) (*propertyv1.RevealPinResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RevealPinResponse, error) {
		if err := RequireName("reason", r.GetReason()); err != nil {
			return nil, err
		}
		return s.revealPIN(tx, propertyID, r.GetId())
	})
}

// revealPIN decrypts the PINs of a stay, and records who read them. It fails if there are none.
func (s *reservations) revealPIN(tx *db.Tx, propertyID, reservationID string) (*propertyv1.RevealPinResponse, error) {
	row, err := reservation.Get(tx, reservation.Scope{PropertyID: propertyID}, reservationID)
	if err != nil {
		return nil, err
	}
	shown, err := access.RevealPINs(access.Reconciler{Tx: tx, Keys: s.Keys}, propertyID, row.ID)
	if err != nil {
		return nil, err
	}
	if shown.IsEmpty() {
		return nil, errNoAccess
	}
	out := &propertyv1.StayPins{Id: row.ID, Pin: shown.PIN}
	for _, g := range shown.Gates {
		out.Gates = append(out.Gates, &propertyv1.StayGatePin{GateId: g.ID, Name: g.Name, Pin: g.PIN})
	}
	return &propertyv1.RevealPinResponse{Data: out}, appendStaffEvent(tx, row, event.PINRead)
}

// renderStayPIN is the idem.Renderer of RevealPin: it adds the PINs to a repeated answer, and records that they were shown again. It fails
// if there are none now.
func (s *reservations) renderStayPIN(ctx context.Context, answer proto.Message) error {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return err
	}
	m := answer.(*propertyv1.RevealPinResponse)
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		now, err := s.revealPIN(tx, propertyID, m.GetData().GetId())
		if err == nil {
			m.Data = now.GetData()
		}
		return err
	})
}

// ReplacePin gives a stay a new PIN in place of its current one, and records that as an event. Separate PINs of gates stay. It needs a
// reason. It fails if the room or bed has no PIN now, or if no other PIN is possible.
func (s *reservations) ReplacePin(ctx context.Context, r *propertyv1.ReplacePinRequest) (*propertyv1.ReplacePinResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.ReplacePinResponse, error) {
		if err := RequireName("reason", r.GetReason()); err != nil {
			return nil, err
		}
		row, err := reservation.Get(tx, reservation.Scope{PropertyID: propertyID}, r.GetId())
		if err != nil {
			return nil, err
		}
		failed, err := access.Reset(access.Reconciler{Tx: tx, Keys: s.Keys}, propertyID, row.ID, []access.Part{access.PartPIN})
		if err != nil {
			return nil, err
		}
		if len(failed) > 0 {
			return nil, whyNoPIN(tx, propertyID, row.ID)
		}
		if err := appendStaffEvent(tx, row, event.PINReplaced); err != nil {
			return nil, err
		}
		in, err := property.Get(tx, propertyID)
		if err != nil {
			return nil, err
		}
		plan, err := s.reservations().Plan(tx, row, in)
		return &propertyv1.ReplacePinResponse{Data: stayAccess(row.ID, plan)}, err
	})
}

// whyNoPIN returns why the PIN of a stay could not be replaced: errNoAccess if it has none, else errNoOtherPIN.
func whyNoPIN(tx *db.Tx, propertyID, reservationID string) error {
	switch version, err := access.PINVersion(tx, propertyID, reservationID); {
	case err != nil:
		return err
	case version == "":
		return errNoAccess
	}
	return errNoOtherPIN
}

// appendStaffEvent records what the calling member of staff did at a stay, as an event that the explanation of the stay shows.
func appendStaffEvent(tx *db.Tx, row *reservation.Row, kind event.Kind) error {
	who, _ := actor.From(tx.Context())
	return event.Append(tx, event.Event{
		PropertyID: row.PropertyID, Subject: event.InternalSubject(row.ID), Kind: kind,
		Body: map[string]any{"reservationId": row.ID, "by": who.Author()},
	})
}
