package reservation_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	entgrant "latchkey.dev/ent/grant"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/access/code"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/test/dbtest"
)

// neighbours are two houses in one database whose partners use the same ids.
func neighbours(t *testing.T, f func(t *testing.T, one, two *testProperty)) {
	t.Helper()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			one := open(t, engine)
			f(t, one, build(t, one.db, one.clock, one.keys, "two"))
		})
	}
}

// everything is all that is stored of a house, in the words of its rows.
func (h *testProperty) everything() string {
	h.t.Helper()
	rows, err := h.db.View(h.ctx()).Grant.Query().Where(entgrant.PropertyID(h.id)).Order(entgrant.ByID()).All(h.ctx())
	h.must(err)
	list, _, err := reservation.List(h.db.View(h.ctx()), reservation.Scope{PropertyID: h.id}, reservation.Query{Size: 100})
	h.must(err)
	events, err := h.db.View(h.ctx()).Event.Query().Where(entevent.PropertyID(h.id)).Order(entevent.ByID()).All(h.ctx())
	h.must(err)
	return fmt.Sprint(rows, list, events, h.slots(), h.livePINs())
}

func TestTenants(t *testing.T) {
	neighbours(t, func(t *testing.T, one, two *testProperty) {
		a, b := one.checkIn("A", "r1", "r1", "g1"), two.put(with(booking("A", "r2"), reservation.LastName, "Other"))
		if a.Row.ID == b.Row.ID || two.booker("A").LastName != "Other" || one.booker("A").LastName != "Lovelace" {
			t.Fatal("two properties share a reservation")
		}
		two.put(state("A", "started"))
		view := one.db.View(one.ctx())
		strangers := []reservation.Scope{two.scope, {PropertyID: two.id}, {PropertyID: two.id, IntegrationID: one.scope.IntegrationID}, {PropertyID: one.id, IntegrationID: two.scope.IntegrationID}}
		for _, s := range strangers {
			_, err := reservation.Get(view, s, a.Row.ID)
			refuse(t, err, fault.ReservationNotFound)
			rows, _, err := reservation.List(view, s, reservation.Query{Size: 10})
			if err != nil || slices.ContainsFunc(rows, func(r *ent.Reservation) bool { return r.ID == a.Row.ID }) {
				t.Errorf("%+v lists another's: %v", s, err)
			}
		}
		for _, s := range strangers[2:] {
			_, err := reservation.Find(view, s, nil, "A")
			refuse(t, err, fault.ReservationNotFound)
		}
		if row, err := reservation.Find(view, strangers[1], []string{one.scope.IntegrationID, two.scope.IntegrationID}, "A"); err != nil || row.ID != b.Row.ID {
			t.Errorf("found %v, %v", row, err)
		}

		before := one.everything()
		foreign := access.Reconciler{Tx: view, Keys: one.keys}
		shown, err := access.RevealPINs(foreign, two.id, a.Row.ID)
		if err != nil || shown.PIN != "" || shown.Gates != nil {
			t.Errorf("another's PINs: %v", err)
		}
		same(t, "reset", []access.Part{access.PartPIN}, two.reset(a.Row.ID, access.PartPIN))
		two.write(func(tx *db.Tx) error {
			g := one.grantOf(one.slotsAt("r1")[0].GrantID)
			w := access.Reconciler{Tx: tx, Keys: two.keys}
			moved := lock.CodeSlot{PropertyID: two.id, LockID: two.at("lck-r1"), DoorID: two.at("r1"), GrantID: g.ID}
			return code.ApplyEvidence(w, []lock.EvidenceChange{{Slot: moved, Before: slot.Sent, After: slot.Failed}})
		})
		two.replan(space.AffectedStays{All: true, SpaceIDs: []string{one.at("r1")}, Externals: []space.External{{IntegrationID: one.scope.IntegrationID, ID: theirs("r1")}}})
		_, err = two.try(with(booking("B", ""), reservation.OwnSpaceID, one.at("r1")))
		refuse(t, err, fault.SpaceNotFound)
		two.put(state("A", "processed"))
		two.put(reservation.Patch{reservation.PMSID: "A", reservation.State: "started", reservation.SpaceID: theirs("r1")})
		two.verify("r1", "r2", "g1")
		same(t, "what a neighbour does", before, one.everything())
	})
}

// Two properties may draw the same digits: their PINs are separate rows.
func TestPINsOfNeighboursDoNotCollide(t *testing.T) {
	neighbours(t, func(t *testing.T, one, two *testProperty) {
		for _, h := range []*testProperty{one, two} {
			h.capable("r1", func(c *slot.Capabilities) { c.PINMax, c.Alphabet = 4, "13" })
			h.write(func(tx *db.Tx) error { return tx.Gate.DeleteOneID(h.at("g1")).Exec(tx.Context()) })
		}
		rows := map[*testProperty]int{}
		for i := range 6 { // of so few digits there are only some PINs, and each property has them all to itself
			for _, h := range []*testProperty{one, two} {
				s := h.put(with(booking(number(i), "r1"), reservation.State, "started"))
				if h.pins(s.Row.ID).PIN != "" {
					rows[h]++
				}
			}
		}
		if rows[one] == 0 || rows[one] != rows[two] {
			t.Errorf("%d PINs at one property, %d at the other", rows[one], rows[two])
		}
	})
}

// When every PIN of a lock is taken the booking is stored all the same, and says what is wrong.
func TestNoFreePIN(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r1", func(c *slot.Capabilities) { c.PINMax, c.Alphabet, c.Slots = 4, "13", 50 })
		h.capable("g1", func(c *slot.Capabilities) { c.Slots = 50 })
		var last reservation.Stored
		for i := range 20 {
			last = h.put(with(booking(number(i), "r1"), reservation.State, "started"))
		}
		same(t, "doors", []string{"r1 failed pinNotPossible", "g1 queued ownPin"}, doorsOf(last.Plan))
		same(t, "staff", true, slices.Contains(h.notices(last.Row.ID), "pinNotPossible"))
	})
}

func TestFindAmongIntegrations(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.put(booking("A", "r1"))
		second := reservation.Scope{PropertyID: h.id, IntegrationID: "int_second"}
		dbtest.Insert(t, h.db, "integrations", dbtest.Values{"id": second.IntegrationID, "property_id": h.id})
		h.write(func(tx *db.Tx) error {
			_, err := h.service().Upsert(tx, second, booking("A", ""), nil)
			return err
		})
		view, all := h.db.View(h.ctx()), reservation.Scope{PropertyID: h.id}
		_, err := reservation.Find(view, all, []string{h.scope.IntegrationID, "int_second"}, "A")
		refuse(t, err, fault.Ambiguous)
		for _, s := range []reservation.Scope{h.scope, second} {
			if row, err := reservation.Find(view, s, nil, "A"); err != nil || row.IntegrationID != s.IntegrationID {
				t.Errorf("%+v found %v, %v", s, row, err)
			}
		}
		if row, err := reservation.Find(view, all, []string{"int_second"}, "A"); err != nil || row.IntegrationID != "int_second" {
			t.Errorf("found %v, %v", row, err)
		}
		_, err = reservation.Find(view, all, nil, "A")
		refuse(t, err, fault.ReservationNotFound)
		for want, s := range map[int]reservation.Scope{1: second, 2: all} {
			rows, _, err := reservation.List(view, s, reservation.Query{Size: 5})
			if err != nil || len(rows) != want {
				t.Errorf("%+v lists %d, %v", s, len(rows), err)
			}
		}
	})
}

func TestListPages(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		for i := range 7 {
			if i%3 != 1 { // some of the same moment
				h.clock.Advance(time.Second)
			}
			h.put(with(booking(number(i), ""), reservation.State, []string{"confirmed", "enquired"}[i%2]))
		}
		view := h.db.View(h.ctx())
		var all []string
		var token string
		for page := 0; page == 0 || token != ""; page++ {
			rows, next, err := reservation.List(view, h.scope, reservation.Query{Size: 2, Token: token})
			h.must(err)
			for _, r := range rows {
				all = append(all, r.PmsID)
			}
			if token = next; page > 5 {
				t.Fatal("pages have no end")
			}
		}
		slices.Sort(all)
		same(t, "each once", []string{"0", "1", "2", "3", "4", "5", "6"}, all)

		rows, next, err := reservation.List(view, h.scope, reservation.Query{Size: 7, State: access.Enquired})
		if err != nil || len(rows) != 3 || next != "" {
			t.Errorf("%d enquired, next %q, %v", len(rows), next, err)
		}
		rows, _, err = reservation.List(view, h.scope, reservation.Query{Size: 7, Since: h.read("5").UpdatedAt})
		if err != nil || len(rows) != 2 {
			t.Errorf("%d changed since, %v", len(rows), err)
		}
		rows, next, err = reservation.List(view, h.scope, reservation.Query{Size: 2, State: access.Enquired})
		if err != nil || len(rows) != 2 || next == "" {
			t.Errorf("%d enquired on the first page, next %q, %v", len(rows), next, err)
		}
		rows, next, err = reservation.List(view, h.scope, reservation.Query{Size: 2, State: access.Enquired, Token: next})
		if err != nil || len(rows) != 1 || next != "" {
			t.Errorf("%d enquired on the second page, next %q, %v", len(rows), next, err)
		}
		// By a finer clock than is stored: since means since, and pages go on.
		finer := reservation.Query{Size: 1, Since: h.read("5").UpdatedAt.Add(-time.Nanosecond)}
		rows, finer.Token, err = reservation.List(view, h.scope, finer)
		h.must(err)
		second, next, err := reservation.List(view, h.scope, finer)
		if err != nil || len(rows) != 1 || len(second) != 1 || rows[0].ID == second[0].ID || next != "" {
			t.Errorf("%v then %v, next %q, %v", rows, second, next, err)
		}
		for _, since := range []time.Time{h.read("6").UpdatedAt.Add(time.Nanosecond), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)} {
			if rows, next, err = reservation.List(view, h.scope, reservation.Query{Size: 1, Since: since}); err != nil || len(rows) > 0 || next != "" {
				t.Errorf("%v since %v, next %q, %v", rows, since, next, err)
			}
		}
		for _, bad := range []string{"x", "AAAA", "!!", string(make([]byte, 100))} {
			_, _, err := reservation.List(view, h.scope, reservation.Query{Size: 7, Token: bad})
			refuse(t, err, fault.InvalidFields)
		}
	})
}

// A list by time of change contains a reservation once, at its last change. That holds before and after the rows of its earlier changes
// are deleted.
func TestChangesOfTheSameReservation(t *testing.T) {
	neighbours(t, func(t *testing.T, h, other *testProperty) {
		list := func() (ids []string) {
			rows, _, err := reservation.List(h.db.View(h.ctx()), h.scope, reservation.Query{Size: 10})
			h.must(err)
			for _, r := range rows {
				ids = append(ids, r.PmsID)
			}
			return ids
		}
		changes := func() int {
			n, err := h.db.View(h.ctx()).ReservationChange.Query().Count(h.ctx())
			h.must(err)
			return n
		}
		newest, err := reservation.LastChange(h.db.View(h.ctx()))
		same(t, "no change, no newest", int64(0), newest)
		h.must(err)
		other.put(booking("A", ""))
		for _, id := range []string{"A", "B", "C"} {
			h.put(booking(id, ""))
			h.clock.Advance(time.Second)
		}
		h.put(with(booking("A", ""), reservation.Adults, 2))
		h.clock.Advance(time.Second)
		h.write(func(tx *db.Tx) error { // a batch that names one twice
			for adults := range 2 {
				if _, err := h.service().Upsert(tx, h.scope, with(booking("B", ""), reservation.Adults, adults+2), nil); err != nil {
					return err
				}
			}
			return nil
		})
		same(t, "changed last comes last", []string{"C", "A", "B"}, list())
		same(t, "changes, two left behind", 6, changes())
		h.write(func(tx *db.Tx) error { // by hand
			_, err := tx.Reservation.Delete().Where(entreservation.PropertyID(h.id), entreservation.PmsID("C")).Exec(tx.Context())
			return err
		})

		newest, err = reservation.LastChange(h.db.View(h.ctx()))
		h.must(err)
		var looked []int
		for after := int64(0); after < newest; {
			old, until, err := reservation.Superseded(h.db.View(h.ctx()), after, newest, 4)
			h.must(err)
			h.write(func(tx *db.Tx) error { return reservation.DeleteChanges(tx, old) })
			looked, after = append(looked, len(old)), until
		}
		same(t, "old ones among the first four and the rest", []int{3, 0}, looked)
		same(t, "swept", []string{"A", "B"}, list())
		same(t, "one for each reservation", 3, changes())
		h.clock.Advance(time.Second)
		h.put(with(booking("A", ""), reservation.Adults, 4))
		same(t, "after that", []string{"B", "A"}, list())
	})
}

// One that changes while a page is read is on no page yet: there is one more.
func TestChangeDuringTheLastPage(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		for _, id := range []string{"A", "B"} {
			h.put(booking(id, ""))
			h.clock.Advance(time.Second)
		}
		view, changed := h.db.View(h.ctx()), false
		view.Reservation.Intercept(ent.InterceptFunc(func(next ent.Querier) ent.Querier {
			return ent.QuerierFunc(func(ctx context.Context, q ent.Query) (ent.Value, error) {
				if !changed {
					changed = true
					h.put(with(booking("A", ""), reservation.Adults, 2))
				}
				return next.Query(ctx, q)
			})
		}))
		var pages [][]string
		for q := (reservation.Query{Size: 2}); len(pages) == 0 || q.Token != ""; {
			rows, next, err := reservation.List(view, h.scope, q)
			h.must(err)
			var ids []string
			for _, r := range rows {
				ids = append(ids, r.PmsID)
			}
			if pages, q.Token = append(pages, ids), next; len(pages) > 3 {
				t.Fatal("pages have no end")
			}
		}
		same(t, "pages", [][]string{{"B"}, {"A"}}, pages)
	})
}

func TestAffected(t *testing.T) {
	neighbours(t, func(t *testing.T, one, two *testProperty) {
		a := one.put(booking("A", "r1"))
		b := one.put(with(booking("B", ""), reservation.BedID, theirs("b1"), reservation.RoomID, theirs("d1"), reservation.State, "started"))
		one.put(booking("C", "r2"))
		one.put(with(booking("D", "r1"), reservation.State, "canceled"))
		one.put(with(booking("E", "r1"), reservation.From, "2026-11-01T00:00:00Z", reservation.To, "2026-11-02T00:00:00Z"))
		two.put(booking("A", "r1"))
		one.write(func(tx *db.Tx) error {
			got, err := reservation.Affected(tx, one.id, one.scope.IntegrationID, []string{theirs("r1"), theirs("d1"), theirs("r3")})
			slices.Sort(got)
			want := []string{a.Row.ID, b.Row.ID}
			slices.Sort(want)
			same(t, "affected", want, got)
			if of, err := reservation.Affected(tx, two.id, one.scope.IntegrationID, []string{theirs("r1")}); err != nil || len(of) > 0 {
				t.Errorf("another property reads %v, %v", of, err)
			}
			return err
		})
	})
}

func TestPropertyOfAnUnknownZone(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.write(func(tx *db.Tx) error {
			return tx.Property.UpdateOneID(h.id).SetTimeZone("Mars/Olympus").Exec(tx.Context())
		})
		_, err := h.try(booking("A", "r1"))
		if _, known := fault.Of(err); err == nil || known {
			t.Errorf("got %v: a defect of the server, not of the caller", err)
		}
	})
}
