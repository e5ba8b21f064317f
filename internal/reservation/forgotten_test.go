package reservation_test

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/reservation/explain"
)

// After the retention has deleted events, an explanation says that older steps are missing, and from when on it is complete.
func TestExplanationSaysThatEventsWereDeleted(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		rsv := h.put(with(booking("A", "r1"), reservation.To, "2026-12-24T11:00:00+01:00")).Row.ID
		h.put(state("A", "started"))
		h.verify("r1", "g1")
		explained := func() (e explain.Explanation, kinds []string) {
			h.write(func(tx *db.Tx) (err error) {
				e, err = explain.Of(tx, h.service(), h.scope, rsv)
				return err
			})
			for _, s := range e.Steps {
				kinds = append(kinds, s.Kind)
			}
			return e, kinds
		}
		handOver := func() {
			h.write(func(tx *db.Tx) error {
				events, last, err := event.Unpositioned(tx, 1000)
				if err != nil || len(events) == 0 {
					return err
				}
				return event.AssignPositions(tx, events, last)
			})
		}
		handOver()
		forget := func() {
			h.write(func(tx *db.Tx) error {
				_, err := event.Forget(tx, tx.Now().Add(-10*24*time.Hour), 0, 1000)
				return err
			})
		}
		h.clock.Advance(9 * 24 * time.Hour)
		forget()
		if e, kinds := explained(); e.Forgotten || slices.Contains(kinds, "earlierForgotten") || !slices.Contains(kinds, "codeMade") {
			t.Errorf("while all is kept: %v %v", e.Forgotten, kinds)
		}
		moved := h.clock.Now()
		h.put(reservation.Patch{reservation.PMSID: "A", reservation.SpaceID: theirs("r2")})
		h.verify("r1", "r2", "g1")
		handOver()
		h.clock.Advance(2 * 24 * time.Hour)
		forget()
		e, kinds := explained()
		if !e.Forgotten || slices.Contains(kinds, "codeMade") || !slices.Contains(kinds, "roomChanged") {
			t.Fatalf("after a sweep: %v %v", e.Forgotten, kinds)
		}
		i := slices.Index(kinds, "earlierForgotten")
		if i+1 != slices.Index(kinds, "roomChanged") || !e.Steps[i].At.Equal(moved) {
			t.Errorf("reported as step %d, at %v, want just before the change of room, at %v: %v", i, e.Steps[i].At, moved, kinds)
		}
	})
}
