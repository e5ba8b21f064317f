package guest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/privacy"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/watch"
)

func TestPlanErasure(t *testing.T) {
	asked := morning
	end := asked.Add(48 * time.Hour)
	for _, tt := range []struct {
		what     string
		facts    guest.ErasureFacts
		from     time.Time
		afterNow bool
	}{
		{"before the check-in", guest.ErasureFacts{State: access.Confirmed, End: end, Now: asked}, asked, false},
		{"in house", guest.ErasureFacts{State: access.Started, End: end, Now: asked}, end, true},
		{"in house, and the end has come", guest.ErasureFacts{State: access.Started, End: end, Now: end}, end, false},
		{"the PMS is checking them in", guest.ErasureFacts{State: access.Confirmed, CheckingIn: true, End: end, Now: asked}, end, true},
		{"checked out before the end, and the check-in is not evaluated yet", guest.ErasureFacts{State: access.Processed, CheckingIn: true, End: end, Now: asked.Add(time.Hour)}, asked, false},
		{"past the end, and the PMS has not checked them out", guest.ErasureFacts{State: access.Started, End: asked.Add(-time.Second), Now: asked}, asked, false},
		{"the end at the moment of the request", guest.ErasureFacts{State: access.Started, End: asked, Now: asked}, asked, false},
	} {
		tt.facts.RequestedAt = asked
		plan := guest.PlanErasure(tt.facts)
		if !plan.From.Equal(tt.from) || plan.AfterStay != tt.afterNow || !plan.DueAt().Equal(tt.from.Add(24*time.Hour)) {
			t.Errorf("%s: %+v", tt.what, plan)
		}
	}
}

// requestErasure requests the erasure of a session's data.
func (h *fixture) requestErasure(a actor.Actor) (e guest.Erasure) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) {
		e, err = guest.RequestErasure(tx, h.keys, a, false)
		return err
	})
	return e
}

// erase does an erasure and reports whether it is done.
func (h *fixture) erase(e guest.Erasure) (done bool) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) {
		done, err = guest.Erase(tx, h.keys, e.Row)
		return err
	})
	return done
}

func (h *fixture) receipt(e guest.Erasure) guest.Erasure {
	h.t.Helper()
	found, err := guest.FindReceipt(h.db.View(h.t.Context()), h.keys, e.Receipt(h.keys))
	h.must(err)
	return found
}

// count returns the number of rows of a table that belong to a reservation.
func (h *fixture) count(table, reservationID string) (n int) {
	h.t.Helper()
	_, err := h.db.View(h.t.Context()).ReadOne("SELECT COUNT(*) FROM "+table+" WHERE reservation_id = $1", []any{reservationID}, &n)
	h.must(err)
	return n
}

// left returns the tables with rows of a reservation, apart from those that hold nothing about its guests.
func (h *fixture) left(reservationID string) (names []string) {
	h.t.Helper()
	harmless := map[string]bool{"erasures": true, "reservation_changes": true, "grants": true, "invitations": true, "phones": true}
	for _, table := range tables.Tables {
		for _, column := range table.Columns {
			if column.Name == "reservation_id" && !harmless[table.Name] && h.count(table.Name, reservationID) > 0 {
				names = append(names, table.Name)
			}
		}
	}
	return names
}

// fullStay books a stay of two with answers, messages, a profile, links, devices and a companion who acts for themselves.
func (h *fixture) fullStay(state access.State) (reservationID string, main, companion actor.Actor) {
	h.t.Helper()
	h.drawnRules("AT")
	reservationID = h.book(hotel, "A", "Silva", reservation.Adults, 2, reservation.State, string(state))
	party := h.party(reservationID)
	bo := party.Members[1].Row.ID
	main = h.authenticate(h.bind(h.link(reservationID, "", "ana@example.com")).Token)
	companion = h.authenticate(h.bind(h.link(reservationID, bo, "bo@example.com")).Token)
	h.fillForeign(main, party.Members[0].Row.ID)
	h.must(h.save(companion, bo, rule.NameStep, "firstName", "Bo", "lastName", "Berg"))
	h.keepProfile(main, true)
	for _, guestID := range []string{party.Members[0].Row.ID, bo} {
		h.write(func(tx *db.Tx) error {
			k := conversation.Key{PropertyID: hotel, ReservationID: reservationID, GuestID: guestID}
			_, err := conversation.Send(tx, h.keys, conversation.Message{Key: k, Sender: conversation.Guest, Text: "Where is the key?"})
			return err
		})
	}
	return reservationID, main, companion
}

// Data of guests who never arrived are erased at once, and no law keeps any. A late change by the PMS restores none.
func TestErasureBeforeTheCheckIn(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, companion := h.fullStay(access.Confirmed)
		other := h.book(hotel, "B", "Meyer")
		h.must(h.save(h.guestOf(other, ""), h.party(other).Members[0].Row.ID, rule.NameStep, "firstName", "Kim", "lastName", "Meyer"))
		e := h.requestErasure(main)
		if again := h.requestErasure(main); again.Row.ID != e.Row.ID || e.Law != "" || e.AfterStay || !e.DueAt.Equal(morning.Add(24*time.Hour)) {
			t.Fatalf("%+v, then %+v", e, again)
		}
		if at := h.pendingErasures(hotel, id, other); len(at) != 1 || !at[id].Equal(e.Row.CreatedAt) {
			t.Errorf("pending: %v", at)
		}
		if at := h.pendingErasures(hostel, id); len(at) != 0 {
			t.Errorf("pending at the other property: %v", at)
		}
		if !h.erase(e) {
			t.Fatal("it is not done")
		}
		if at := h.pendingErasures(hotel, id); len(at) != 0 {
			t.Errorf("pending after it was done: %v", at)
		}
		if names := h.left(id); len(names) > 0 || h.profiles() != 0 || len(h.register()) != 0 {
			t.Errorf("rows are left in %v, with %d profiles and the register %v", names, h.profiles(), h.register())
		}
		if got := h.receipt(e); got.Row.FinishedAt == nil || got.KeptOn() != "" {
			t.Errorf("the receipt says %+v", got)
		}
		h.book(hotel, "A", "Silva", reservation.Adults, 2)
		h.book(hotel, "A", "Silva", reservation.Adults, 2, reservation.PMSUpdatedAt, h.clock.Now().Add(time.Minute))
		if p := h.party(id); len(p.Members) != 0 {
			t.Errorf("the party has %d guests again", len(p.Members))
		}
		booker, err := reservation.Service{Keys: h.keys}.Booker(t.Context(), h.party(id).Reservation)
		if h.must(err); booker.LastName != "" || booker.Email != nil || h.count("reservation_names", id) != 0 {
			t.Errorf("the booker is %+v again", booker)
		}
		for what, a := range map[string]actor.Actor{"the main guest": main, "the companion": companion} {
			h.isRefused(what+" saves an answer late", h.save(a, companion.GuestID, rule.NameStep, "firstName", "Bo", "lastName", "Berg"), fault.GuestNotFound)
		}
		if h.count("guests", id) != 0 || h.profiles() != 0 {
			t.Error("a late answer is stored")
		}
		if h.answers(other)[rule.LastName] != "Meyer" {
			t.Error("the answers of another stay are erased")
		}
	})
}

// A guest who erases a stay chooses whether the property forgets what it keeps for the next stay. A companion has no profile to keep.
func TestErasureKeepsTheProfileOnRequest(t *testing.T) {
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprintf("keep=%t", keep), func(t *testing.T) {
			each(t, func(t *testing.T, h *fixture) {
				id, main, companion := h.fullStay(access.Confirmed)
				var e, ofCompanion guest.Erasure
				h.write(func(tx *db.Tx) (err error) {
					if ofCompanion, err = guest.RequestErasure(tx, h.keys, companion, true); err == nil {
						e, err = guest.RequestErasure(tx, h.keys, main, keep)
					}
					return err
				})
				if ofCompanion.Row.KeepProfile || e.Row.KeepProfile != keep {
					t.Errorf("the companion keeps %t, the main guest %t", ofCompanion.Row.KeepProfile, e.Row.KeepProfile)
				}
				if !h.erase(e) {
					t.Fatal("it is not done")
				}
				if names := h.left(id); len(names) > 0 || (h.profiles() == 1) != keep {
					t.Errorf("rows are left in %v, and %d profiles", names, h.profiles())
				}
				if got := h.receipt(e); got.Row.KeepProfile != keep {
					t.Errorf("the receipt says %+v", got.Row)
				}
				next := h.book(hotel, "B", "Silva")
				h.guestOf(next, "")
				if offered := h.answers(next)[rule.FirstName] != ""; offered != keep {
					t.Errorf("the profile is offered at the next stay: %t", offered)
				}
			})
		})
	}
}

// Data of guests in house are erased when the stay ends, also if it is prolonged. The official form is locked away until the day that its law
// names.
func TestErasureOfGuestsInHouse(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, _ := h.fullStay(access.Started)
		e := h.requestErasure(main)
		if !e.AfterStay || e.Law != "AT" || e.KeptOn() != "2033-11-24" {
			t.Fatalf("the request answers %+v", e)
		}
		if h.erase(e) || h.answers(id)[rule.LastName] != "Silva" {
			t.Fatal("the data of a guest in house are erased")
		}
		to := h.party(id).Reservation.ToAt
		h.book(hotel, "A", "Silva", reservation.State, "started", reservation.To, "2026-11-25T11:00:00Z")
		h.clock.Set(to)
		if h.erase(e) || !h.receipt(e).DueAt.Equal(to.Add(48*time.Hour)) {
			t.Fatalf("the data are erased although the stay was prolonged: %+v", h.receipt(e))
		}
		h.clock.Set(to.Add(24 * time.Hour))
		if !h.erase(e) {
			t.Fatal("it is not done")
		}
		if names := h.left(id); len(names) > 0 {
			t.Errorf("rows are left in %v", names)
		}
		entries := h.closed()
		if len(entries) != 2 || entries[0].Answers[rule.LastName] != "Silva" || entries[0].Answers["own.plate"] != "" || entries[1].Answers[rule.LastName] != "Berg" {
			t.Errorf("the register has %+v", entries)
		}
		if got := h.receipt(e); got.Row.Law != "AT" || got.KeptOn() != "2033-11-25" || got.Row.MailID != "" {
			t.Errorf("the receipt says %+v", got.Row)
		}
		h.clock.Set(entries[0].EraseAt)
		h.sweepForms()
		h.write(func(tx *db.Tx) error {
			n, err := guest.DeleteErasures(tx, tx.Now().Add(time.Second), 100)
			if n != 1 {
				t.Errorf("%d proofs are deleted", n)
			}
			return err
		})
		if len(h.register()) != 0 {
			t.Error("the register keeps the form")
		}
	})
}

// Staff extended the access of a guest in house: the data are erased when it ends, and not at the planned end.
func TestErasureWaitsForTheEndOfTheAccess(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, _ := h.fullStay(access.Started)
		to := h.party(id).Reservation.ToAt
		h.clock.Set(to.Add(-time.Hour))
		h.write(func(tx *db.Tx) error {
			_, err := reservation.Service{Keys: h.keys}.ExtendAccess(tx, hotel, id, to.Add(3*time.Hour), "Ada")
			return err
		})
		e := h.requestErasure(main)
		h.clock.Set(to.Add(3*time.Hour - time.Second))
		if !e.AfterStay || !e.DueAt.Equal(to.Add(27*time.Hour)) || h.erase(e) {
			t.Fatalf("the data are erased while the guest has access: %+v", e)
		}
		h.clock.Set(to.Add(3 * time.Hour))
		if !h.erase(e) {
			t.Error("it is not done")
		}
	})
}

// A companion erases only their own data.
func TestErasureOfACompanion(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, companion := h.fullStay(access.Confirmed)
		e := h.requestErasure(companion)
		done := false
		notified := dbtest.Notified(h.db, func() { done = h.erase(e) })
		if e.GuestID != companion.GuestID || !done {
			t.Fatalf("the erasure %+v is not done", e)
		}
		for _, topic := range []watch.Topic{watch.Reservations, watch.Messages, watch.Notices} {
			if !slices.ContainsFunc(notified, func(k watch.Key) bool { return k.Topic == topic }) {
				t.Errorf("streams of %s are not notified: %v", topic, notified)
			}
		}
		p := h.party(id)
		if len(p.Members) != 2 || p.Members[1].Row.ID == companion.GuestID || len(p.Members[1].Answers) != 0 {
			t.Errorf("the companion is %+v", p.Members[1])
		}
		if p.Members[0].Answers[rule.LastName] != "Silva" || h.profiles() != 1 || h.count("messages", id) != 1 || h.count("guest_links", id) != 1 || h.count("guest_sessions", id) != 1 {
			t.Error("more than the companion's data are erased")
		}
		if _, err := guest.ErasureOf(h.db.View(t.Context()), p, main); err != nil {
			t.Error(err)
		}
	})
}

// The erasure of a companion reaches the name of a phone whose session was deleted after its expiry. The main guest's phone keeps its name.
func TestErasureNamesNoPhoneOfADeletedSession(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, _, companion := h.fullStay(access.Confirmed)
		h.write(func(tx *db.Tx) error {
			for phone, of := range map[string]string{"phn_main": "", "phn_theirs": companion.GuestID} {
				err := tx.Phone.Create().SetID(phone).SetPropertyID(hotel).SetReservationID(id).SetSession("ses_deleted").SetGuestID(of).SetLabel([]byte("sealed")).
					SetKey([]byte(phone)).SetKeyID(phone).SetSubject(phone).SetCreatedAt(tx.Now()).Exec(tx.Context())
				if err != nil {
					return err
				}
			}
			return nil
		})
		if !h.erase(h.requestErasure(companion)) {
			t.Fatal("the erasure is not done")
		}
		for phone, named := range map[string]bool{"phn_main": true, "phn_theirs": false} {
			if row := h.db.View(t.Context()).Phone.GetX(t.Context(), phone); (len(row.Label) > 0) != named {
				t.Errorf("%s has the name %q", phone, row.Label)
			}
		}
	})
}

// Only the link of a mail proves who asks. A request can be withdrawn until it is done.
func TestWhoRequestsAnErasure(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id, main, companion := h.fullStay(access.Confirmed)
		twoFacts := main
		twoFacts.Origin = guest.OriginDoor
		h.refused(fault.MainGuestOnly, func(tx *db.Tx) error { _, err := guest.RequestErasure(tx, h.keys, twoFacts, false); return err })
		h.refused(fault.MainGuestOnly, func(tx *db.Tx) error { return guest.WithdrawErasure(tx, twoFacts) })
		h.refused(fault.GuestNotFound, func(tx *db.Tx) error {
			_, err := guest.RequestErasureFor(tx, h.keys, hotel, id, "gst_unknown", "Ada")
			return err
		})
		h.refused(fault.ReservationNotFound, func(tx *db.Tx) error {
			_, err := guest.RequestErasureFor(tx, h.keys, hostel, id, "", "Ada")
			return err
		})
		h.refused(fault.ErasureNotPending, func(tx *db.Tx) error { return guest.WithdrawErasure(tx, main) })
		e := h.requestErasure(main)
		h.refused(fault.ErasureNotPending, func(tx *db.Tx) error { return guest.WithdrawErasure(tx, companion) })
		h.write(func(tx *db.Tx) error { return guest.WithdrawErasure(tx, main) })
		pending, err := guest.ListPendingErasures(h.db.View(t.Context()), "", 10)
		if h.must(err); len(pending) != 0 {
			t.Errorf("%d erasures are pending", len(pending))
		}
		_, err = guest.FindReceipt(h.db.View(t.Context()), h.keys, e.Receipt(h.keys))
		h.isRefused("a withdrawn receipt", err, fault.NotFoundReason)
		_, err = guest.FindReceipt(h.db.View(t.Context()), h.keys, strings.Repeat("x", 42))
		h.isRefused("a made-up receipt", err, fault.NotFoundReason)
	})
}

// An erasure changes every table whose model says so.
func TestErasureReachesEveryTableThatNamesIt(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		_, main, companion := h.fullStay(access.Confirmed)
		theirs, whole := h.requestErasure(companion), h.requestErasure(main)
		reached := map[string][]string{}
		for _, e := range []guest.Erasure{theirs, whole} {
			reached[e.GuestID] = dbtest.TablesChangedBy(dbtest.Statements(t, nil, func() {
				if !h.erase(e) {
					t.Error("it is not done")
				}
			}))
		}
		for _, table := range dbtest.TablesEndedBy(privacy.Erasure) {
			if !slices.Contains(reached[""], table) {
				t.Errorf("%s says that an erasure ends its rows, and only %v are changed", table, reached[""])
			}
			ofTheBooker := []string{"guest_profiles", "invitations", "profile_links", "reservation_names", "reservations", "stays"}
			if !slices.Contains(reached[theirs.GuestID], table) && !slices.Contains(ofTheBooker, table) {
				t.Errorf("the erasure of a companion does not change %s, only %v", table, reached[theirs.GuestID])
			}
		}
	})
}

func (h *fixture) pendingErasures(propertyID string, ids ...string) map[string]time.Time {
	h.t.Helper()
	at, err := guest.PendingErasures(h.db.View(h.t.Context()), propertyID, ids)
	h.must(err)
	return at
}
