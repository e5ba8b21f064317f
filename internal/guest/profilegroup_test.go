package guest_test

import (
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/reservation"
)

// The booker of several rooms passes a link on. Its guest neither reads, gets, replaces nor deletes what is kept of the booker.
func TestOtherRoomsUseNoProfile(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		former := h.book(hotel, "former", "Silva")
		ana := h.guestOf(former, "")
		h.must(h.save(ana, h.party(former).Members[0].Row.ID, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.keepProfile(ana, true)
		h.book(hotel, "A", "Silva", reservation.GroupID, "G")
		room := h.book(hotel, "B", "Silva", reservation.GroupID, "G")
		isKept := func(what string) {
			t.Helper()
			answers, _, err := h.party(former).KeptProfile(h.db.View(t.Context()), h.keys)
			if err != nil || answers[rule.FirstName] != "Ana" || h.profiles() != 1 {
				t.Errorf("after %s, %v is kept in %d profiles, %v", what, answers, h.profiles(), err)
			}
		}
		bob := h.guestOf(room, "")
		p := h.party(room)
		if p.Members[0].Row.FromProfile || len(p.Members[0].Answers) > 0 {
			t.Errorf("the other room begins with %v", p.Members[0].Answers)
		}
		if answers, _, err := guest.ProfileOf(h.db.View(t.Context()), h.keys, p, bob); err != nil || answers != nil {
			t.Errorf("the other room reads %v, %v", answers, err)
		}
		for what, act := range map[string]func(){
			"no consent":   func() { h.keepProfile(bob, false) },
			"consent":      func() { h.keepProfile(bob, true) },
			"answers":      func() { h.must(h.save(bob, p.Members[0].Row.ID, rule.NameStep, "firstName", "Bob", "lastName", "Berg")) },
			"the deletion": func() { h.write(func(tx *db.Tx) error { return guest.DeleteProfile(tx, h.keys, bob) }) },
		} {
			act()
			isKept(what)
		}
		h.erase(h.requestErasure(bob))
		isKept("the erasure")
	})
}

// A stay uses a profile unless another room may have the same booker: also one that is canceled or erased.
func TestUsesProfile(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		room := func(pmsID, group, email, state string) string {
			return h.book(hotel, pmsID, "Silva", reservation.GroupID, group, reservation.Email, email, reservation.State, state)
		}
		alone := h.book(hotel, "alone", "Silva")
		single := room("single", "G1", "ana@example.com", "confirmed")
		company := room("company", "G2", "ana@example.com", "confirmed")
		room("colleague", "G2", "bo@example.com", "confirmed")
		double := room("double", "G3", "ana@example.com", "confirmed")
		room("canceled", "G3", "Ana@Example.com", "canceled")
		left := room("left", "G4", "ana@example.com", "confirmed")
		erased := room("erased", "G4", "bo@example.com", "confirmed")
		h.erase(h.requestErasure(h.guestOf(erased, "")))
		for id, want := range map[string]bool{alone: true, single: true, company: true, double: false, left: false} {
			p := h.party(id)
			if got, err := p.UsesProfile(h.db.View(t.Context())); err != nil || got != want {
				t.Errorf("%s uses a profile: %t, %v", p.Reservation.PmsNumber, got, err)
			}
		}
	})
}
