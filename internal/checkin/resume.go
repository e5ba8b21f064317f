package checkin

import (
	"context"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
)

// Evaluate is a step of the background sweep. If a call to the PMS is due, it returns the integration of the call and stores nothing.
// Otherwise it decides about the check-in again and stores the result; a call may be due then. It calls no PMS, and returns "" if no call
// is due.
func (s *Service) Evaluate(ctx context.Context, k Key) (integrationID string, err error) {
	v, err := s.Read(ctx, k)
	if err == nil && !v.callIsDue() {
		v, err = s.write(ctx, k, func(*record, time.Time) {})
	}
	if err != nil || !v.callIsDue() {
		return "", err
	}
	return v.record.reservation.IntegrationID, nil
}

// EvaluateChange evaluates a check-in in the transaction that changes the form, if the check-in has begun and not ended. It makes no call
// to the PMS.
func (s *Service) EvaluateChange(tx *db.Tx, k Key) error {
	stay, err := guest.LoadStay(tx, k.PropertyID, k.ReservationID)
	if err != nil || stay == nil || stay.BeganAt == nil || stay.EndedBy != "" {
		return err
	}
	_, err = s.applyChange(tx, k, func(*db.Tx, *record) error { return nil })
	return err
}

// callIsDue reports whether the next step is a call to the PMS, getCheckInStatus or checkIn.
func (v View) callIsDue() bool { return v.Do == DoAsk || v.Do == DoCall }

// Resume is a step of the background sweep: it evaluates a check-in without the guest, and makes the call to the PMS that is due.
func (s *Service) Resume(ctx context.Context, k Key) error {
	v, err := s.Read(ctx, k)
	if err != nil {
		return err
	}
	switch v.Do {
	case DoAsk:
		_, err = s.ask(ctx, k, v, "")
	case DoCall:
		v, err = s.write(ctx, k, func(r *record, now time.Time) { r.claimRetry(now, false) })
		if err == nil && v.record.claimed {
			_, err = s.call(ctx, k, v)
		}
	case DoNothing, DoWait:
		_, err = s.write(ctx, k, func(*record, time.Time) {})
	}
	return err
}
