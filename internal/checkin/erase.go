package checkin

import (
	"fmt"
	"time"

	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/internal/db"
)

// CanceledRetention is how long the answers of guests are kept after their stay was canceled.
const CanceledRetention = 30 * 24 * time.Hour

// findCanceled finds the guests of canceled stays. Neither the state before the cancelation nor the check-in matters.
const findCanceled = `SELECT g.id FROM reservations AS r JOIN guests AS g ON g.reservation_id = r.id AND g.property_id = r.property_id
	WHERE r.canceled_at <= $1 LIMIT $2`

// EraseCanceled deletes guests with their answers whose stays were canceled before a time, at most limit, and returns how many.
func EraseCanceled(tx *db.Tx, before time.Time, limit int) (int, error) {
	ids, err := idsOf(tx, findCanceled, before, limit)
	if err != nil {
		return 0, fmt.Errorf("find guests of canceled stays: %w", err)
	}
	n, err := tx.Guest.Delete().Where(entguest.IDIn(ids...)).Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("erase guests of canceled stays: %w", err)
	}
	return n, nil
}

func idsOf(tx *db.Tx, query string, args ...any) (ids []string, err error) {
	rows, err := tx.QueryContext(tx.Context(), query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
