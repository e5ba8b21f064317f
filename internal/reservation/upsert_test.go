package reservation_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	entmapping "latchkey.dev/ent/mapping"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/test/dbtest"
)

func TestUpsertStoresAll(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		sent := with(booking("A", ""), reservation.GroupID, "G", reservation.BedID, theirs("b1"), reservation.RoomID, theirs("d1"),
			reservation.CompanionIDs, []string{"c1", "c2"}, reservation.PMSUpdatedAt, morning.Add(-time.Minute), reservation.Mobile, "+49 30 1",
			reservation.Adults, 0, reservation.Children, 2, reservation.Price, 120.5, reservation.Owing, 20.25, reservation.Currency, "EUR",
			reservation.SourceName, "s", reservation.ChannelManager, "m", reservation.ChannelNumber, "n", reservation.To, nil, reservation.ToDate, "2026-11-24")
		s := h.put(sent)
		read := h.read("A")
		same(t, "what was answered is what is stored", fmt.Sprint(read), fmt.Sprint(s.Row))
		if s.Property.TimeZone != "Europe/Berlin" || !read.CreatedAt.Equal(morning) || read.PropertyID != h.id || *read.PmsSpaceID != theirs("b1") ||
			len(read.PmsCompanionIds) != 2 || *read.OwingMinor != 2025 || *read.AdultCount != 0 || *read.ToDate != "2026-11-24" || read.SpaceKey != theirs("b1") {
			t.Errorf("stored %v", read)
		}
		h.clock.Advance(time.Hour)
		again := h.put(sent)
		same(t, "the same again changes nothing", fmt.Sprint(read), fmt.Sprint(again.Row))
		changed := h.put(reservation.Patch{reservation.PMSID: "A", reservation.Mobile: nil, reservation.CompanionIDs: []string{}, reservation.Price: nil, reservation.ToDate: "2026-11-25"})
		same(t, "what was answered is what is stored", fmt.Sprint(h.read("A")), fmt.Sprint(changed.Row))
		if r := changed.Row; changed.Booker.Mobile != nil || r.PmsCompanionIds != nil || r.PriceMinor != nil || *r.ToDate != "2026-11-25" ||
			!r.UpdatedAt.Equal(morning.Add(time.Hour)) || !r.CreatedAt.Equal(morning) || *r.OwingMinor != 2025 {
			t.Errorf("changed %v", r)
		}
	})
}

func (h *testProperty) read(id string) *ent.Reservation {
	h.t.Helper()
	row, err := reservation.Find(h.db.View(h.ctx()), h.scope, nil, id)
	h.must(err)
	return row
}

func TestOrderOfUpdates(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		at := func(d time.Duration) reservation.Patch {
			return reservation.Patch{reservation.PMSID: "A", reservation.PMSUpdatedAt: morning.Add(d)}
		}
		h.put(with(booking("A", "r1"), reservation.PMSUpdatedAt, morning.Add(-time.Minute)))
		h.put(with(at(0), reservation.State, "started"))
		before := fmt.Sprint(h.read("A"), h.slots())
		h.clock.Advance(time.Minute)
		for _, late := range []reservation.Patch{
			with(at(-time.Second), reservation.State, "processed", reservation.LastName, "X"),
			with(at(-time.Second), reservation.To, "2026-11-01T00:00:00Z"), // valid before, against what is held it is not
		} {
			s := h.put(late)
			if !s.Stale || s.Plan.Status != access.StatusIssued || s.Row.State != "started" {
				t.Errorf("a late update: stale %v, %s, %s", s.Stale, s.Row.State, s.Plan.Status)
			}
		}
		same(t, "a late update changes nothing", before, fmt.Sprint(h.read("A"), h.slots()))
		if s := h.put(with(at(0), reservation.LastName, "Equal")); s.Stale || s.Booker.LastName != "Equal" {
			t.Error("one of the same moment applies")
		}
		if s := h.put(reservation.Patch{reservation.PMSID: "A", reservation.LastName: "Untimed"}); s.Stale || s.Booker.LastName != "Untimed" {
			t.Error("one without a time applies")
		}
		if s := h.put(with(at(-time.Second), reservation.LastName, "Late")); !s.Stale || s.Booker.LastName != "Untimed" {
			t.Error("one without a time does not make older ones newer")
		}
		_, err := h.try(with(at(-time.Second), reservation.LastName, "Wrong"))
		h.must(err)
		err = h.db.Write(h.ctx(), func(tx *db.Tx) error {
			_, err := h.service().Upsert(tx, h.scope, at(-time.Second), []fault.Field{{Path: "adultCount", Reason: fault.WrongType}})
			return err
		})
		refuse(t, err, fault.InvalidFields)
	})
}

func TestRefusedChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		_, err := h.try(with(booking("A", "r1"), reservation.State, "in", reservation.Email, "x"))
		refuse(t, err, fault.InvalidFields)
		_, err = reservation.Find(h.db.View(h.ctx()), h.scope, nil, "A")
		refuse(t, err, fault.ReservationNotFound)
		h.put(booking("A", "r1"))
		before := fmt.Sprint(h.read("A"))
		_, err = h.try(reservation.Patch{reservation.PMSID: "A", reservation.LastName: "X", reservation.To: "2026-11-20T00:00:00Z"})
		refuse(t, err, fault.DatesNotValid)
		same(t, "row", before, fmt.Sprint(h.read("A")))
	})
}

func TestOwnSpace(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.put(with(booking("A", ""), reservation.OwnSpaceID, h.at("r1"), reservation.State, "started"))
		same(t, "doors", []string{"r1 queued", "g1 queued"}, doorsOf(s.Plan))
		_, err := h.try(with(booking("B", ""), reservation.OwnSpaceID, "spc_unknown"))
		refuse(t, err, fault.SpaceNotFound)

		h.put(with(booking("C", ""), reservation.OwnSpaceID, h.at("r3")))
		h.write(func(tx *db.Tx) error {
			_, err := tx.Mapping.Delete().Where(entmapping.SpaceID(h.at("r3"))).Exec(tx.Context())
			return errors.Join(err, tx.Space.DeleteOneID(h.at("r3")).Exec(tx.Context()))
		})
		s = h.put(reservation.Patch{reservation.PMSID: "C", reservation.LastName: "Later"})
		same(t, "a space that is gone loses no booking", []string{"spaceUnknown", "notCheckedIn"}, reasonsOf(s.Plan))
	})
}

// Two callers with the same reservation: both are stored, one after the other.
func TestConcurrentUpserts(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				h.putUntilStored(with(booking("same", "r1"), reservation.Adults, i, reservation.State, "started"))
			})
		}
		wg.Wait()
		if n := h.count(); n != 1 {
			t.Errorf("%d reservations", n)
		}
		if n, err := h.db.View(h.ctx()).Grant.Query().Where(entgrant.PropertyID(h.id)).Count(h.ctx()); err != nil || n != 1 {
			t.Errorf("%d grants, %v", n, err)
		}
		same(t, "doors", []string{"g1", "r1"}, h.present(h.read("same").ID))
	})
}

func (h *testProperty) count() int {
	h.t.Helper()
	rows, _, err := reservation.List(h.db.View(h.ctx()), h.scope, reservation.Query{Size: 1000})
	h.must(err)
	return len(rows)
}

// Stays that check in at the same time get different PINs, and no table contains a PIN in plain text.
func TestPINsAreUniqueAndSecret(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		const stays = 200
		h.write(func(tx *db.Tx) error {
			err := tx.Gate.DeleteOneID(h.at("g1")).Exec(tx.Context())
			for i := range stays / 4 {
				name := fmt.Sprintf("x%d", i)
				err = errors.Join(err, h.addSpace(tx, name, "Room", "", true), h.addLock(tx, name))
			}
			return err
		})
		var wg sync.WaitGroup
		for i := range stays {
			wg.Go(func() {
				h.putUntilStored(with(booking(number(i), fmt.Sprintf("x%d", i/4)), reservation.State, "started"))
			})
		}
		wg.Wait()
		seen := map[string]string{}
		for i := range stays {
			pin := h.pins(h.read(number(i)).ID).PIN
			if len(pin) != 8 || seen[pin] != "" {
				t.Fatalf("stay %d has a PIN of %d digits, shared with %q", i, len(pin), seen[pin])
			}
			seen[pin] = number(i)
		}
		h.searchFor(seen)
	})
}

// searchFor searches for PINs in all events, notices and plans.
func (h *testProperty) searchFor(pins map[string]string) {
	h.t.Helper()
	ctx := h.ctx()
	var text strings.Builder
	events, err := h.db.View(ctx).Event.Query().All(ctx)
	h.must(err)
	for _, e := range events {
		fmt.Fprintln(&text, e.Kind, e.Body["status"], e.Body["doors"], e.Body["reasons"])
		for k := range e.Body {
			if strings.Contains(strings.ToLower(k), "pin") && k != "pinId" {
				h.t.Errorf("an event has the field %s", k)
			}
		}
	}
	notices, err := h.db.View(ctx).Notice.Query().All(ctx)
	h.must(err)
	for _, n := range notices {
		fmt.Fprintln(&text, n.Kind, n.Parameters)
	}
	for _, s := range h.slots() {
		fmt.Fprintf(&text, "%q %q\n", s.Pin, s.Rule)
	}
	for p := range pins {
		if strings.Contains(text.String(), p) {
			h.t.Errorf("a PIN is stored in plain text")
		}
	}
}

func TestReset(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		s := h.checkIn("A", "r1", "r1", "g1")
		first := h.pins(s.Row.ID)
		generation := func() int { return h.grantOf(h.slotsAt("r1")[0].GrantID).KeyGeneration }
		keys := generation()

		same(t, "pin", []access.Part(nil), h.reset(s.Row.ID, access.PartPIN))
		second := h.pins(s.Row.ID)
		if second.PIN == first.PIN || second.Gates[0].PIN != second.PIN || generation() != keys {
			t.Error("reset the PIN: another one for all doors, and the SmartKey stays")
		}
		same(t, "the digits of the old one are reserved while a lock may hold it", 2, h.livePINs())
		h.verify("r1", "g1")
		same(t, "and no longer", 1, h.livePINs())

		same(t, "ekey", []access.Part(nil), h.reset(s.Row.ID, access.PartKey))
		if generation() != keys+1 || h.pins(s.Row.ID).PIN != second.PIN {
			t.Error("reset the SmartKey: its generation grows, and the PIN stays")
		}

		same(t, "gates", []access.Part(nil), h.reset(s.Row.ID, access.PartGates))
		third := h.pins(s.Row.ID)
		if third.PIN != second.PIN || third.Gates[0].PIN == second.PIN {
			t.Error("reset the gates: they have another PIN than the room")
		}
		h.reset(s.Row.ID, access.PartGates)
		fourth := h.pins(s.Row.ID)
		if fourth.Gates[0].PIN == third.Gates[0].PIN {
			t.Error("reset the gates again: still the same")
		}
		same(t, "all", []access.Part(nil), h.reset(s.Row.ID, access.PartPIN, access.PartKey, access.PartGates))
		if last := h.pins(s.Row.ID); last.PIN == fourth.PIN || last.Gates[0].PIN == fourth.Gates[0].PIN || generation() != keys+2 {
			t.Error("reset all: something is as it was")
		}
		if sl := h.slotsAt("g1")[0]; h.wanted(sl) != h.pins(s.Row.ID).Gates[0].PIN {
			t.Error("the gate's lock has another PIN than is shown")
		}
		h.verify("r1", "g1")
		same(t, "PINs reserved", 2, h.livePINs())
		same(t, "events", []string{
			"reservationPinGenerated", "access.issued", "reservationPinGenerated", "access.updated", "reservationPinGenerated", "access.updated",
			"reservationPinGenerated", "access.updated", "reservationPinGenerated", "access.updated",
		}, h.events(s.Row.ID))

		h.put(state("A", "processed"))
		all := []access.Part{access.PartPIN, access.PartKey, access.PartGates}
		same(t, "after check-out", all, h.reset(s.Row.ID, all...))
		bare := h.checkIn("B", "bare")
		same(t, "without a lock", all, h.reset(bare.Row.ID, all...))
		h.write(func(tx *db.Tx) error { return tx.Gate.DeleteOneID(h.at("g1")).Exec(tx.Context()) })
		c := h.checkIn("C", "r2")
		same(t, "without a gate", []access.Part{access.PartGates}, h.reset(c.Row.ID, access.PartPIN, access.PartGates))
	})
}

// A stay keeps its PINs, and a reset says so, if no other PIN is free that the lock of its room accepts.
func TestResetWithoutAFreePIN(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r1", func(c *slot.Capabilities) { c.PINMax, c.Alphabet, c.Slots = 4, "13", 50 })
		h.capable("g1", func(c *slot.Capabilities) { c.Slots = 50 })
		first := h.checkIn("A", "r1", "r1", "g1")
		before := h.pins(first.Row.ID)
		for i := range 20 {
			h.put(with(booking(number(i), "r1"), reservation.State, "started"))
		}
		same(t, "failed", []access.Part{access.PartPIN}, h.reset(first.Row.ID, access.PartPIN))
		same(t, "PINs", before, h.pins(first.Row.ID))
		if sl := h.slotsAt("r1")[0]; h.wanted(sl) != before.PIN {
			t.Error("the lock has another PIN than is shown")
		}
	})
}

func (h *testProperty) reset(rsv string, parts ...access.Part) (failed []access.Part) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) {
		failed, err = access.Reset(access.Reconciler{Tx: tx, Keys: h.keys}, h.id, rsv, parts)
		return err
	})
	return failed
}

// A grant that cannot be reconciled does not hold up the others, even if it fills a batch.
func TestExpireContinuesAfterAFailure(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		a, b := h.checkIn("A", "r1", "r1", "g1"), h.checkIn("B", "r2", "r2", "g1")
		h.write(func(tx *db.Tx) error { // only a defect could make such a row
			return tx.Grant.Update().Where(entgrant.ReservationIDNEQ(b.Row.ID)).SetNotAfter(morning).Exec(tx.Context())
		})
		dbtest.Insert(t, h.db, "reservations", dbtest.Values{"id": "rsv_gone", "property_id": h.id, "integration_id": h.scope.IntegrationID})
		h.write(func(tx *db.Tx) error {
			return tx.Grant.Create().SetID("grt_broken").SetPropertyID("prp_gone").SetReservationID("rsv_gone").SetOpenKey("rsv_gone").SetPlacedAt(tx.Now()).
				SetNotBefore(morning.Add(-time.Hour)).SetNotAfter(morning.Add(-time.Hour)).SetCreatedAt(morning).Exec(tx.Context())
		})
		same(t, "windows that ended", 1, h.expire(1))
		same(t, "windows left", 0, h.sweep())
		same(t, "A", []string(nil), h.present(a.Row.ID))
		same(t, "B", []string{"g1", "r2"}, h.present(b.Row.ID))
	})
}

func TestReplanTouchesOnlyNamedSpaces(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		a := h.checkIn("A", "r1", "r1", "g1")
		b := h.checkIn("B", "r2", "r2", "g1")
		for _, r := range []string{"r1", "r2"} {
			h.write(func(tx *db.Tx) error { return tx.Space.UpdateOneID(h.at(r)).SetIsActive(false).Exec(tx.Context()) })
		}
		h.replan(space.AffectedStays{})
		same(t, "A", []string{"g1", "r1"}, h.present(a.Row.ID))
		h.replan(space.AffectedStays{SpaceIDs: []string{h.at("r1")}})
		same(t, "A", []string(nil), h.present(a.Row.ID))
		same(t, "B", []string{"g1", "r2"}, h.present(b.Row.ID))
		h.replan(space.AffectedStays{All: true})
		same(t, "B", []string(nil), h.present(b.Row.ID))
		same(t, "staff", []string{"spaceInactive"}, h.notices(b.Row.ID))
	})
}
