package guest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/reservation"
)

// A guest opens the stay on a further device with a link that works once, and while the device that made it does. The further device has the
// guest's rights, and is listed among the devices. It ends like them if the booker's address changes.
func TestDeviceLink(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		bo := h.party(id).Members[1].Row.ID
		main, companion := h.guestOf(id, ""), h.guestOf(id, bo)
		makeLink := func(a actor.Actor) (l guest.NewLink) {
			t.Helper()
			h.write(func(tx *db.Tx) (err error) { l, err = guest.CreateDeviceLink(tx, h.keys, a); return err })
			return l
		}
		bound := func(l guest.NewLink) actor.Actor { t.Helper(); return h.authenticate(h.bind(l.Secret).Token) }
		isGone := func(what string, l guest.NewLink) {
			t.Helper()
			if _, err := guest.LookUpLink(h.db.View(t.Context()), h.keys, l.Secret); !fault.Has(err, fault.LinkNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, a := range []actor.Actor{h.byTwoFacts(""), h.byTwoFacts("192.0.2.1")} {
			h.refused(fault.MainGuestOnly, func(tx *db.Tx) error { _, err := guest.CreateDeviceLink(tx, h.keys, a); return err })
		}

		replaced, made := makeLink(main), makeLink(main)
		isGone("a replaced link", replaced)
		if l, err := guest.LookUpLink(h.db.View(t.Context()), h.keys, made.Secret); err != nil || l.Source != guest.FromDevice {
			t.Errorf("the link is from %q, %v", l.Source, err)
		}
		second := bound(made)
		if second.Origin != guest.OriginMail || second.GuestID != "" || second.HandedBy != main.ID {
			t.Errorf("the further device is %+v", second)
		}
		h.refused(fault.LinkBound, func(tx *db.Tx) error { _, err := guest.BindLink(tx, h.keys, made.Secret, ""); return err })
		if third := bound(makeLink(second)); third.Origin != guest.OriginMail {
			t.Errorf("a device of a further device is %+v", third)
		}
		if own := bound(makeLink(companion)); own.GuestID != bo || own.Origin != guest.OriginMail {
			t.Errorf("the further device of a companion is %+v", own)
		}
		devices, err := guest.ListOwnDevices(h.db.View(t.Context()), main)
		h.must(err)
		if !slices.ContainsFunc(devices, func(d *guest.Device) bool { return d.ID == second.ID }) {
			t.Error("the further device is not listed")
		}

		late := makeLink(main)
		h.clock.Advance(15 * time.Minute)
		isGone("after its time", late)
		stolen := makeLink(second)
		h.write(func(tx *db.Tx) error { return guest.EndOwnDevice(tx, main, second.ID) })
		isGone("the link of a device that ended", stolen)
		h.refused(fault.LinkNotFound, func(tx *db.Tx) error { _, err := guest.BindLink(tx, h.keys, stolen.Secret, ""); return err })

		open, device := makeLink(main), bound(makeLink(h.guestOf(id, "")))
		h.book(hotel, "A", "Silva", reservation.Adults, 2, reservation.Email, "eve@example.com")
		isGone("after the booker's address changed", open)
		if active, err := guest.IsSessionActive(h.db.View(t.Context()), hotel, device.ID); err != nil || active {
			t.Errorf("the further device of the former address is active: %t, %v", active, err)
		}
	})
}

// A companion gets a link that the main guest passes on, until the companion has answered: the holder of the link acts as the companion.
func TestCompanionLink(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		bo := h.party(id).Members[1].Row.ID
		main := h.guestOf(id, "")
		makeLink := func(a actor.Actor, guestID string) (l guest.NewLink, err error) {
			err = h.db.Write(t.Context(), func(tx *db.Tx) (err error) { l, err = guest.CreateCompanionLink(tx, h.keys, a, guestID); return err })
			return l, err
		}
		for what, a := range map[string]actor.Actor{"two facts": h.byTwoFacts("192.0.2.1"), "the companion": h.guestOf(id, bo)} {
			_, err := makeLink(a, bo)
			h.isRefused(what, err, fault.MainGuestOnly)
		}
		_, err := makeLink(main, h.party(id).Members[0].Row.ID)
		h.isRefused("the main guest", err, fault.GuestNotFound)

		former, err := makeLink(main, bo)
		h.must(err)
		made, err := makeLink(main, bo)
		h.must(err)
		h.refused(fault.LinkNotFound, func(tx *db.Tx) error { _, err := guest.BindLink(tx, h.keys, former.Secret, ""); return err })
		if l, err := guest.LookUpLink(h.db.View(t.Context()), h.keys, made.Secret); err != nil || l.Source != guest.FromMainGuest {
			t.Errorf("the link is from %q, %v", l.Source, err)
		}
		var renewed *guest.Renewal
		h.write(func(tx *db.Tx) (err error) { renewed, err = guest.RenewLink(tx, h.keys, made.Secret); return err })
		if renewed != nil {
			t.Errorf("a link that was passed on is mailed to %q", renewed.Address)
		}
		companion := h.authenticate(h.bind(made.Secret).Token)
		if companion.GuestID != bo || companion.Origin != guest.OriginMail {
			t.Errorf("the companion's session is %+v", companion)
		}
		h.must(h.save(companion, bo, rule.NameStep, "firstName", "Bo", "lastName", "Berg"))
		_, err = makeLink(main, bo)
		h.isRefused("a companion who has answered", err, fault.NotYourAnswer)
	})
}

// The booker of a group reads how far its rooms are. A room of another booker, of another PMS's group and of another property is not among them.
func TestGroup(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		room := func(property, pmsID, group, email, state string, adults int) string {
			return h.book(property, pmsID, "Silva", reservation.GroupID, group, reservation.Email, email, reservation.State, state, reservation.Adults, adults)
		}
		own := room(hotel, "A", "G", "ana@example.com", "confirmed", 1)
		room(hotel, "B", "G", "Ana@Example.com", "started", 2)
		room(hotel, "C", "G", "ana@example.com", "processed", 1)
		room(hotel, "D", "G", "ana@example.com", "canceled", 1)
		other := room(hotel, "E", "G", "bo@example.com", "confirmed", 4)
		room(hotel, "F", "H", "ana@example.com", "confirmed", 5)
		room(hostel, "G", "G", "ana@example.com", "confirmed", 6)
		list := func(a actor.Actor) string {
			t.Helper()
			rooms, more, err := guest.ListGroup(h.db.View(t.Context()), h.keys, a)
			h.must(err)
			text := ""
			for _, r := range rooms {
				text += fmt.Sprintf("%s %d/%d %t; ", r.State, r.Complete, r.Guests, r.Own)
			}
			if more {
				t.Error("there are more rooms")
			}
			return text
		}
		main := h.guestOf(own, "")
		if got, want := list(main), "todo 0/1 true; checkedIn 0/2 false; ended 0/1 false; "; got != want {
			t.Errorf("the group reads\n%s, want\n%s", got, want)
		}
		h.must(h.save(main, h.party(own).Members[0].Row.ID, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		if got, want := list(main), "ready 1/1 true; checkedIn 0/2 false; ended 0/1 false; "; got != want {
			t.Errorf("after the form:\n%s, want\n%s", got, want)
		}
		if got, want := list(h.guestOf(other, "")), "todo 0/4 true; "; got != want {
			t.Errorf("another booker of the group reads\n%s, want\n%s", got, want)
		}
		counts := func(id string, want int) {
			t.Helper()
			n, err := h.party(id).CountGroup(h.db.View(t.Context()), h.guestOf(id, ""))
			if err != nil || n != want {
				t.Errorf("the stay says that the group has %d rooms, %v; want %d", n, err, want)
			}
		}
		counts(own, 3)
		counts(other, 0)
		for what, a := range map[string]actor.Actor{"a companion": h.guestOf(own, "gst_2"), "two facts": h.byTwoFacts("")} {
			_, _, err := guest.ListGroup(h.db.View(t.Context()), h.keys, a)
			h.isRefused(what, err, fault.MainGuestOnly)
		}
	})
}
