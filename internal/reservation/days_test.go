package reservation_test

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

// byDays is a stay that the PMS gave by days.
func byDays(id, place, from, to string) reservation.Patch {
	p := with(booking(id, place), reservation.FromDate, from, reservation.ToDate, to)
	delete(p, reservation.From)
	delete(p, reservation.To)
	return p
}

func (h *testProperty) row(id string) *ent.Reservation {
	h.t.Helper()
	row, err := reservation.Find(h.db.View(h.ctx()), h.scope, nil, id)
	h.must(err)
	return row
}

// completeDays does what the job does after a change of the property's hours, and says which stays that moved.
func (h *testProperty) completeDays() (moved []string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		ids, err := reservation.ListByDays(tx, h.id, "", 100)
		if err != nil {
			return err
		}
		before := h.windows(tx)
		if err := h.service().CompleteDays(tx, h.id, ids); err != nil {
			return err
		}
		moved = nil
		for id, after := range h.windows(tx) {
			if after != before[id] {
				moved = append(moved, id)
			}
		}
		slices.Sort(moved)
		return nil
	})
	return moved
}

// windows says when each stay begins and ends.
func (h *testProperty) windows(tx *db.Tx) map[string]string {
	h.t.Helper()
	all := map[string]string{}
	for _, row := range tx.Reservation.Query().AllX(tx.Context()) {
		all[row.ID] = row.FromAt.String() + row.ToAt.String()
	}
	return all
}

// generations tells what the locks were asked for last.
func (h *testProperty) generations() (all []int64) {
	h.t.Helper()
	for _, s := range h.slots() {
		all = append(all, s.Generation)
	}
	return all
}

func (h *testProperty) hours(in, out, zone string) {
	h.t.Helper()
	h.settings(func(tx *db.Tx) error {
		return tx.Property.UpdateOneID(h.id).SetCheckInTime(in).SetCheckOutTime(out).SetTimeZone(zone).Exec(tx.Context())
	})
}

func TestNewHoursMoveCheckedInStaysAtOnce(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.put(with(byDays("A", "r1", "2026-11-21", "2026-11-24"), reservation.State, "started"))
		h.put(with(booking("B", "r2"), reservation.State, "started"))
		h.verify("r1", "r2", "g1")
		before, pins, other := h.row("A"), h.pins(h.row("A").ID), h.plan("B").Window
		h.clock.Advance(time.Minute)
		h.hours("15:00", "13:00", "Europe/Lisbon")
		h.replan(space.AffectedStays{All: true})

		row := h.row("A")
		same(t, "end", "2026-11-24T13:00:00Z", row.ToAt.UTC().Format(time.RFC3339))
		same(t, "window", "2026-11-24T13:30:00Z", h.plan("A").Window.To.UTC().Format(time.RFC3339))
		same(t, "changed", before.UpdatedAt.Add(time.Minute), row.UpdatedAt)
		same(t, "changed by the PMS", before.PmsUpdatedAt, row.PmsUpdatedAt)
		same(t, "a stay that the PMS gave by moments", other, h.plan("B").Window)
		same(t, "locks with a change", []string{"r1 queued", "g1 queued"}, doorsOf(h.plan("A")))
		h.verify("r1", "g1")
		same(t, "PINs", pins, h.pins(row.ID))
		generations := h.generations()
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.Adults: 2})
		same(t, "locks after a change of something else", generations, h.generations())
	})
}

func TestNewHoursMoveArrivals(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.put(byDays("A", "r1", "2026-11-22", "2026-11-24"))
		h.put(booking("B", "r2"))
		h.put(with(byDays("over", "r3", "2026-11-01", "2026-11-02"), reservation.State, "processed"))
		checkedIn := h.put(with(byDays("C", "r3", "2026-11-21", "2026-11-23"), reservation.State, "started")).Row.ID
		before := h.row("A")
		h.clock.Advance(time.Minute)
		h.hours("16:00", "12:00", "Europe/Lisbon")
		same(t, "moved", []string{before.ID, checkedIn}, h.completeDays())

		row := h.row("A")
		same(t, "from", "2026-11-22T16:00:00Z", row.FromAt.UTC().Format(time.RFC3339))
		same(t, "to", "2026-11-24T12:00:00Z", row.ToAt.UTC().Format(time.RFC3339))
		same(t, "changed", before.UpdatedAt.Add(time.Minute), row.UpdatedAt)
		same(t, "changed by the PMS", before.PmsUpdatedAt, row.PmsUpdatedAt)
		same(t, "window", "2026-11-23T12:30:00Z", h.plan("C").Window.To.UTC().Format(time.RFC3339))
		same(t, "over", "2026-11-02T10:00:00Z", h.row("over").ToAt.UTC().Format(time.RFC3339))
		same(t, "moved again", []string(nil), h.completeDays())
	})
}

// A stay for a day has no time left by hours that begin after they end. It keeps what it has, and can be changed.
func TestNewHoursThatLeaveNoTimeKeepTheDates(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.hours("10:00", "18:00", "Europe/Berlin")
		h.put(byDays("A", "r1", "2026-11-22", "2026-11-22"))
		h.hours("15:00", "11:00", "Europe/Berlin")
		same(t, "moved", []string(nil), h.completeDays())
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.Adults: 2})
		same(t, "to", "2026-11-22T17:00:00Z", h.row("A").ToAt.UTC().Format(time.RFC3339))
	})
}
