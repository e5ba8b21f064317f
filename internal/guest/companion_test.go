package guest_test

import (
	"testing"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/reservation"
)

// The main guest removes a companion who has answered on a link of their own before the check-in only, and changes no guest after the check-out.
func TestCompanionWhoAnsweredStays(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		book := func(state string) string {
			return h.book(hotel, "A", "Silva", reservation.Adults, 3, reservation.State, state)
		}
		id := book("confirmed")
		a, p := h.guestOf(id, ""), h.party(id)
		answered, silent := p.Members[1].Row.ID, p.Members[2].Row.ID
		own := h.guestOf(id, answered)
		h.must(h.save(own, answered, rule.NameStep, "firstName", "Bo", "lastName", "Berg"))
		remove := func(guestID string) func(tx *db.Tx) error {
			return func(tx *db.Tx) error { return guest.RemoveCompanion(tx, h.keys, a, guestID) }
		}
		book("started")
		h.refused(fault.NotYourAnswer, remove(answered))
		h.write(remove(silent))
		book("processed")
		h.refused(fault.StayEnded, remove(answered))
		h.refused(fault.StayEnded, func(tx *db.Tx) error { return guest.SetParty(tx, h.keys, a, 4, 0) })
		h.refused(fault.StayEnded, func(tx *db.Tx) error { return guest.InviteCompanion(tx, h.keys, a, answered, "bo@example.com") })
		if got := len(h.party(id).Members); got != 2 {
			t.Errorf("%d guests are left", got)
		}
	})
}

// After the stay no guest changes answers, and each still decides what is shared and kept, and has the data erased.
func TestAnswersAfterTheStay(t *testing.T) {
	for _, state := range []string{"processed", "canceled"} {
		each(t, func(t *testing.T, h *fixture) {
			book := func(state string) string {
				return h.book(hotel, "A", "Silva", reservation.Adults, 2, reservation.State, state)
			}
			id := book("confirmed")
			a, p := h.guestOf(id, ""), h.party(id)
			main, companion := p.Members[0].Row.ID, p.Members[1].Row.ID
			own := h.guestOf(id, companion)
			h.must(h.save(a, main, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
			h.must(h.save(own, companion, rule.NameStep, "firstName", "Bo", "lastName", "Berg"))
			book("started")
			h.must(h.save(own, companion, rule.NameStep, "firstName", "Bo", "lastName", "Borg"))
			book(state)
			for guestID, by := range map[string]actor.Actor{main: a, companion: own} {
				if err := h.save(by, guestID, rule.NameStep, "firstName", "Eve", "lastName", "Other"); !fault.Has(err, fault.StayEnded) {
					t.Errorf("%s: the answers are saved: %v", state, err)
				}
			}
			for what, change := range map[string]func(tx *db.Tx) error{
				"the hour of arrival": func(tx *db.Tx) error { return guest.SetArrival(tx, h.keys, a, "17:00") },
				"the house rules":     func(tx *db.Tx) error { _, err := guest.AcceptHouseRules(tx, h.keys, a); return err },
				"the signature":       func(tx *db.Tx) error { _, err := guest.Sign(tx, h.keys, a, main, "", drawn); return err },
			} {
				if err := h.db.Write(t.Context(), change); !fault.Has(err, fault.StayEnded) {
					t.Errorf("%s: %s: %v", state, what, err)
				}
			}
			if got := h.party(id).Members[1].Answers; got[rule.FirstName] != "Bo" || got[rule.LastName] != "Borg" {
				t.Errorf("%s: the answers are %v", state, got)
			}
			h.keepProfile(a, true)
			if h.profiles() != 1 {
				t.Errorf("%s: the guest cannot keep the answers for the next stay", state)
			}
			h.keepProfile(a, false)
			if h.profiles() != 0 {
				t.Errorf("%s: the guest cannot delete the kept answers", state)
			}
			h.requestErasure(own)
		})
	}
}

// The notice of a companion's unread messages ends when the companion is removed with the messages.
func TestRemovedCompanionEndsTheNoticeOfUnreadMessages(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.book(hotel, "A", "Silva", reservation.Adults, 2)
		a, companion := h.guestOf(id, ""), h.party(id).Members[1].Row.ID
		unread := conversation.NoticeKey(conversation.Key{GuestID: companion})
		h.write(func(tx *db.Tx) error {
			return notice.Add(tx, notice.Notice{PropertyID: hotel, Kind: notice.MessageUnread, Subject: id, OnceKey: unread, Params: message.Params{"number": "A"}})
		})
		h.write(func(tx *db.Tx) error { return guest.RemoveCompanion(tx, h.keys, a, companion) })
		if open, err := notice.IsOpen(h.db.View(t.Context()), unread); err != nil || open {
			t.Errorf("the notice is open: %t, %v", open, err)
		}
	})
}

// The main guest removes a companion. What the companion calls their phone, often a name, goes with the other data of the companion.
func TestRemovedCompanionLeavesNoNameOfAPhone(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, companion := h.fullStay(access.Confirmed)
		h.addPhone("phn_main", id, "")
		h.addPhone("phn_theirs", id, companion.GuestID)
		h.write(func(tx *db.Tx) error { return guest.RemoveCompanion(tx, h.keys, main, companion.GuestID) })
		if !h.isNamed("phn_main") || h.isNamed("phn_theirs") {
			t.Errorf("named: the main guest's phone %t, the companion's %t", h.isNamed("phn_main"), h.isNamed("phn_theirs"))
		}
	})
}
