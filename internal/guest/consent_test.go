package guest_test

import (
	"slices"
	"testing"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

func (h *fixture) share(a actor.Actor, guestID string, groups ...string) error {
	return h.db.Write(h.t.Context(), func(tx *db.Tx) error {
		return guest.SetSharing(tx, h.keys, a, false, guest.SharingChoice{GuestID: guestID, Groups: groups})
	})
}

// sharers returns who of a party shares something with the PMS at check-in.
func (h *fixture) sharers(p *guest.Party) []bool {
	out := make([]bool, len(p.Members))
	for i, m := range p.Members {
		s := p.SharingOf(m)
		s.CheckingIn = true
		answers, groups := s.Disclose()
		out[i] = len(groups) > 0
		if out[i] != (len(answers) > 0) {
			h.t.Errorf("guest %d: %v in %v", i, answers, groups)
		}
	}
	return out
}

// Adults share for themselves, and an adult main guest for minors.
func TestEachGuestShares(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.write(func(tx *db.Tx) error {
			_, err := property.UpdateCheckInSettings(tx, hotel, property.CheckInChange{MandatoryGroups: &[]string{"identity"}})
			return err
		})
		id, other := h.book(hotel, "A", "Silva", reservation.Adults, 2, reservation.Children, 1), h.book(hotel, "B", "Meyer")
		main := h.guestOf(id, "")
		m := h.party(id).Members
		for _, g := range m {
			h.must(h.save(main, g.Row.ID, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		}
		stranger := h.party(other).Members[0].Row.ID
		companion, child := h.guestOf(id, m[1].Row.ID), h.guestOf(id, m[2].Row.ID)
		want := func(what string, main, companion, child bool) {
			t.Helper()
			if got := h.sharers(h.party(id)); !slices.Equal(got, []bool{main, companion, child}) {
				t.Errorf("%s: %v share", what, got)
			}
		}
		refused := func(what string, err error, reason fault.Reason) {
			t.Helper()
			if !fault.Has(err, reason) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for i, may := range []bool{true, false, true} {
			if p := h.party(id); p.MayShare(main, p.Members[i]) != may {
				t.Errorf("the main guest may share for guest %d: %t", i, !may)
			}
		}
		want("nothing was said", false, false, false)
		h.must(h.share(main, "", "identity"))
		want("the main guest", true, false, false)
		refused("for an adult companion", h.share(main, m[1].Row.ID, "identity"), fault.NotYourConsent)
		refused("not to share for an adult companion", h.share(main, m[1].Row.ID), fault.NotYourConsent)
		refused("another stay's guest", h.share(main, stranger, "identity"), fault.GuestNotFound)
		h.must(h.share(companion, "", "identity"))
		want("the companion", true, true, false)
		refused("a companion for the main guest", h.share(companion, m[0].Row.ID), fault.GuestNotFound)
		refused("a companion for the child", h.share(companion, m[2].Row.ID, "identity"), fault.GuestNotFound)
		refused("a child for itself", h.share(child, "", "identity"), fault.NotYourConsent)
		h.must(h.share(main, m[2].Row.ID, "identity"))
		want("a parent for the child", true, true, true)
		h.must(h.share(child, ""))
		want("the child takes it back", true, true, false)
		both := func(other string) error {
			return h.db.Write(t.Context(), func(tx *db.Tx) error {
				return guest.SetSharing(tx, h.keys, main, false, guest.SharingChoice{}, guest.SharingChoice{GuestID: other, Groups: []string{"identity"}})
			})
		}
		refused("an adult companion among others", both(m[1].Row.ID), fault.NotYourConsent)
		want("nothing is stored if one is refused", true, true, false)
		h.must(both(m[2].Row.ID))
		want("the child without the parent", false, true, true)
		h.must(h.share(main, "", "identity"))
		h.must(h.share(child, ""))
		h.must(h.share(main, ""))
		want("the main guest takes it back", false, true, false)
	})
}

// A main guest under 18 shares nothing and decides for no child.
func TestAMinorMainGuestSharesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.Adults, 1, reservation.Children, 1)
		a, m := h.guestOf(id, ""), h.party(id).Members
		h.write(func(tx *db.Tx) error {
			_, err := property.UpdateCheckInSettings(tx, hotel, property.CheckInChange{MandatoryGroups: &[]string{"birth"}})
			return err
		})
		h.must(h.save(a, m[0].Row.ID, rule.BirthStep, "birthDate", "2008-11-22")) // 18 on the day after the arrival
		for _, guestID := range []string{"", m[0].Row.ID, m[1].Row.ID} {
			if err := h.share(a, guestID, "birth"); !fault.Has(err, fault.NotYourConsent) {
				t.Errorf("%q: %v", guestID, err)
			}
		}
		h.must(h.share(a, ""))
		h.must(h.save(a, m[0].Row.ID, rule.BirthStep, "birthDate", "2008-11-21")) // 18 on the day of arrival
		h.must(h.share(a, "", "birth"))
	})
}

// Two facts identify no guest. Such a session decides only about what was said in it, and its decision covers nothing else.
func TestTwoFactsShareOnlyTheirOwnAnswers(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.write(func(tx *db.Tx) error {
			_, err := property.UpdateCheckInSettings(tx, hotel, property.CheckInChange{MandatoryGroups: &[]string{"identity", "birth"}})
			return err
		})
		byDoor := func(id, session string) actor.Actor {
			return actor.Actor{Kind: actor.Guest, ID: session, PropertyID: hotel, ReservationID: id, Origin: guest.OriginDoor}
		}
		mailed := h.book(hotel, "A", "Silva")
		main := h.party(mailed).Members[0].Row.ID
		h.must(h.save(h.guestOf(mailed, ""), main, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		if err := h.share(byDoor(mailed, "ses_1"), "", "identity"); !fault.Has(err, fault.NotYourConsent) {
			t.Errorf("answers of the mail's session: %v", err)
		}

		id := h.book(hotel, "B", "Silva")
		main = h.party(id).Members[0].Row.ID
		h.must(h.save(byDoor(id, "ses_1"), main, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.must(h.share(byDoor(id, "ses_1"), "", "identity", "birth"))
		if err := h.share(byDoor(id, "ses_2"), "", "identity"); !fault.Has(err, fault.NotYourConsent) {
			t.Errorf("another session at the door: %v", err)
		}
		h.must(h.save(h.guestOf(id, ""), main, rule.BirthStep, "birthDate", "1990-01-02"))
		p := h.party(id)
		s := p.SharingOf(p.Members[0])
		s.CheckingIn = true
		if answers, _ := s.Disclose(); len(answers) != 2 || answers[rule.BirthDate] != "" {
			t.Errorf("disclosed: %v", answers)
		}
		h.must(h.share(h.guestOf(id, ""), "", "birth"))
		h.write(func(tx *db.Tx) error { _, err := guest.AcceptHouseRules(tx, h.keys, byDoor(id, "ses_2")); return err })
		h.book(hotel, "B", "Silva", reservation.State, "started")
		if err := h.share(byDoor(id, "ses_1"), "", "identity"); !fault.Has(err, fault.MainGuestOnly) {
			t.Errorf("two facts after the check-in: %v", err)
		}
	})
}
