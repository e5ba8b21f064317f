package lock_test

import (
	"errors"
	"slices"
	"testing"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/watch"
)

func TestForeignSlotsAreListedAndNotAssigned(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		found := func(what map[int]bool) (freed []lock.EvidenceChange) {
			s.change(func(tx *db.Tx) (err error) {
				freed, err = lock.StoreForeignSlots(tx, s.bridge.ID, s.epoch, "front", what)
				return err
			})
			return freed
		}
		unmanaged := func() (out []int) {
			slots, err := s.db.View(t.Context()).Slot.Query().All(t.Context())
			s.must(err)
			for _, row := range slots {
				if row.Foreign {
					out = append(out, row.Number)
				}
			}
			return out
		}
		mine := s.mustPut(lk, "grt_a", "123456")
		if freed := found(map[int]bool{1: true, 2: true, 3: false, 0: true, 4: true}); len(freed) != 0 {
			t.Errorf("free: %v", freed)
		}
		if got := unmanaged(); len(got) != 1 || got[0] != 2 {
			t.Fatalf("unmanaged: %v, want slot 2 of three: 1 is ours, and there are no others", got)
		}
		s.evidence(mine.ID, slot.Queued)
		if row := s.mustPut(lk, "grt_b", "123457"); row.Number != 3 {
			t.Errorf("a code was put into slot %d", row.Number)
		}
		if _, err := s.put(lk, "grt_c", "123458"); !errors.Is(err, lock.ErrSlotsFull) {
			t.Errorf("with two Latchkey codes and a foreign one: %v", err)
		}
		if again := dbtest.Notified(s.db, func() { found(map[int]bool{1: true, 2: true, 3: false}) }); len(again) > 0 {
			t.Errorf("a report without news notifies %v", again)
		}
		s.clock.Advance(1e9)
		open := s.connect("front")
		if len(open.OutOfSync) != 1 {
			t.Errorf("%d locks differ", len(open.OutOfSync))
		}
		var freed []lock.EvidenceChange
		want := watch.Key{PropertyID: s.propertyID, Topic: watch.Locks, ID: lk.ID}
		if got := dbtest.Notified(s.db, func() { freed = found(map[int]bool{1: false, 2: false}) }); !slices.Contains(got, want) {
			t.Errorf("a freed slot notifies %v", got)
		}
		if len(freed) != 1 || freed[0].Slot.Number != 2 {
			t.Errorf("free: %v, want slot 2", freed)
		}
		if row := s.mustPut(lk, "grt_c", "123458"); row.Number != 2 || row.Generation == 0 {
			t.Errorf("put into slot %d as generation %d", row.Number, row.Generation)
		}
		s.epoch--
		if err := s.db.Write(t.Context(), func(tx *db.Tx) error {
			_, err := lock.StoreForeignSlots(tx, s.bridge.ID, s.epoch, "front", map[int]bool{2: true})
			return err
		}); !errors.Is(err, bridge.ErrSuperseded) {
			t.Errorf("of an older session: %v", err)
		}
	})
}
