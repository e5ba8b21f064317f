package guest_test

import (
	"slices"
	"testing"
	"time"

	entsettings "latchkey.dev/ent/checkinsettings"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/reservation"
)

const everyDay = "0001-01-01"

// register returns the entries of the hotel's register.
func (h *fixture) register() (all []guest.Entry) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) {
		page, err := guest.ReadRegister(tx, h.keys, hotel, guest.RegisterRange{First: everyDay, Last: "9998-12-31", Limit: 10}, "Ada", "a test")
		all = page.Entries
		return err
	})
	return all
}

// closed returns the entries of the hotel's register that no longer depend on the stay.
func (h *fixture) closed() []guest.Entry {
	h.t.Helper()
	return slices.DeleteFunc(h.register(), func(e guest.Entry) bool { return !id.Valid(id.Register, e.ID) })
}

// sweepForms does what the periodic sweeps do with official forms.
func (h *fixture) sweepForms() {
	h.t.Helper()
	for _, s := range []struct {
		list   func(view *db.Tx, after string, limit int) ([]guest.StayKey, error)
		change func(tx *db.Tx, k guest.StayKey) error
	}{
		{guest.StaysToClose, func(tx *db.Tx, k guest.StayKey) error {
			return guest.CloseForms(tx, h.keys, k.PropertyID, k.ReservationID)
		}},
		{guest.StaysToErase, func(tx *db.Tx, k guest.StayKey) error {
			return guest.EraseForms(tx, h.keys, k.PropertyID, k.ReservationID)
		}},
	} {
		stays, err := s.list(h.db.View(h.t.Context()), "", 100)
		h.must(err)
		for _, k := range stays {
			h.write(func(tx *db.Tx) error { return s.change(tx, k) })
		}
	}
	h.write(func(tx *db.Tx) error {
		_, err := guest.DeleteRegister(tx, tx.Now(), 100)
		return err
	})
}

// fillForeign answers name, citizenship and a question of the property.
func (h *fixture) fillForeign(a actor.Actor, guestID string) {
	h.t.Helper()
	h.must(h.save(a, guestID, rule.NameStep, "firstName", "Ana", "lastName", "Silva"))
	h.must(h.save(a, guestID, rule.CitizenshipStep, "nationality", "US"))
	h.must(h.save(a, guestID, rule.PropertyStep, "own.plate", "L-1"))
}

// stayUnder stores a stay of a guest who answered under a rule.
func (h *fixture) stayUnder(law, pmsID string, state access.State) (reservationID string) {
	h.t.Helper()
	h.drawnRules(law)
	reservationID = h.book(hotel, pmsID, "Silva", reservation.State, string(state))
	h.fillForeign(h.guestOf(reservationID, ""), h.party(reservationID).Members[0].Row.ID)
	return reservationID
}

func (h *fixture) answers(reservationID string) rule.Answers {
	h.t.Helper()
	return h.party(reservationID).Members[0].Answers
}

// The official form is in the register, and its answers with the stay, until the day that the form names to the guest, at each country.
func TestFormsEndOnTheNamedDay(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		zone, err := time.LoadLocation("Europe/Lisbon")
		h.must(err)
		laws := 0
		for _, law := range rule.Rules {
			h.clock.Set(morning)
			id := h.stayUnder(law.Name, law.Name, access.Started)
			named, ok := h.party(id).KeptUntil()
			if !ok {
				h.push(law.Name, "confirmed") // the register of the other laws does not list its guest
				continue
			}
			laws++
			h.clock.Set(h.party(id).Reservation.ToAt.Add(guest.RegisterDelay - time.Second))
			h.sweepForms()
			if n := len(h.closed()); n != 0 {
				t.Errorf("%s: %d entries before the form is closed", law.Name, n)
			}
			y, m, d := named.Date()
			end := time.Date(y, m, d+1, 0, 0, 0, 0, zone)
			h.clock.Set(end.Add(-time.Second))
			h.sweepForms()
			entries := h.register()
			if len(entries) != 1 || entries[0].Law != law.Name || entries[0].Answers[rule.LastName] != "Silva" || entries[0].Answers["own.plate"] != "" || !entries[0].EraseAt.Equal(end) {
				t.Errorf("%s: the register on the last day has %+v", law.Name, entries)
			}
			if h.answers(id)[rule.LastName] != "Silva" {
				t.Errorf("%s: the answers are erased before the day after %s", law.Name, named.Format(time.DateOnly))
			}
			h.clock.Set(end)
			h.sweepForms()
			if entries := h.register(); len(entries) != 0 {
				t.Errorf("%s: the register keeps %+v", law.Name, entries)
			}
			if a := h.answers(id); a[rule.LastName] != "" || a[rule.Nationality] != "" || a["own.plate"] != "L-1" {
				t.Errorf("%s: after the last day the stay has the answers %v", law.Name, a)
			}
		}
		if laws < 5 {
			t.Errorf("%d laws name a time", laws)
		}
	})
}

// A guest who never arrived is in no register, and the official form is erased a month later.
func TestFormOfANoShow(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.stayUnder("AT", "A", access.Confirmed)
		end := h.party(id).Reservation.ToAt.Add(30 * 24 * time.Hour)
		h.clock.Set(end.Add(-time.Second))
		h.sweepForms()
		if n := len(h.register()); n != 0 || h.answers(id)[rule.LastName] == "" {
			t.Errorf("before the end: %d entries, answers %v", n, h.answers(id))
		}
		h.clock.Set(end)
		h.sweepForms()
		if h.answers(id)[rule.LastName] != "" {
			t.Errorf("after the end: answers %v", h.answers(id))
		}
	})
}

// A stay whose forms are not closed is not removed. Its entry outlives the removal, with the signature.
func TestRegisterOutlivesTheStay(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.drawnRules("AT")
		id := h.book(hotel, "A", "Silva", reservation.State, string(access.Started))
		a, main := h.guestOf(id, ""), h.party(id).Members[0].Row.ID
		h.fillAustrian(a, main)
		h.must(h.sign(a, main, h.signature(a, main).Shown, drawn))
		h.write(func(tx *db.Tx) error {
			_, err := reservation.Service{Keys: h.keys}.Upsert(tx, reservation.Scope{PropertyID: hotel, IntegrationID: "int_" + hotel},
				reservation.Patch{reservation.PMSID: "A", reservation.State: "processed"}, nil)
			return err
		})
		h.rules("none") // the property changes its rule: the forms keep theirs
		h.clock.Set(morning.AddDate(0, 3, 0))
		remove := func() (removed int, blocked map[reservation.Block]int) {
			h.write(func(tx *db.Tx) (err error) {
				removed, blocked, err = reservation.Service{Keys: h.keys, Keep: 30 * 24 * time.Hour}.Remove(tx, hotel, []string{id})
				return err
			})
			return removed, blocked
		}
		if removed, blocked := remove(); removed != 0 || blocked[reservation.BlockedByForms] != 1 {
			t.Errorf("with open forms: removed %d, blocked %v", removed, blocked)
		}
		h.sweepForms()
		if removed, blocked := remove(); removed != 1 {
			t.Errorf("with closed forms: removed %d, blocked %v", removed, blocked)
		}
		entries := h.register()
		if len(entries) != 1 || entries[0].SVG == "" || entries[0].SignedAt.IsZero() || entries[0].Number != "N-A" || entries[0].DepartureOn != "2026-11-24" {
			t.Errorf("after the removal: %+v", entries)
		}
	})
}

// A change of the departure or of the state after the departure changes the end of the forms.
func TestLateChangeOfTheStay(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.stayUnder("FR", "A", access.Confirmed)
		h.clock.Set(h.party(id).Reservation.ToAt.Add(guest.RegisterDelay))
		h.sweepForms()
		h.write(func(tx *db.Tx) error {
			_, err := reservation.Service{Keys: h.keys}.Upsert(tx, reservation.Scope{PropertyID: hotel, IntegrationID: "int_" + hotel},
				reservation.Patch{reservation.PMSID: "A", reservation.State: "processed", reservation.To: "2026-11-25T11:00:00Z"}, nil)
			return err
		})
		h.clock.Set(h.clock.Now().Add(2 * guest.RegisterDelay))
		h.sweepForms()
		if entries := h.register(); len(entries) != 1 || entries[0].DepartureOn != "2026-11-25" {
			t.Errorf("after the change: %+v", entries)
		}
	})
}

// The register of one property has no entry of another, its pages are complete, and each read is recorded.
func TestReadRegister(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		for _, pmsID := range []string{"A", "B", "C"} {
			h.stayUnder("AT", pmsID, access.Started)
		}
		h.clock.Set(morning.AddDate(0, 0, 10))
		h.sweepForms()
		read := func(propertyID string, r guest.RegisterRange) (page []guest.Entry) {
			h.write(func(tx *db.Tx) (err error) {
				found, err := guest.ReadRegister(tx, h.keys, propertyID, r, "Ada", "inspection")
				page = found.Entries
				return err
			})
			return page
		}
		first := read(hotel, guest.RegisterRange{First: "2026-11-21", Last: "2026-11-21", Limit: 2})
		if len(first) != 2 {
			t.Fatalf("the first page has %d entries", len(first))
		}
		second := read(hotel, guest.RegisterRange{First: "2026-11-21", Last: "2026-11-21", AfterOn: first[1].ArrivalOn, AfterID: first[1].ID, Limit: 2})
		if len(second) != 1 || second[0].ID == first[0].ID || second[0].ID == first[1].ID {
			t.Errorf("the second page has %+v", second)
		}
		if of := read(hostel, guest.RegisterRange{First: everyDay, Last: "9998-12-31", Limit: 10}); len(of) != 0 {
			t.Errorf("the other property reads %+v", of)
		}
		if of := read(hotel, guest.RegisterRange{First: "2026-11-22", Last: "2026-12-31", Limit: 10}); len(of) != 0 {
			t.Errorf("another range has %+v", of)
		}
		recorded := h.db.View(t.Context()).Event.Query().Where(entevent.Subject(event.InternalSubject(hotel))).AllX(t.Context())
		if len(recorded) != 3 || recorded[0].Kind != string(event.RegisterRead) || recorded[0].Body["reason"] != "inspection" {
			t.Errorf("recorded: %+v", recorded)
		}
	})
}

// A change of the settings between two stays of one day changes nothing for the former.
func TestLawOfTheLatestSave(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		id := h.stayUnder("none", "A", access.Started)
		h.write(func(tx *db.Tx) error {
			return tx.CheckInSettings.Update().Where(entsettings.PropertyID(hotel), entsettings.ID(hotel)).SetRule("AT").Exec(tx.Context())
		})
		h.clock.Set(morning.AddDate(0, 0, 10))
		h.sweepForms()
		if n := len(h.register()); n != 0 || h.answers(id)[rule.LastName] == "" {
			t.Errorf("a form under no law: %d entries, answers %v", n, h.answers(id))
		}
	})
}

// push sends a state, and further fields, of a stay as the PMS does.
func (h *fixture) push(pmsID, state string, more ...any) {
	h.t.Helper()
	p := reservation.Patch{reservation.PMSID: pmsID, reservation.State: state}
	for i := 0; i < len(more); i += 2 {
		p[more[i].(reservation.Field)] = more[i+1]
	}
	h.write(func(tx *db.Tx) error {
		_, err := reservation.Service{Keys: h.keys}.Upsert(tx, reservation.Scope{PropertyID: hotel, IntegrationID: "int_" + hotel}, p, nil)
		return err
	})
}

// An inspector sees who is in the house: their forms are read from the stay until they are closed, once each.
func TestRegisterListsGuestsInHouse(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.stayUnder("AT", "in", access.Started)
		h.stayUnder("AT", "expected", access.Confirmed)
		italian := h.stayUnder("IT", "italian", access.Started)
		h.rules("none")
		h.book(hotel, "lawless", "Silva", reservation.State, "started")
		h.rules("IT")
		list := func() (out []string) {
			for _, e := range h.register() {
				out = append(out, e.Number+" "+e.Law+" "+e.State+" "+e.DepartureOn+" "+string(e.Answers[rule.LastName])+string(e.Answers["own.plate"]))
			}
			slices.Sort(out)
			return out
		}
		check := func(when string, want ...string) {
			if got := list(); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		check("in house", "N-in AT inHouse 2026-11-24 Silva", "N-italian IT inHouse 2026-11-24 Silva")
		h.push("in", "processed")
		check("departed", "N-in AT departed 2026-11-24 Silva", "N-italian IT inHouse 2026-11-24 Silva")
		h.clock.Set(h.party(italian).Reservation.ToAt.Add(guest.RegisterDelay))
		check("a day after the departure, not closed", "N-in AT departed 2026-11-24 Silva")
		h.sweepForms()
		check("closed", "N-in AT departed 2026-11-24 Silva")
		h.push("in", "started", reservation.To, "2026-11-28T11:00:00Z")
		check("the PMS takes the departure back", "N-in AT inHouse 2026-11-28 Silva")
	})
}

// Pages of the register are complete and have no entry twice, if forms of stays and of the register follow each other.
func TestRegisterPages(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		for _, pmsID := range []string{"A", "B", "C", "D", "E"} {
			h.stayUnder("AT", pmsID, access.Started)
		}
		h.push("B", "processed", reservation.To, "2026-11-22T11:00:00Z")
		h.push("D", "processed", reservation.To, "2026-11-22T11:00:00Z")
		h.clock.Set(morning.AddDate(0, 0, 2).Add(12 * time.Hour))
		h.sweepForms()
		want := []string{"N-A inHouse", "N-B departed", "N-C inHouse", "N-D departed", "N-E inHouse"}
		if got := h.pages(2); !slices.Equal(got, want) {
			t.Errorf("the pages have %q", got)
		}
	})
}

// pages reads the whole register in pages of a size.
func (h *fixture) pages(size int) (numbers []string) {
	r := guest.RegisterRange{First: everyDay, Last: "9998-12-31", Limit: size}
	for more := true; more; more = r.AfterID != "" {
		h.write(func(tx *db.Tx) error {
			page, err := guest.ReadRegister(tx, h.keys, hotel, r, "Ada", "inspection")
			for _, e := range page.Entries {
				numbers = append(numbers, e.Number+" "+e.State)
			}
			r.AfterOn, r.AfterID = page.NextOn, page.NextID
			return err
		})
	}
	slices.Sort(numbers)
	return numbers
}

// Closed forms that were opened again are in no page twice, and do not shorten the list.
func TestRegisterPagesWithFormsOpenedAgain(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		for _, pmsID := range []string{"A", "B", "C", "D", "E"} {
			h.stayUnder("AT", pmsID, access.Started)
		}
		h.clock.Set(morning.AddDate(0, 0, 10))
		h.sweepForms()
		for _, pmsID := range []string{"B", "C", "D"} {
			h.push(pmsID, "started", reservation.To, "2026-12-05T11:00:00Z")
		}
		want := []string{"N-A departed", "N-B inHouse", "N-C inHouse", "N-D inHouse", "N-E departed"}
		for size := 1; size <= 5; size++ {
			if got := h.pages(size); !slices.Equal(got, want) {
				t.Errorf("pages of %d have %q", size, got)
			}
		}
	})
}

// The law wants the forms of guests who stayed, also if the PMS cancels the stay afterwards: the register keeps them until the named day.
func TestCancelationAfterTheArrival(t *testing.T) {
	each(t, func(t *testing.T, h *fixture) {
		h.stayUnder("AT", "afterDeparture", access.Started)
		h.stayUnder("AT", "inHouse", access.Started)
		h.stayUnder("AT", "never", access.Confirmed)
		h.stayUnder("AT", "mistake", access.Started)
		h.push("mistake", "confirmed")
		h.clock.Set(morning.AddDate(0, 0, 1))
		for _, pmsID := range []string{"inHouse", "never", "mistake"} {
			h.push(pmsID, "canceled")
		}
		h.clock.Set(morning.AddDate(0, 0, 2).Add(time.Hour))
		h.sweepForms()
		if got := h.closed(); len(got) != 1 || got[0].Number != "N-inHouse" || got[0].DepartureOn != "2026-11-21" {
			t.Errorf("a day after the cancelation: %+v", got)
		}
		h.clock.Set(morning.AddDate(0, 0, 10))
		h.sweepForms()
		h.push("afterDeparture", "canceled")
		h.clock.Set(morning.AddDate(6, 11, 0))
		h.sweepForms()
		if got := h.closed(); len(got) != 2 {
			t.Errorf("before the named day: %+v", got)
		}
		h.clock.Set(morning.AddDate(7, 0, 5))
		h.sweepForms()
		if got := h.register(); len(got) != 0 {
			t.Errorf("after the named day: %+v", got)
		}
	})
}
