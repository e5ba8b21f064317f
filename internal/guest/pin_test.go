package guest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	entevent "latchkey.dev/ent/event"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
)

// room gives the hotel a room with a lock, and returns the room's id.
func (h *fixture) room() string {
	h.t.Helper()
	caps := slot.Capabilities{PINMin: 4, PINMax: 8, Slots: 4, ReadBack: true, Readable: slot.ReadableMasked, Schedule: slot.ScheduleWindow}
	h.write(func(tx *db.Tx) error {
		ctx := tx.Context()
		return errors.Join(
			tx.Bridge.Create().SetID("brg_1").SetPropertyID(hotel).SetName("cellar").SetEnrolledAt(tx.Now()).SetOnline(true).SetLastSeenAt(tx.Now()).SetEpoch(1).Exec(ctx),
			tx.Space.Create().SetID("spc_1").SetPropertyID(hotel).SetName("101").SetType("Room").SetIsPrivate(true).Exec(ctx),
			tx.Lock.Create().SetID("lck_1").SetPropertyID(hotel).SetBridgeID("brg_1").SetAddress("1").SetName("101").SetDoorID("spc_1").SetCapabilities(caps).SetStatus(lock.Status{Online: true}).Exec(ctx),
		)
	})
	return "spc_1"
}

// A person who knows a number and a name gets no link of a companion, which leads to the PIN, and changes no stay that is checked in.
func TestTwoFactsLeadToNoCompanionLink(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva")
		found, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva", Address: "192.0.2.1"})
		h.must(refused)
		stranger, err := guest.Authenticate(h.db.View(t.Context()), h.keys, found.Session.Token)
		h.must(err)
		mailed := h.guestOf(id, "")
		h.write(func(tx *db.Tx) error { return guest.SetParty(tx, h.keys, mailed, 2, 0) })
		var p *guest.Party
		h.write(func(tx *db.Tx) (err error) { p, err = guest.LoadParty(tx, h.keys, hotel, id); return err })
		companion := p.Members[1].Row.ID
		changes := map[string]func(tx *db.Tx) error{
			"invite": func(tx *db.Tx) error { return guest.InviteCompanion(tx, h.keys, stranger, companion, "x@example.com") },
			"remove": func(tx *db.Tx) error { return guest.RemoveCompanion(tx, h.keys, stranger, companion) },
		}
		for what, change := range changes {
			if err := h.db.Write(t.Context(), change); !fault.Has(err, fault.MainGuestOnly) {
				t.Errorf("%s: %v", what, err)
			}
		}
		h.book(hotel, "A", "Silva", reservation.State, "started")
		changes["party"] = func(tx *db.Tx) error { return guest.SetParty(tx, h.keys, stranger, 3, 0) }
		changes["answers"] = func(tx *db.Tx) error {
			_, err := guest.SaveStep(tx, h.keys, stranger, p.Members[0].Row.ID, "name", map[string]string{"firstName": "X"})
			return err
		}
		for what, change := range changes {
			if err := h.db.Write(t.Context(), change); !fault.Has(err, fault.MainGuestOnly) {
				t.Errorf("checked in, %s: %v", what, err)
			}
		}
	})
}

// A person who knows a number and a name does not fill the property's list of guests. The link of the mail may name any party.
func TestTwoFactsNameASmallParty(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		for pmsID, c := range map[string]struct{ sent, limit int }{"A": {1, 8}, "B": {7, 11}, "C": {30, 34}} {
			id := h.book(hotel, pmsID, "Silva", reservation.Adults, c.sent)
			found, refused := h.find(guest.Search{Number: "N-" + pmsID, FamilyName: "Silva", Address: "192.0.2.1"})
			h.must(refused)
			stranger, err := guest.Authenticate(h.db.View(t.Context()), h.keys, found.Session.Token)
			h.must(err)
			set := func(a actor.Actor, adults, children int) error {
				return h.db.Write(t.Context(), func(tx *db.Tx) error { return guest.SetParty(tx, h.keys, a, adults, children) })
			}
			h.must(set(stranger, min(c.limit-1, 30), c.limit-min(c.limit-1, 30)))
			err = set(stranger, min(c.limit, 30), c.limit+1-min(c.limit, 30))
			if !fault.Has(err, fault.InvalidFields) || !strings.Contains(err.Error(), fmt.Sprintf("at most %d people", c.limit)) {
				t.Errorf("%d of the PMS, %d people: %v", c.sent, c.limit+1, err)
			}
			h.must(set(h.guestOf(id, ""), 30, 30))
			h.must(set(stranger, 30, 30)) // the number that the guest named
		}
	})
}

// withheldOf returns the reason of a refused PIN.
func withheldOf(err error) guest.Withheld {
	f, ok := fault.Of(err)
	if !ok || f.Reason != fault.PINNotShown {
		return ""
	}
	return guest.Withheld(f.Meta[guest.MetaWithheld])
}

// A stay in a room without a lock has no code.
func TestRoomWithoutALockHasNoCode(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.State, "started", reservation.From, h.clock.Now().Format(time.RFC3339))
		mailed := h.guestOf(id, "")
		err := h.db.Write(t.Context(), func(tx *db.Tx) error { _, err := guest.RevealPINs(tx, h.keys, mailed); return err })
		if withheldOf(err) != guest.NoCode {
			t.Errorf("withheld %q: %v", withheldOf(err), err)
		}
	})
}

func TestRevealPINs(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		room := h.room()
		id := h.book(hotel, "A", "Silva", reservation.OwnSpaceID, room)
		byTwoFacts := func(address string) actor.Actor {
			found, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva", Address: address})
			h.must(refused)
			a, err := guest.Authenticate(h.db.View(t.Context()), h.keys, found.Session.Token)
			h.must(err)
			return a
		}
		withheld := func(a actor.Actor) (w guest.Withheld) {
			p, _, err := guest.ViewParty(h.db.View(t.Context()), h.keys, hotel, id)
			h.must(err)
			w, err = p.PINWithheld(h.db.View(t.Context()), a)
			h.must(err)
			return w
		}
		reveal := func(a actor.Actor) (pins access.StayPINs, err error) {
			err = h.db.Write(t.Context(), func(tx *db.Tx) (err error) { pins, err = guest.RevealPINs(tx, h.keys, a); return err })
			return pins, err
		}
		mailed, kiosk, door := h.guestOf(id, ""), byTwoFacts(""), byTwoFacts("192.0.2.1")
		for _, a := range []actor.Actor{mailed, kiosk, door} {
			if pins, err := reveal(a); !fault.Has(err, fault.PINNotShown) {
				t.Errorf("before check-in, %s: %+v, %v", a.Origin, pins, err)
			}
			if w := withheld(a); w != guest.NotCheckedIn {
				t.Errorf("before check-in, %s: withheld %q", a.Origin, w)
			}
		}
		h.clock.Advance(time.Minute)
		h.book(hotel, "A", "Silva", reservation.State, "started", reservation.From, h.clock.Now().Format(time.RFC3339))
		h.clock.Advance(time.Minute)
		late, lateDoor := byTwoFacts(""), byTwoFacts("192.0.2.1")
		pressed := func(a actor.Actor, state string) {
			h.write(func(tx *db.Tx) error {
				return tx.Stay.Update().Where(entstay.PropertyID(hotel), entstay.ReservationID(id)).SetAttemptSession(a.ID).SetAttemptState(state).Exec(tx.Context())
			})
		}
		for _, c := range []struct {
			what string
			a    actor.Actor
			want guest.Withheld
			by   actor.Actor // the session that checked the guest in
			end  string
		}{
			{"mail", mailed, "", kiosk, "accepted"}, {"mail again", mailed, "", kiosk, "accepted"},
			{"kiosk", kiosk, "", kiosk, "accepted"}, {"kiosk again", kiosk, guest.ShownBefore, kiosk, "accepted"},
			{"QR code", door, "", door, "accepted"}, {"QR code again", door, "", door, "calling"},
			{"QR code, refused by the PMS and checked in at the desk", door, guest.OtherSession, door, "refused"},
			{"QR code, checked in by another session", door, guest.OtherSession, mailed, "accepted"},
			{"kiosk, found after the check-in", late, guest.OtherSession, kiosk, "accepted"}, {"QR code, found after the check-in", lateDoor, guest.OtherSession, kiosk, "accepted"},
		} {
			pressed(c.by, c.end)
			if w := withheld(c.a); w != c.want {
				t.Errorf("%s: withheld %q, want %q", c.what, w, c.want)
			}
			pins, err := reveal(c.a)
			if c.want == "" && (err != nil || pins.PIN == "") || c.want != "" && (withheldOf(err) != c.want || pins.PIN != "") {
				t.Errorf("%s: %+v, %v", c.what, pins, err)
			}
		}
		recorded := func() int {
			return h.db.View(t.Context()).Event.Query().Where(entevent.Kind(string(event.PINShown))).CountX(t.Context())
		}
		if n := recorded(); n != 3 { // one of each session
			t.Errorf("%d readings are recorded", n)
		}
		h.clock.Advance(11 * time.Minute)
		if _, err := reveal(mailed); err != nil || recorded() != 4 {
			t.Errorf("%d readings are recorded later, %v", recorded(), err)
		}
		h.book(hotel, "A", "Silva", reservation.State, "processed")
		if pins, err := reveal(mailed); !fault.Has(err, fault.PINNotShown) {
			t.Errorf("after check-out: %+v, %v", pins, err)
		} else if withheldOf(err) != guest.StayOver {
			t.Errorf("after check-out: withheld %q", withheldOf(err))
		}
	})
}
