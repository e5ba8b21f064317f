package kiosk

import (
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
)

// offlineKey identifies the notice about an offline tablet.
func offlineKey(kioskID string) string { return notice.KioskOffline.Key(kioskID) }

// Key identifies a kiosk: its property, and its id, which is unique in the installation.
type Key struct{ PropertyID, ID string }

// NotifySilent adds a notice for staff if a tablet has not called for the time in the settings, in the hours in which guests check in: see
// isDue. Without such a time in the settings it adds none. The notice is open until the tablet calls again, or the kiosk is reset or
// deleted.
func NotifySilent(tx *db.Tx, k Key) error {
	row, err := Get(tx, k.PropertyID, k.ID)
	if fault.Has(err, fault.KioskNotFound) {
		return nil // the kiosk was deleted meanwhile
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

// isDue reports whether staff have to be notified now of a silent tablet: it has not called for the time after, or for offlineAfter if that
// is longer, and guests can check in now. They can from checkIn (HH:MM), or early minutes before it, until midnight in the zone of now;
// without a valid checkIn at any time. The silence may have begun outside of these hours. isDue returns false if after is 0 or the tablet
// is not enrolled.
func isDue(row *ent.Kiosk, after time.Duration, now time.Time, checkIn string, early int) bool {
	if after <= 0 || row.EnrolledAt == nil || row.SeenAt == nil || now.Sub(*row.SeenAt) < max(after, offlineAfter) {
		return false
	}
	opens, err := time.Parse("15:04", checkIn)
	if err != nil {
		return true // without a valid check-in time, guests can check in at any time
	}
	return now.Hour()*60+now.Minute() >= opens.Hour()*60+opens.Minute()-early
}
