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
			"no consent": func() { h.keepProfile(bob, false) },
			"consent":    func() { h.keepProfile(bob, true) },
			"answers": func() {
				h.must(h.save(bob, p.Members[0].Row.ID, rule.NameStep, "firstName", "Bob", "lastName", "Berg"))
			},
			"the deletion": func() { h.write(func(tx *db.Tx) error { return guest.DeleteProfile(tx, h.keys, bob) }) },
		} {
			act()
			isKept(what)
		}
		e := h.requestErasure(bob)
		h.erase(e)
		isKept("the erasure")
		if !h.receipt(e).Row.KeepProfile {
			t.Error("the receipt says that what is kept was erased")
		}
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
		channel := func(pmsID, number, email string, group any) string {
			return h.book(hotel, pmsID, "Silva", reservation.ChannelNumber, number, reservation.Email, email, reservation.GroupID, group)
		}
		unique := channel("unique", "C1", "ana@example.com", nil)
		agency := channel("agency", "C2", "ana@example.com", nil)
		channel("agency2", "C2", "ana@example.com", nil)
		ids := channel("ids", "C3", "ana@example.com", "G5")
		channel("ids2", "C3", "ana@example.com", "G6")
		others := channel("others", "C4", "ana@example.com", nil)
		channel("others2", "C4", "bo@example.com", nil)
		again := channel("again", "C5", "ana@example.com", nil)
		h.book(hotel, "again2", "Silva", reservation.ChannelNumber, "C5", reservation.From, "2026-11-24T15:00:00Z", reservation.To, "2026-11-25T11:00:00Z")
		constant := channel("constant", "0", "ana@example.com", nil)
		channel("constant2", "0", "", nil)
		direct := channel("direct", "", "ana@example.com", "")
		channel("direct2", "", "ana@example.com", "")
		for id, want := range map[string]bool{
			alone: true, single: true, company: true, double: false, left: false, unique: true, agency: false, ids: false, others: true, again: true, constant: true, direct: true,
		} {
			p := h.party(id)
			if got, err := p.UsesProfile(h.db.View(t.Context())); err != nil || got != want {
				t.Errorf("%s uses a profile: %t, %v", p.Reservation.PmsNumber, got, err)
			}
		}
	})
}

// An offered profile is still kept: the guest who presses "Continue" with the switch unchanged keeps it, also after a change of an answer.
func TestOfferedProfileStaysKept(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		former := h.book(hotel, "former", "Silva")
		ana := h.guestOf(former, "")
		h.must(h.save(ana, h.party(former).Members[0].Row.ID, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.keepProfile(ana, true)
		next := h.book(hotel, "next", "Silva")
		ana = h.guestOf(next, "")
		p := h.party(next)
		if !p.Stay.KeepProfile {
			t.Fatal("the answers are offered, and the switch to keep them is off")
		}
		h.must(h.save(ana, p.Members[0].Row.ID, rule.NameStep, "firstName", "Ana", "lastName", "Souza"))
		h.keepProfile(ana, p.Stay.KeepProfile)
		if answers, _, err := h.party(next).KeptProfile(h.db.View(t.Context()), h.keys); err != nil || answers[rule.LastName] != "Souza" {
			t.Errorf("%v is kept, %v", answers, err)
		}
	})
}

// The address of an agency keeps no profile. An address that the guest typed opens, gets and ends none: it may be another person's.
func TestProfileOfAGuestOfAnAgency(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		former := h.keptOfAna()
		id := h.book(hotel, "A", "Berg", reservation.Email, "x.1@guest.booking.com")
		bob := h.guestOf(id, "")
		h.must(h.save(bob, h.party(id).Members[0].Row.ID, rule.NameStep, "firstName", "Bob", "lastName", "Berg"))
		h.write(func(tx *db.Tx) error { return guest.SetMailAddress(tx, h.keys, bob, "ana@example.com") })
		if decides, err := h.party(id).DecidesProfile(h.db.View(t.Context()), h.keys, bob); err != nil || decides {
			t.Errorf("the guest decides whether answers are kept: %v", err)
		}
		if answers, _, err := guest.ProfileOf(h.db.View(t.Context()), h.keys, h.party(id), bob); err != nil || answers != nil {
			t.Errorf("the guest reads %v, %v", answers, err)
		}
		h.keepProfile(bob, true)
		h.isKeptOfAna(former, "consent")
		h.keepProfile(bob, false)
		h.write(func(tx *db.Tx) error { return guest.DeleteProfile(tx, h.keys, bob) })
		h.isKeptOfAna(former, "the deletion")
		empty := h.book(hotel, "B", "Berg", reservation.Email, "x.2@guest.booking.com")
		h.bind(h.link(empty, "", "ana@example.com"))
		if got := h.party(empty).Members[0].Answers; len(got) > 0 {
			t.Errorf("a link to a typed address offers %v", got)
		}
		h.erase(h.requestErasure(bob))
		h.isKeptOfAna(former, "the erasure")
	})
}

// keptOfAna keeps a profile of Ana, and returns the stay of which it is.
func (h *fixture) keptOfAna() (reservationID string) {
	h.t.Helper()
	former := h.book(hotel, "former", "Silva")
	ana := h.guestOf(former, "")
	h.must(h.save(ana, h.party(former).Members[0].Row.ID, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
	h.keepProfile(ana, true)
	return former
}

// isKeptOfAna fails the test unless the profile of [fixture.keptOfAna] is the only one, and unchanged.
func (h *fixture) isKeptOfAna(former, what string) {
	h.t.Helper()
	answers, _, err := h.party(former).KeptProfile(h.db.View(h.t.Context()), h.keys)
	if err != nil || answers[rule.FirstName] != "Ana" || h.profiles() != 1 {
		h.t.Errorf("after %s, %v is kept in %d profiles, %v", what, answers, h.profiles(), err)
	}
}

// A guest to whom nothing was offered, and who continues with the switch off, deletes nothing of an earlier stay.
func TestContinueDeletesNoProfileThatWasNotOffered(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		former := h.keptOfAna()
		next := h.book(hotel, "next", "Silva", reservation.Email, "x.1@guest.booking.com")
		ana := h.guestOf(next, "")
		h.must(h.save(ana, h.party(next).Members[0].Row.ID, rule.NameStep, "firstName", "Anna", "lastName", "Silva"))
		h.book(hotel, "next", "Silva")
		ana = h.guestOf(next, "")
		h.keepProfile(ana, false)
		h.isKeptOfAna(former, "no consent")
		h.keepProfile(ana, true)
		h.keepProfile(ana, false)
		if h.profiles() != 0 {
			t.Error("the switch that the guest switched off deletes nothing")
		}
	})
}

// A booking that gets another room after the request of an erasure keeps the profile, and the receipt says so.
func TestErasureOfABookingThatGetsARoom(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		former := h.keptOfAna()
		id := h.book(hotel, "A", "Silva", reservation.State, "started", reservation.GroupID, "G")
		e := h.requestErasure(h.guestOf(id, ""))
		h.book(hotel, "B", "Silva", reservation.GroupID, "G")
		h.clock.Set(h.party(id).Reservation.ToAt)
		if !h.erase(e) {
			t.Fatal("the erasure is not done")
		}
		h.isKeptOfAna(former, "the erasure")
		if !h.receipt(e).Row.KeepProfile {
			t.Error("the receipt says that what is kept was erased")
		}
	})
}
