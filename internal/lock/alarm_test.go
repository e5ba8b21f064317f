package lock_test

import (
	"testing"
	"time"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

func TestWhatHappensToALockReachesStaffOnceADay(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		n := int64(0)
		happen := func(kind, reason string, at time.Time) {
			t.Helper()
			n++
			s.change(func(tx *db.Tx) error {
				_, _, err := lock.Events(tx, s.bridge.ID, s.epoch, []lock.Happened{{Sequence: n, Address: "front", Kind: kind, Reason: reason, OccurredAt: at}})
				return err
			})
		}
		told := func(kind string) int {
			n, err := s.db.Read().Notice.Query().Where(entnotice.Kind(kind), entnotice.Subject(lk.ID)).Count(t.Context())
			s.must(err)
			return n
		}
		day := start.Truncate(24 * time.Hour).Add(-72 * time.Hour)
		for _, at := range []time.Time{day, day.Add(time.Hour), day.Add(24 * time.Hour)} {
			happen("tampered", "slotChanged", at)
		}
		happen("tampered", "a maker's own word", day)
		happen("jammed", "", day)
		happen("lockedByHand", "", day)
		happen("doorOpened", "", day)
		if tampered, jammed := told("lockTampered"), told("lockJammed"); tampered != 3 || jammed != 1 {
			t.Errorf("%d and %d notices, want 3 and 1", tampered, jammed)
		}
		if tampered, jammed := len(s.events("lock.tampered")), len(s.events("lock.jammed")); tampered != 4 || jammed != 1 {
			t.Errorf("%d and %d events, want 4 and 1", tampered, jammed)
		}
	})
}
