package kiosk

import (
	"fmt"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/notice"
)

const selectByMAC = `SELECT id, property_id FROM kiosks WHERE mac = $1`

// findByMAC returns the kiosk whose token has the keyed hash mac, see tokenMAC.
func findByMAC(view *db.Tx, mac []byte) (k Key, found bool, err error) {
	if found, err = view.ReadOne(selectByMAC, []any{mac}, &k.ID, &k.PropertyID); err != nil {
		return Key{}, false, fmt.Errorf("find a kiosk: %w", err)
	}
	return k, found, nil
}

// silent finds the enrolled tablets that have not called for a time and for which no notice is open.
const silent = `SELECT k.id, k.property_id FROM kiosks AS k WHERE k.id > $1 AND k.enrolled_at IS NOT NULL AND k.seen_at <= $2
	AND NOT EXISTS (SELECT 1 FROM notices AS n WHERE n.once_key = k.id || '/` + string(notice.KioskOffline) + `') ORDER BY k.id LIMIT $3`

// ListSilent lists the offline tablets of all properties for which no notice is open, in the order of their ids. after is the last id of
// the former page.
func ListSilent(view *db.Tx, after string, limit int) ([]Key, error) {
	list, err := db.ReadList(view, func(k *Key) []any { return []any{&k.ID, &k.PropertyID} }, silent, after, view.Now().Add(-offlineAfter), limit)
	if err != nil {
		return nil, fmt.Errorf("list kiosks that do not call: %w", err)
	}
	return list, nil
}
