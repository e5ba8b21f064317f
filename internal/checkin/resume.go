package checkin

import (
	"context"
	"fmt"
	"time"

	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/db"
)

// Due lists check-ins of all properties that must be evaluated without the guest: their next question or call is due, or the
// PMS has changed the reservation since.
func Due(view *db.Tx, limit int) ([]Key, error) {
	var out []Key
	rows, err := view.Stay.Query().Where(entstay.NextAskAtLTE(view.Now())).Order(entstay.ByNextAskAt()).Limit(limit).
		Select(entstay.FieldPropertyID, entstay.FieldReservationID).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("find check-ins that are due: %w", err)
	}
	for _, row := range rows {
		out = append(out, Key{PropertyID: row.PropertyID, ReservationID: row.ReservationID})
	}
	changed, err := view.QueryContext(view.Context(), findChanged, limit)
	if err != nil {
		return nil, fmt.Errorf("find check-ins whose reservation changed: %w", err)
	}
	defer changed.Close()
	for changed.Next() {
		var k Key
		if err := changed.Scan(&k.PropertyID, &k.ReservationID); err != nil {
			return nil, fmt.Errorf("find check-ins whose reservation changed: %w", err)
		}
		out = append(out, k)
	}
	return out, changed.Err()
}

// findChanged reads the open check-ins, which are few, and looks their reservations up.
const findChanged = `SELECT s.property_id, s.reservation_id FROM stays s JOIN reservations r ON r.id = s.reservation_id AND r.property_id = s.property_id
	WHERE s.ended_at IS NULL AND (s.evaluated_at IS NULL OR s.evaluated_at <> r.updated_at) LIMIT $1`

// Resume evaluates a check-in without the guest, and does what is due.
func (s *Service) Resume(ctx context.Context, k Key) error {
	v, err := s.Get(s.DB.View(ctx), k)
	if err != nil {
		return err
	}
	switch v.Do {
	case DoAsk:
		_, _, err = s.ask(ctx, k, v, false)
	case DoCall:
		claimed := false
		v, err = s.write(ctx, k, func(r *record, now time.Time) { claimed = r.claimRetry(now, false) })
		if err == nil && claimed {
			_, err = s.call(ctx, k, v)
		}
	case DoNothing, DoWait:
		_, err = s.write(ctx, k, func(*record, time.Time) {})
	}
	return err
}
