package guest_test

import (
	"testing"

	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/reservation"
)

// The PMS sent a booking with the address of another person, who opened the link and whose kept answers were offered. After the correction,
// the booker reads nothing of that person, who keeps the profile.
func TestOfferedAnswersEndWithTheAddress(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		former := h.book(hotel, "B", "Silva")
		ana := h.guestOf(former, "")
		h.must(h.save(ana, h.party(former).Members[0].Row.ID, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
		h.keepProfile(ana, true)
		id := h.book(hotel, "A", "Silva")
		h.bind(h.link(id, "", "ana@example.com"))
		if h.answers(id)[rule.FirstName] != "Ana" {
			t.Fatal("nothing was offered")
		}
		h.book(hotel, "A", "Silva", reservation.Email, "bea@example.com")
		bea := h.authenticate(h.bind(h.link(id, "", "bea@example.com")).Token)
		p := h.party(id)
		if m := p.Members[0]; len(m.Answers) != 0 || m.Row.FromProfile || m.Row.Complete {
			t.Errorf("the booker reads %v", m.Answers)
		}
		kept, _, err := guest.ProfileOf(h.db.View(t.Context()), h.keys, p, bea)
		if h.must(err); kept != nil {
			t.Errorf("the booker reads what is kept of another person: %v", kept)
		}
		if h.profiles() != 1 {
			t.Errorf("%d profiles are left", h.profiles())
		}
		// The booker chose to keep nothing, so that the booker's first answer replaces no profile and makes none.
		h.must(h.save(bea, p.Members[0].Row.ID, rule.NameStep, "firstName", "Bea", "lastName", "Silva"))
		if h.party(id).Stay.KeepProfile {
			t.Error("the booker's answers are kept")
		}
		if kept, _, err := guest.ProfileOf(h.db.View(t.Context()), h.keys, h.party(former), ana); err != nil || kept[rule.FirstName] != "Ana" {
			t.Errorf("the former profile is %v, %v", kept, err)
		}
	})
}
