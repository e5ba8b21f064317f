package checkin

import (
	"context"
	"fmt"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
)

// Due lists check-ins of all properties that must be evaluated without the guest: the PMS has changed the reservation since, or
// their next question or call is due. Of the latter, each integration gets its turn, so that one with many does not fill the list.
func Due(view *db.Tx, limit int) (changed, due []Key, err error) {
	if changed, err = keysOf(view, findChanged, limit); err != nil {
		return nil, nil, fmt.Errorf("find check-ins whose reservation changed: %w", err)
	}
	if due, err = keysOf(view, findDue, view.Now(), limit); err != nil {
		return nil, nil, fmt.Errorf("find check-ins that are due: %w", err)
	}
	return changed, due, nil
}

// findChanged reads the open check-ins and those that ended with an open notice, which are few, and looks their reservations up.
const findChanged = `SELECT s.property_id, s.reservation_id FROM stays s JOIN reservations r ON r.id = s.reservation_id AND r.property_id = s.property_id
	WHERE s.ended_at IS NULL AND (s.evaluated_at IS NULL OR s.evaluated_at <> r.updated_at)
	UNION ALL SELECT s.property_id, s.reservation_id FROM stays s JOIN reservations r ON r.id = s.reservation_id AND r.property_id = s.property_id
	WHERE s.next_ask_at IS NOT NULL AND s.ended_at IS NOT NULL AND s.evaluated_at <> r.updated_at LIMIT $1`

const findDue = `SELECT property_id, reservation_id FROM (
		SELECT s.property_id, s.reservation_id, s.next_ask_at, row_number() OVER (PARTITION BY r.integration_id ORDER BY s.next_ask_at) AS turn
		FROM stays s JOIN reservations r ON r.id = s.reservation_id AND r.property_id = s.property_id WHERE s.next_ask_at IS NOT NULL AND s.next_ask_at <= $1
	) AS due ORDER BY turn, next_ask_at LIMIT $2`

func keysOf(view *db.Tx, query string, args ...any) ([]Key, error) {
	return db.ReadList(view, func(k *Key) []any { return []any{&k.PropertyID, &k.ReservationID} }, query, args...)
}

// Evaluate stores what follows from the facts of a check-in without a call. It returns the integration whose PMS has to be called
// next, or "".
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

// EvaluateChange stores, in the transaction that changes the form, what follows for a check-in that has begun and not ended. It makes no
// call.
func (s *Service) EvaluateChange(tx *db.Tx, k Key) error {
	stay, err := guest.LoadStay(tx, k.PropertyID, k.ReservationID)
	if err != nil || stay == nil || stay.BeganAt == nil || stay.EndedBy != "" {
		return err
	}
	_, err = s.applyChange(tx, k, func(*db.Tx, *record) error { return nil })
	return err
}

func (v View) callIsDue() bool { return v.Do == DoAsk || v.Do == DoCall }

// Resume evaluates a check-in without the guest, and makes the call that is due.
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
