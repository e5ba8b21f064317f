package kiosk_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/kiosk"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
)

// Staff are notified once of a tablet that does not call in the hours in which guests check in. The notice ends when it calls.
func TestNoticeOfASilentTablet(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		row, code := h.create("Lobby")
		h.create("Never enrolled")
		_, public := newKey(t)
		_, err := h.enrol(code.Text, public)
		h.must(err)
		at := func(clock string) time.Time {
			t.Helper()
			moment, err := time.Parse(time.RFC3339, clock+":00Z")
			h.must(err)
			return moment
		}
		key := kiosk.Key{PropertyID: hotel, ID: row.ID}
		check := func(when string, notices int, open bool) {
			t.Helper()
			h.clock.Set(at(when))
			due, err := kiosk.ListSilent(h.db.View(t.Context()), "", 10)
			h.must(err)
			for _, k := range due {
				h.must(h.write(func(tx *db.Tx) error { return kiosk.NotifySilent(tx, k) }))
			}
			all, err := notice.List(h.db.View(t.Context()), hotel, notice.Filter{}, 10, "")
			h.must(err)
			isOpen, err := notice.IsOpen(h.db.View(t.Context()), notice.KioskOffline.Key(row.ID))
			h.must(err)
			if len(all) != notices || isOpen != open {
				t.Errorf("%s: %d notices, open: %t; want %d, %t", when, len(all), isOpen, notices, open)
			}
		}
		call := func(when string) {
			h.clock.Set(at(when))
			h.must(h.write(func(tx *db.Tx) error { return kiosk.MarkSeen(tx, row) }))
		}
		check("2026-11-20T14:59", 0, false) // guests check in from 15:00 on
		call("2026-11-20T15:00")
		check("2026-11-20T15:14", 0, false)
		check("2026-11-20T15:15", 1, true)
		check("2026-11-20T18:00", 1, true)
		call("2026-11-20T18:01")
		check("2026-11-20T18:01", 1, false)
		check("2026-11-20T18:20", 2, true)
		h.must(h.write(func(tx *db.Tx) error { _, _, err := kiosk.Reset(tx, h.keys, hotel, row.ID); return err }))
		check("2026-11-20T19:00", 2, false) // no tablet is enrolled

		_, code = h.create("Door")
		_, err = h.enrol(code.Text, public)
		h.must(err)
		h.must(h.write(func(tx *db.Tx) error {
			_, err := property.UpdateCheckInSettings(tx, hotel, property.CheckInChange{KioskOfflineMinutes: new(0)})
			return err
		}))
		check("2026-11-20T23:00", 2, false)
		h.must(h.write(func(tx *db.Tx) error { return kiosk.Delete(tx, hotel, key.ID) }))
		h.must(h.write(func(tx *db.Tx) error { return kiosk.NotifySilent(tx, key) }))
	})
}

// Staff read the health of a tablet from its last call.
func TestStateOf(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	at := func(ago time.Duration) *time.Time { t := now.Add(-ago); return &t }
	for name, c := range map[string]struct {
		row   kiosk.Row
		state string
		store bool // the next call is stored
	}{
		"no tablet":              {kiosk.Row{}, "notEnrolled", true},
		"a code and no tablet":   {kiosk.Row{SeenAt: at(0)}, "notEnrolled", false},
		"a tablet that calls":    {kiosk.Row{EnrolledAt: at(time.Hour), SeenAt: at(29 * time.Second)}, "online", false},
		"a call half a minute":   {kiosk.Row{EnrolledAt: at(time.Hour), SeenAt: at(30 * time.Second)}, "online", true},
		"almost three minutes":   {kiosk.Row{EnrolledAt: at(time.Hour), SeenAt: at(3*time.Minute - 1)}, "online", true},
		"three minutes":          {kiosk.Row{EnrolledAt: at(time.Hour), SeenAt: at(3 * time.Minute)}, "offline", true},
		"a tablet without calls": {kiosk.Row{EnrolledAt: at(time.Hour)}, "offline", true},
	} {
		if state, store := kiosk.StateOf(&c.row, now), kiosk.NeedsSeen(&c.row, now); state != c.state || store != c.store {
			t.Errorf("%s: %s, stored: %t; want %s, %t", name, state, store, c.state, c.store)
		}
	}
}
