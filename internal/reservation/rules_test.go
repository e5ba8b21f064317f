package reservation_test

import (
	"slices"
	"strings"
	"testing"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// The rules that a bridge reports for its locks never make a change compute for long: dbtest fails a test in which one does.
func TestPINRulesStayCheap(t *testing.T) {
	// The largest patterns that are accepted, all different, and patterns that used to take seconds to compile.
	accepted := func(i int) []string { return []string{"(?:.?.?.?.?.?){6}x" + number(i)} }
	refused := func(int) []string { return slices.Repeat([]string{strings.Repeat(`.{0,999}`, 16)}, 32) }
	for name, patterns := range map[string]func(i int) []string{"accepted": accepted, "refused": refused} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				const gates = 40
				var reports []lock.LockReport
				for i := range gates {
					gate := "gate" + number(i)
					h.write(func(tx *db.Tx) error {
						if err := tx.Gate.Create().SetID(h.at(gate)).SetPropertyID(h.id).SetName(gate).SetSpaceIds([]string{}).Exec(tx.Context()); err != nil {
							return err
						}
						return h.addLock(tx, gate)
					})
					c := h.caps
					c.ForbiddenPatterns = patterns(i)
					reports = append(reports, lock.LockReport{Address: gate, Capabilities: &c, Status: &lock.Status{Online: true}})
				}
				h.write(func(tx *db.Tx) error {
					_, _, err := lock.ApplyReports(tx, h.at("brg"), epoch, reports)
					return err
				})
				h.checkIn("A", "bare")
				h.write(func(tx *db.Tx) error {
					if err := tx.Property.UpdateOneID(h.id).SetGatesAlone(true).Exec(tx.Context()); err != nil {
						return err
					}
					return h.service().Replan(tx, h.id, space.AffectedStays{All: true})
				})
				doors := h.plan("A").Doors
				if len(doors) < gates {
					t.Errorf("%d doors", len(doors))
				}
				for _, d := range doors {
					if d.Kind == access.Gate && d.PIN == slot.Failed {
						t.Errorf("%s has no PIN: %s", d.Name, d.Reason)
					}
				}
			})
		})
	}
}
