package guest_test

import (
	"testing"
	"time"

	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/reservation"
)

func (h *fixture) authenticate(token string) actor.Actor {
	h.t.Helper()
	a, err := guest.Authenticate(h.db.View(h.t.Context()), h.keys, token)
	h.must(err)
	return a
}

// byTwoFacts returns a session of booking A: at a kiosk, or at a door for a client with an address.
func (h *fixture) byTwoFacts(address string) actor.Actor {
	h.t.Helper()
	found, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva", Address: address})
	h.must(refused)
	return h.authenticate(found.Session.Token)
}

func (h *fixture) handOver(a actor.Actor) (made guest.NewLink) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) { made, err = guest.CreateHandOver(tx, h.keys, a); return err })
	return made
}

func (h *fixture) reveal(a actor.Actor) (pins access.StayPINs, err error) {
	err = h.db.Write(h.t.Context(), func(tx *db.Tx) (err error) { pins, err = guest.RevealPINs(tx, h.keys, a); return err })
	return pins, err
}

// The phone that takes a stay from a kiosk gets the PIN if the kiosk's session checked the guest in, and no more than a session at a door.
func TestHandOver(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.OwnSpaceID, h.room())
		kiosk, other := h.byTwoFacts(""), h.byTwoFacts("")
		for _, a := range []actor.Actor{h.guestOf(id, ""), h.byTwoFacts("192.0.2.1")} {
			h.refused(fault.MainGuestOnly, func(tx *db.Tx) error { _, err := guest.CreateHandOver(tx, h.keys, a); return err })
		}
		replaced, made, others := h.handOver(kiosk), h.handOver(kiosk), h.handOver(other)
		h.refused(fault.LinkNotFound, func(tx *db.Tx) error { _, err := guest.BindLink(tx, h.keys, replaced.Secret, ""); return err })
		session := h.bind(made.Secret)
		phone, stranger := h.authenticate(session.Token), h.authenticate(h.bind(others.Secret).Token)
		if phone.Origin != guest.OriginDoor || phone.HandedBy != kiosk.ID || !session.ExpiresAt.Equal(h.clock.Now().Add(2*time.Hour)) {
			t.Errorf("the phone's session: %+v, until %s", phone, session.ExpiresAt)
		}
		h.refused(fault.LinkBound, func(tx *db.Tx) error { _, err := guest.BindLink(tx, h.keys, made.Secret, ""); return err })
		h.refused(fault.LinkBound, func(tx *db.Tx) error { _, err := guest.CreateHandOver(tx, h.keys, kiosk); return err })
		h.write(func(tx *db.Tx) error {
			renewal, err := guest.RenewLink(tx, h.keys, made.Secret)
			if renewal != nil {
				t.Errorf("the link of a kiosk is mailed: %+v", renewal)
			}
			return err
		})

		h.clock.Advance(time.Minute)
		h.book(hotel, "A", "Silva", reservation.State, "started", reservation.From, h.clock.Now().Format(time.RFC3339))
		h.write(func(tx *db.Tx) error {
			return tx.Stay.Update().Where(entstay.PropertyID(hotel), entstay.ReservationID(id)).SetAttemptSession(kiosk.ID).SetAttemptState("accepted").Exec(tx.Context())
		})
		for range 12 { // strangers who know the two facts end neither session
			h.byTwoFacts("192.0.2.1")
		}
		h.write(func(tx *db.Tx) error { return guest.EndSessions(tx, hotel, id, kiosk.ID) })
		for range 2 {
			if pins, err := h.reveal(h.authenticate(session.Token)); err != nil || pins.PIN == "" {
				t.Errorf("the phone of the guest who checked in: %+v, %v", pins, err)
			}
		}
		if pins, err := h.reveal(stranger); !fault.Has(err, fault.PINNotShown) {
			t.Errorf("the phone of a guest who did not: %+v, %v", pins, err)
		}
		h.refused(fault.MainGuestOnly, func(tx *db.Tx) error { return guest.SetParty(tx, h.keys, stranger, 3, 0) })
		h.write(func(tx *db.Tx) error { return guest.SetParty(tx, h.keys, phone, 3, 0) })
	})
}

// A link from a kiosk ends soon, and an unbound one leaves one row for each session.
func TestHandOverEnds(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.book(hotel, "A", "Silva")
		kiosk := h.byTwoFacts("")
		made := h.handOver(kiosk)
		for range 5 {
			made = h.handOver(kiosk)
		}
		if n := h.db.View(t.Context()).GuestLink.Query().Where(guestlink.HandedBy(kiosk.ID)).CountX(t.Context()); n != 1 {
			t.Errorf("a session has %d links", n)
		}
		if !made.ExpiresAt.Equal(h.clock.Now().Add(5 * time.Minute)) {
			t.Errorf("the link ends %s", made.ExpiresAt)
		}
		h.write(func(tx *db.Tx) error {
			return tx.GuestSession.Update().Where(guestsession.PropertyID(hotel), guestsession.ID(kiosk.ID)).SetPinShown(true).Exec(tx.Context())
		})
		h.refused(fault.PINNotShown, func(tx *db.Tx) error { _, err := guest.CreateHandOver(tx, h.keys, kiosk); return err })
		h.clock.Advance(5*time.Minute + time.Second)
		h.refused(fault.LinkNotFound, func(tx *db.Tx) error { _, err := guest.BindLink(tx, h.keys, made.Secret, ""); return err })
	})
}

// The phone that checked the guest in keeps its session until a week after the stay, also if the PMS prolongs the stay, and so does the phone that
// took the stay from the tablet where the guest pressed. Other phones and the tablet do not.
func TestPhoneThatCheckedInKeepsItsSession(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.OwnSpaceID, h.room())
		byCode := func(address string) guest.Session {
			found, refused := h.find(guest.Search{Number: "N-A", FamilyName: "Silva", Address: address})
			h.must(refused)
			return *found.Session
		}
		stranger, own, tablet := byCode("192.0.2.1"), byCode("192.0.2.2"), byCode("")
		link := h.handOver(h.authenticate(tablet.Token)).Secret
		press := func(s guest.Session, state string) {
			h.write(func(tx *db.Tx) error {
				return tx.Stay.Update().Where(entstay.PropertyID(hotel), entstay.ReservationID(id)).SetAttemptSession(s.ID).SetAttemptState(state).Exec(tx.Context())
			})
		}
		to := time.Date(2026, 11, 24, 11, 0, 0, 0, time.UTC)
		prolong := func(to time.Time) {
			h.write(func(tx *db.Tx) error { return guest.Prolong(tx, hotel, to, id) })
		}
		press(own, "accepted")
		if prolong(to); h.endOf(own).After(h.clock.Now().Add(2 * time.Hour)) {
			t.Errorf("before the PMS starts the stay, the session lasts until %s", h.endOf(own))
		}
		h.book(hotel, "A", "Silva", reservation.State, "started", reservation.From, h.clock.Now().Format(time.RFC3339))
		prolong(to)
		press(tablet, "calling")
		phone := h.bind(link)
		h.clock.Advance(3 * time.Hour)
		for what, s := range map[string]guest.Session{"the phone that pressed": own, "the phone that took the stay": phone} {
			if !h.isSignedIn(s) || !h.endOf(s).Equal(to.AddDate(0, 0, 7)) {
				t.Errorf("%s lasts until %s", what, h.endOf(s))
			}
		}
		for what, s := range map[string]guest.Session{"another phone": stranger, "the tablet": tablet} {
			if h.isSignedIn(s) {
				t.Errorf("%s is signed in after three hours", what)
			}
		}
		prolong(to.AddDate(0, 0, 2))
		if !h.endOf(phone).Equal(to.AddDate(0, 0, 9)) || h.endOf(stranger).After(h.clock.Now()) {
			t.Errorf("after the stay was prolonged, the phone lasts until %s, another until %s", h.endOf(phone), h.endOf(stranger))
		}
	})
}

// endOf returns when a session expires.
func (h *fixture) endOf(s guest.Session) time.Time {
	h.t.Helper()
	row, err := h.db.View(h.t.Context()).GuestSession.Query().Where(guestsession.PropertyID(s.PropertyID), guestsession.ID(s.ID)).Only(h.t.Context())
	h.must(err)
	return row.ExpiresAt
}
