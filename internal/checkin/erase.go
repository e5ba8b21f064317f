package checkin

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/db"
)

// CanceledRetention is how long the answers of guests are kept after their stay was canceled.
const CanceledRetention = 30 * 24 * time.Hour

// EraseCanceled deletes guests with their answers whose stays were canceled before a time, at most limit, and returns how many.
func EraseCanceled(tx *db.Tx, before time.Time, limit int) (int, error) {
	canceled := predicate.Guest(func(s *sql.Selector) {
		stays, reservations := sql.Table("stays"), sql.Table("reservations")
		s.Where(sql.In(s.C(entguest.FieldReservationID), sql.Select(stays.C("reservation_id")).From(stays).
			Join(reservations).On(reservations.C("id"), stays.C("reservation_id")).
			Where(sql.And(sql.EQ(reservations.C("state"), "canceled"), sql.EQ(stays.C("ended_by"), endedByCanceled), sql.LTE(stays.C("ended_at"), before)))))
	})
	ids, err := tx.Guest.Query().Where(canceled).Limit(limit).IDs(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("find guests of canceled stays: %w", err)
	}
	n, err := tx.Guest.Delete().Where(entguest.IDIn(ids...)).Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("erase guests of canceled stays: %w", err)
	}
	return n, nil
}
