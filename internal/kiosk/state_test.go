package kiosk_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/kiosk"
)

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
