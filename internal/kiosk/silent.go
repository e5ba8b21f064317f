package kiosk

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
)

func offlineKey(kioskID string) string { return notice.KioskOffline.Key(kioskID) }

// Key names a kiosk.
type Key struct{ PropertyID, ID string }

// silent finds the enrolled tablets that have not called for a time, of which no notice is open.
const silent = `SELECT k.id, k.property_id FROM kiosks AS k WHERE k.id > $1 AND k.enrolled_at IS NOT NULL AND k.seen_at <= $2
	AND NOT EXISTS (SELECT 1 FROM notices AS n WHERE n.once_key = k.id || '/` + string(notice.KioskOffline) + `') ORDER BY k.id LIMIT $3`

// ListSilent lists the offline tablets of all properties for which no notice is open, in the order of their ids and after a cursor.
func ListSilent(view *db.Tx, after string, limit int) ([]Key, error) {
	list, err := db.ReadList(view, func(k *Key) []any { return []any{&k.ID, &k.PropertyID} }, silent, after, view.Now().Add(-offlineAfter), limit)
	if err != nil {
		return nil, fmt.Errorf("list kiosks that do not call: %w", err)
	}
	return list, nil
}

// NotifySilent notifies staff of a tablet that has not called for the time in the settings, in the hours in which guests check in.
// The notice is open until the tablet calls again, or is reset or deleted.
func NotifySilent(tx *db.Tx, k Key) error {
	row, err := Get(tx, k.PropertyID, k.ID)
	if fault.Has(err, fault.KioskNotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	prop, err := property.Get(tx, k.PropertyID)
	if err != nil {
		return err
	}
	settings, err := property.GetCheckInSettings(tx, k.PropertyID)
	if err != nil {
		return err
	}
	zone, err := clock.Zone(prop.TimeZone)
	if err != nil {
		return err
	}
	after := time.Duration(settings.KioskOfflineMinutes) * time.Minute
	if !isDue(row, after, tx.Now().In(zone), prop.CheckInTime, prop.EarlyInMinutes) {
		return nil
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: k.PropertyID, Kind: notice.KioskOffline, Subject: k.ID, OnceKey: offlineKey(k.ID),
		Params: message.Params{"kiosk": row.Name, "since": row.SeenAt.In(zone).Format("2006-01-02 15:04")},
	})
}

// isDue reports whether staff have to be notified of a tablet. after is the time without a call, and 0 means never. Guests check in
// from checkIn (HH:MM), or early minutes before it, until midnight in the zone of now.
func isDue(row *ent.Kiosk, after time.Duration, now time.Time, checkIn string, early int) bool {
	if after <= 0 || row.EnrolledAt == nil || row.SeenAt == nil || now.Sub(*row.SeenAt) < max(after, offlineAfter) {
		return false
	}
	opens, err := time.Parse("15:04", checkIn)
	if err != nil {
		return true // no hour is known
	}
	return now.Hour()*60+now.Minute() >= opens.Hour()*60+opens.Minute()-early
}
