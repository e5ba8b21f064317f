package guest_test

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/reservation"
)

// signIn returns the caller of a session.
func (h *fixture) signIn(s guest.Session) actor.Actor {
	h.t.Helper()
	a, err := guest.Authenticate(h.db.View(h.t.Context()), h.keys, s.Token)
	h.must(err)
	return a
}

func (h *fixture) isSignedIn(s guest.Session) bool {
	h.t.Helper()
	_, err := guest.Authenticate(h.db.View(h.t.Context()), h.keys, s.Token)
	if err != nil && !fault.Has(err, fault.InvalidCredentials) {
		h.t.Fatal(err)
	}
	return err == nil
}

// A family needs more than ten minutes at a tablet. The session of a tablet ends ten minutes after its last use, and after an hour in any
// case.
func TestSessionAtAKiosk(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva")
		found, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva"})
		h.must(refused)
		s := *found.Session
		use := func() {
			a := h.signIn(s)
			if guest.UseIsOld(a, h.clock.Now()) {
				h.write(func(tx *db.Tx) error { return guest.MarkUsed(tx, a) })
			}
		}
		for range 38 {
			h.clock.Advance(90 * time.Second)
			use()
		}
		h.clock.Advance(2 * time.Minute)
		if !h.isSignedIn(s) {
			t.Error("the session ended while the guest used it")
		}
		h.clock.Advance(time.Minute)
		if h.isSignedIn(s) {
			t.Error("the session lasts more than an hour")
		}
		found, refused = h.find(guest.Search{Number: "N-A", FamilyName: "Silva"})
		h.must(refused)
		s = *found.Session
		h.clock.Advance(6 * time.Minute)
		use()
		h.clock.Advance(10 * time.Minute)
		if h.isSignedIn(s) {
			t.Error("the session lasts more than ten minutes without a use")
		}
	})
}

// Guests list and end their own devices, and staff those of a reservation. A session that rests on two facts ends only itself.
func TestDevices(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, other := h.book(hotel, "A", "Silva", reservation.Adults, 2), h.book(hotel, "B", "Meyer")
		bo := h.party(id).Members[1].Row.ID
		phone := h.bind(h.link(id, "", "ana@example.com"))
		h.clock.Advance(time.Minute)
		laptop := h.bind(h.link(id, "", "ana@example.com"))
		h.clock.Advance(time.Minute)
		companion := h.bind(h.link(id, bo, "bo@example.com"))
		stranger := h.bind(h.link(other, "", "eve@example.com"))
		h.clock.Advance(time.Minute)
		found, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva", Address: "192.0.2.1", Device: "Android"})
		h.must(refused)
		door := *found.Session
		sees := func(who guest.Session) (ids []string) {
			rows, err := guest.ListOwnDevices(h.db.View(t.Context()), h.signIn(who))
			h.must(err)
			for _, r := range rows {
				ids = append(ids, r.ID)
			}
			return ids
		}
		for what, c := range map[string]struct{ got, want []string }{
			"the main guest": {sees(phone), []string{door.ID, laptop.ID, phone.ID}},
			"the companion":  {sees(companion), []string{companion.ID}},
			"two facts":      {sees(door), []string{door.ID}},
		} {
			if !slices.Equal(c.got, c.want) {
				t.Errorf("%s sees %v; want %v", what, c.got, c.want)
			}
		}
		rows, err := guest.ListDevices(h.db.View(t.Context()), hotel, id)
		h.must(err)
		if len(rows) != 4 || rows[0].Device != "Android" || rows[3].Device != "iPhone" {
			t.Errorf("staff see %+v", rows)
		}
		if _, err := guest.ListDevices(h.db.View(t.Context()), hostel, id); !fault.Has(err, fault.ReservationNotFound) {
			t.Errorf("another property: %v", err)
		}
		end := func(who, which guest.Session) func(tx *db.Tx) error {
			a := h.signIn(who)
			return func(tx *db.Tx) error { return guest.EndOwnDevice(tx, a, which.ID) }
		}
		h.refused(fault.DeviceNotFound, end(door, phone))
		h.refused(fault.DeviceNotFound, end(phone, companion))
		h.refused(fault.DeviceNotFound, end(companion, phone))
		h.refused(fault.DeviceNotFound, end(phone, stranger))
		h.refused(fault.DeviceNotFound, func(tx *db.Tx) error { return guest.EndDevice(tx, hostel, id, phone.ID) })
		h.refused(fault.DeviceNotFound, func(tx *db.Tx) error { return guest.EndDevice(tx, hotel, other, phone.ID) })
		doorCaller := h.signIn(door)
		h.write(func(tx *db.Tx) error { return guest.EndOtherDevices(tx, doorCaller) })
		if !h.isSignedIn(phone) || !h.isSignedIn(door) {
			t.Error("a session that rests on two facts ended another, or itself")
		}
		h.write(end(phone, laptop))
		h.refused(fault.DeviceNotFound, end(phone, laptop))
		phoneCaller := h.signIn(phone)
		h.write(func(tx *db.Tx) error { return guest.EndOtherDevices(tx, phoneCaller) })
		for what, c := range map[string]struct {
			s    guest.Session
			left bool
		}{"the phone": {phone, true}, "the laptop": {laptop, false}, "the door": {door, false}, "the companion": {companion, true}, "the stranger": {stranger, true}} {
			if h.isSignedIn(c.s) != c.left {
				t.Errorf("%s has a session: %t", what, !c.left)
			}
		}
		h.write(func(tx *db.Tx) error { return guest.EndDevice(tx, hotel, id, companion.ID) })
		if h.isSignedIn(companion) {
			t.Error("staff did not end the companion's session")
		}
	})
}

// The last use of a session is stored once in five minutes.
func TestLastUse(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva")
		s := h.bind(h.link(id, "", "ana@example.com"))
		h.clock.Advance(5*time.Minute - time.Second)
		if guest.UseIsOld(h.signIn(s), h.clock.Now()) {
			t.Error("a fresh use is stored")
		}
		h.clock.Advance(time.Second)
		a := h.signIn(s)
		if !guest.UseIsOld(a, h.clock.Now()) {
			t.Error("a use after five minutes is not stored")
		}
		h.write(func(tx *db.Tx) error { return guest.MarkUsed(tx, a) })
		if a := h.signIn(s); guest.UseIsOld(a, h.clock.Now()) || !a.UsedAt.Equal(h.clock.Now()) {
			t.Errorf("last used %s", a.UsedAt)
		}
	})
}

// A tablet serves one guest: the next one ends the session of the last, which a copied cookie could still use.
func TestTheNextGuestEndsTheLastVisit(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva")
		h.book(hotel, "B", "Silva")
		visit := func(q guest.Search) guest.Session {
			q.FamilyName = "Silva"
			found, refused := h.find(q)
			h.must(refused)
			return *found.Session
		}
		first, cellar := visit(guest.Search{Number: "N-A"}), visit(guest.Search{Number: "N-A", KioskID: "ksk_cellar"})
		door := visit(guest.Search{Number: "N-A", Address: "192.0.2.1"})
		second := visit(guest.Search{Number: "N-B"})
		for what, c := range map[string]struct {
			s    guest.Session
			left bool
		}{"the last guest": {first, false}, "the next guest": {second, true}, "another tablet": {cellar, true}, "a phone": {door, true}} {
			if h.isSignedIn(c.s) != c.left {
				t.Errorf("%s has a session: %t", what, !c.left)
			}
		}
	})
}
