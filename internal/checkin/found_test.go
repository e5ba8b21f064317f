package checkin_test

import (
	"testing"
	"time"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// find searches the stay by its two facts and fails the test unless it is found.
func (x *fixture) find(place string) {
	x.Helper()
	q := guest.Search{PropertyID: propertyID, Number: "8790", FamilyName: "Silva", KioskID: "ksk_1", Place: place}
	matches, err := q.Match(x.d.View(x.Context()), x.service.Keys)
	x.must(err)
	x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
		found, refused, err := x.service.Find(tx, q, matches)
		if err == nil && (refused != nil || found.Session == nil) {
			x.Errorf("found %+v, %v", found, refused)
		}
		return err
	}))
}

// Staff are notified once of a stay that two facts find again within a day after the check-in.
func TestFoundAgain(t *testing.T) {
	for name, c := range map[string]struct {
		state   string
		after   []time.Duration // after has the time between one search and the next
		notices int
	}{
		"before the check-in":         {"confirmed", []time.Duration{0, time.Minute, time.Minute}, 0},
		"once after it":               {"started", []time.Duration{0}, 0},
		"twice":                       {"started", []time.Duration{0, time.Minute}, 1},
		"again and again":             {"started", []time.Duration{0, time.Minute, time.Hour, 2 * time.Hour, 25 * time.Hour, time.Minute}, 1},
		"twice, but not within a day": {"started", []time.Duration{0, 24 * time.Hour}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.settings(property.CheckInChange{StaffEmail: new("desk@example.com")})
				x.push(reservation.Patch{reservation.State: c.state})
				for _, after := range c.after {
					x.clock.Advance(after)
					x.find("Lobby")
				}
				x.sweep()
				if notices, mails := x.toStaff("checkInRepeated"); notices != c.notices || mails != c.notices {
					x.Errorf("%d notices and %d mails, want %d of each", notices, mails, c.notices)
				}
			})
		})
	}
}

// The notice names the place of the latest search. It ends with the stay: as the PMS says, or at the departure.
func TestFoundAgainEndsWithTheStay(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(x *fixture)
		open bool
	}{
		"the guest moves":             {func(x *fixture) { x.push(reservation.Patch{reservation.RoomID: "R9"}) }, true},
		"the guest checks out":        {func(x *fixture) { x.push(reservation.Patch{reservation.State: "processed"}) }, false},
		"the check-in is taken back":  {func(x *fixture) { x.push(reservation.Patch{reservation.State: "confirmed"}) }, false},
		"the departure passes":        {func(x *fixture) { x.clock.Set(time.Date(2026, 11, 23, 11, 0, 1, 0, time.UTC)) }, false},
		"the guest stays a day more":  {longerStay(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)), true},
		"the longer stay passes, too": {longerStay(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)), false},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.push(reservation.Patch{reservation.State: "started"})
				for _, place := range []string{"Lobby", "Lobby", "Back door"} {
					x.find(place)
				}
				x.sweep()
				x.wantNotices("found again", "checkInRepeated")
				row := x.d.View(x.Context()).Notice.Query().Where(entnotice.Kind("checkInRepeated")).OnlyX(x.Context())
				if row.Subject != x.key.ReservationID || row.Parameters["number"] != "8790" || row.Parameters["place"] != "Back door" {
					x.Errorf("the notice is about %s: %v", row.Subject, row.Parameters)
				}
				c.end(x)
				x.sweep()
				var want []string
				if c.open {
					want = []string{"checkInRepeated"}
				}
				x.wantNotices("afterwards", want...)
				if !c.open && x.sweep() != 0 {
					x.Error("the check-in is evaluated without end")
				}
			})
		})
	}
}

// A search after staff have read the notice of earlier ones is another notice: the guest may be at the door again at night.
func TestFoundAgainAfterAReadNotice(t *testing.T) {
	each(t, func(x *fixture) {
		x.settings(property.CheckInChange{StaffEmail: new("desk@example.com")})
		x.push(reservation.Patch{reservation.State: "started"})
		for range 3 {
			x.find("Lobby")
		}
		if notices, mails := x.toStaff("checkInRepeated"); notices != 1 || mails != 1 {
			x.Fatalf("%d notices and %d mails before the reading, want 1 of each", notices, mails)
		}
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error { _, err := notice.MarkRead(tx, propertyID); return err }))
		x.clock.Advance(2 * time.Hour)
		for range 2 {
			x.find("Back door")
		}
		x.sweep()
		if notices, mails := x.toStaff("checkInRepeated"); notices != 2 || mails != 2 {
			x.Errorf("%d notices and %d mails, want 2 of each", notices, mails)
		}
		x.wantNotices("the later one", "checkInRepeated")
	})
}

func longerStay(until time.Time) func(x *fixture) {
	return func(x *fixture) {
		x.push(reservation.Patch{reservation.ToDate: "2026-11-24"})
		x.sweep()
		x.clock.Set(until)
	}
}
