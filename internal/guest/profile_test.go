package guest_test

import (
	"testing"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/reservation"
)

func (h *fixture) keepProfile(a actor.Actor, keep bool) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error { return guest.SetSharing(tx, h.keys, a, keep, guest.SharingChoice{}) })
}

func (h *fixture) profiles() int {
	return h.db.View(h.t.Context()).GuestProfile.Query().CountX(h.t.Context())
}

// A guest who takes back the consent finds no profile left, whatever the PMS did to the booker's address since it was saved or offered.
func TestProfileIsDeletedAfterTheAddressChanged(t *testing.T) {
	const before, after = "ana@example.com", "ana@new.example.com"
	for name, steps := range map[string]func(h *fixture, a actor.Actor, change func(email any)){
		"saved, then changed": func(h *fixture, a actor.Actor, change func(email any)) {
			h.keepProfile(a, true)
			change(after)
		},
		"saved, then removed": func(h *fixture, a actor.Actor, change func(email any)) {
			h.keepProfile(a, true)
			change(nil)
		},
		"saved under both addresses": func(h *fixture, a actor.Actor, change func(email any)) {
			h.keepProfile(a, true)
			change(after)
			h.must(h.save(a, h.party(a.ReservationID).Members[0].Row.ID, rule.NameStep, "firstName", "Ana", "lastName", "Souza"))
			if n := h.profiles(); n != 1 {
				h.t.Errorf("%d profiles of one guest", n)
			}
			change(before)
		},
		"offered, then changed": func(h *fixture, a actor.Actor, change func(email any)) {
			other := h.book(hotel, "B", "Silva")
			former := h.guestOf(other, "")
			h.must(h.save(former, h.party(other).Members[0].Row.ID, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
			h.keepProfile(former, true)
			h.bind(h.link(a.ReservationID, "", before))
			change(after)
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *fixture) {
				id := h.book(hotel, "A", "Silva")
				a := h.guestOf(id, "")
				if name != "offered, then changed" {
					h.must(h.save(a, h.party(id).Members[0].Row.ID, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
				}
				steps(h, a, func(email any) { h.book(hotel, "A", "Silva", reservation.Email, email) })
				if h.profiles() != 1 {
					t.Fatalf("%d profiles before the guest takes back the consent", h.profiles())
				}
				h.keepProfile(a, false)
				if n := h.profiles(); n != 0 {
					t.Errorf("%d profiles are left", n)
				}
			})
		})
	}
}

// The next stay asks again what is about one journey.
func TestProfileHoldsNoJourney(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("GB")
		id := h.book(hotel, "A", "Silva")
		a := h.guestOf(id, "")
		main := h.party(id).Members[0].Row.ID
		h.must(h.save(a, main, rule.CitizenshipStep, "nationality", "FR"))
		h.must(h.save(a, main, rule.JourneyStep, "nextDestination", "Dublin"))
		h.keepProfile(a, true)
		next := h.book(hotel, "B", "Silva")
		h.guestOf(next, "")
		got := h.party(next).Members[0]
		if got.Answers[rule.Nationality] != "FR" || got.Answers[rule.NextDestination] != "" || len(got.Open) != 1 {
			t.Errorf("the next stay begins with %v, open: %v", got.Answers, got.Open)
		}
	})
}

// A guest who comes again and changes no answer has an official form that is kept, holds nothing that the stay does not ask, and is not
// reminded of details that are there.
func TestOfferedProfileIsAForm(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("AU")
		id := h.book(hotel, "A", "Silva")
		a := h.guestOf(id, "")
		main := h.party(id).Members[0].Row.ID
		h.must(h.save(a, main, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.must(h.save(a, main, rule.AddressStep, "address.street", "Rua 1", "address.city", "Porto", "address.country", "PT"))
		h.keepProfile(a, true)
		for law, want := range map[string]struct {
			complete bool
			city     string
		}{"AU": {true, "Porto"}, "GB": {false, ""}} {
			h.rules(law)
			next := h.book(hotel, "next "+law, "Silva")
			h.guestOf(next, "")
			got := h.party(next).Members[0]
			if got.Row.Law != law || got.Row.Complete != want.complete || !got.Row.FromProfile || got.Answers[rule.City] != want.city || got.Answers[rule.FirstName] != "Ana" {
				t.Errorf("%s: law %q, complete %v, answers %v", law, got.Row.Law, got.Row.Complete, got.Answers)
			}
		}
	})
}

// The main guest reads and deletes what is kept for the next stay. A companion, and a session that rests on two facts, may do neither.
func TestProfileIsTheMainGuests(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, companion := h.fullStay(access.Confirmed)
		twoFacts := main
		twoFacts.Origin = guest.OriginDoor
		read := func(a actor.Actor) (rule.Answers, error) {
			answers, _, err := guest.ProfileOf(h.db.View(t.Context()), h.keys, h.party(id), a)
			return answers, err
		}
		for _, a := range []actor.Actor{companion, twoFacts} {
			if _, err := read(a); !fault.Has(err, fault.MainGuestOnly) {
				t.Errorf("%s reads the profile: %v", a.ID, err)
			}
			h.refused(fault.MainGuestOnly, func(tx *db.Tx) error { return guest.DeleteProfile(tx, h.keys, a) })
		}
		if answers, err := read(main); err != nil || answers[rule.FirstName] == "" || h.profiles() != 1 {
			t.Fatalf("the profile is %v, %v", answers, err)
		}
		for range 2 {
			h.write(func(tx *db.Tx) error { return guest.DeleteProfile(tx, h.keys, main) })
		}
		if answers, err := read(main); err != nil || answers != nil || h.profiles() != 0 || h.party(id).Stay.KeepProfile {
			t.Errorf("after the deletion: %v, %v", answers, err)
		}
		if h.party(id).Members[0].Answers[rule.FirstName] == "" {
			t.Error("the answers of the stay are gone too")
		}
	})
}

// A session of two facts replaces no answer that a kept profile put into the form of a guest with a mailed link.
func TestTwoFactsReplaceNoProfile(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.rules("ES")
		first := h.book(hotel, "A", "Silva")
		a, main := h.guestOf(first, ""), h.party(first).Members[0].Row.ID
		h.must(h.save(a, main, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.must(h.save(a, main, rule.CitizenshipStep, "nationality", "PT"))
		h.must(h.save(a, main, rule.DocumentStep, "document.type", "passport", "document.number", "X1"))
		h.keepProfile(a, true)
		next := h.book(hotel, "B", "Silva")
		owner := h.guestOf(next, "")
		found, refused := h.find(guest.Search{Number: "N-B", FamilyName: "Silva"})
		h.must(refused)
		stranger := h.authenticate(found.Session.Token)
		main = h.party(next).Members[0].Row.ID
		number := func() string { return h.party(next).Members[0].Answers[rule.DocumentNumber] }
		f, _ := fault.Of(h.save(stranger, main, rule.DocumentStep, "document.number", "X2"))
		if f == nil || len(f.Fields) != 1 || f.Fields[0].Reason != fault.NotYourAnswer || number() != "X1" {
			t.Errorf("a stranger: %v, the number is %q", f, number())
		}
		if h.must(h.save(owner, main, rule.DocumentStep, "document.number", "X3")); number() != "X3" {
			t.Errorf("the guest: the number is %q", number())
		}
	})
}
