package lock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	entlock "latchkey.dev/ent/lock"
	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// Patterns that exceed the limits are not stored, staff learn of it once, and again after it was corrected.
func TestPatternsAreCheckedWhenReported(t *testing.T) {
	costly := strings.Repeat(`.{0,999}`, 16)
	each(t, func(t *testing.T, s *site) {
		report := func(patterns ...string) {
			t.Helper()
			c := s.caps
			c.ForbiddenPatterns = patterns
			s.change(func(tx *db.Tx) error {
				_, _, err := lock.ApplyReports(tx, s.bridge.ID, s.epoch, []lock.LockReport{{Address: "front", Capabilities: &c}})
				return err
			})
		}
		check := func(what string, refused, want int, patterns ...string) {
			t.Helper()
			lk, err := s.db.View(t.Context()).Lock.Query().Where(entlock.Address("front")).Only(t.Context())
			s.must(err)
			if c := lk.Capabilities; !slices.Equal(c.ForbiddenPatterns, patterns) || c.RefusedPatterns != refused {
				t.Errorf("%s: patterns %q, %d refused", what, c.ForbiddenPatterns, c.RefusedPatterns)
			}
			found, err := s.db.View(t.Context()).Notice.Query().Where(entnotice.Subject(lk.ID), entnotice.Kind("pinPatternsRefused")).All(t.Context())
			s.must(err)
			if len(found) != want {
				t.Errorf("%s: %d notices, want %d", what, len(found), want)
			}
			for _, n := range found {
				if text := notice.Text(n, message.Reader{}); !strings.Contains(text, "“front”") || strings.Contains(text, costly) {
					t.Errorf("%s: notice %q", what, text)
				}
			}
		}
		s.caps.ForbiddenPatterns = []string{costly, "777"}
		s.connect("front")
		check("of a new lock", 1, 1, "777")
		report(slices.Repeat([]string{costly}, 32)...)
		check("while it is open", 32, 1)
		report("777")
		check("corrected", 0, 1, "777")
		report(slices.Repeat([]string{"777"}, slot.MaxPatterns+1)...)
		check("too many", 1, 2, slices.Repeat([]string{"777"}, slot.MaxPatterns)...)
		s.change(func(tx *db.Tx) error { _, err := notice.Forget(tx, tx.Now().Add(time.Second), 10); return err })
		for _, battery := range []int{80, 79} {
			s.change(func(tx *db.Tx) error {
				_, _, err := lock.ApplyReports(tx, s.bridge.ID, s.epoch, []lock.LockReport{{Address: "front", Status: &lock.Status{Online: true, BatteryPercent: &battery}}})
				return err
			})
			check("after retention deleted the notice", 1, 1, slices.Repeat([]string{"777"}, slot.MaxPatterns)...)
		}
	})
}
