package lock_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"latchkey.dev/ent"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

func TestAssignSlotPrefersUnusedThenLongestEmpty(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		var rows []*ent.Slot
		for i, want := range []int{1, 2, 3} {
			row := s.mustPut(lk, "grt_"+string(rune('a'+i)), "123456")
			if diff := cmp.Diff(s.row(row.ID), row, cmpopts.IgnoreUnexported(ent.Slot{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("as stored and as returned:\n%s", diff)
			}
			if row.Number != want || row.Evidence != string(slot.Queued) {
				t.Fatalf("slot %d with evidence %q, want slot %d queued", row.Number, row.Evidence, want)
			}
			rows = append(rows, row)
		}
		if _, err := s.put(lk, "grt_x", "123456"); !errors.Is(err, lock.ErrSlotsFull) {
			t.Fatalf("a fourth code in three slots: %v, want ErrSlotsFull", err)
		}
		for _, i := range []int{2, 0, 1} {
			rows[i] = s.clear(lk, rows[i])
			s.evidence(rows[i].ID, slot.Removing)
			if i == 2 {
				if _, err := s.put(lk, "grt_x", "123456"); !errors.Is(err, lock.ErrSlotsFull) {
					t.Fatalf("a slot that is not known to be empty was given away: %v", err)
				}
			}
			s.clock.Advance(1e9)
			s.report(rows[i], slot.Verified)
		}
		for _, want := range []int{3, 1, 2} {
			row := s.mustPut(lk, "grt_y", "123456")
			if row.Number != want {
				t.Errorf("reused slot %d, want %d", row.Number, want)
			}
			if diff := cmp.Diff(s.row(row.ID), row, cmpopts.IgnoreUnexported(ent.Slot{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("a reused slot as stored and as returned:\n%s", diff)
			}
		}
	})
}

func TestGenerationGrowsAcrossSlotsAndRemovals(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		s.caps.Slots = 1
		last := int64(0)
		for range 3 {
			row := s.mustPut(lk, "grt_a", "123456")
			if row.Generation <= last {
				t.Fatalf("generation %d after %d", row.Generation, last)
			}
			row = s.clear(lk, row)
			s.report(row, slot.Verified)
			last = row.Generation
		}
	})
}

func TestOnlyItsGrantUpdatesASlot(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		row := s.mustPut(lk, "grt_a", "123456")
		s.reportAs(row, slot.Observed{Generation: uint64(row.Generation), Evidence: slot.Failed, Result: slot.Duplicate})
		change := func(row *ent.Slot, grant string) (next *ent.Slot, err error) {
			err = s.db.Write(t.Context(), func(tx *db.Tx) error {
				next, err = lock.UpdateSlot(tx, s.keys, lk, row, s.placeOf(grant, "654321"))
				return err
			})
			return next, err
		}
		if _, err := change(row, "grt_b"); err == nil {
			t.Error("another grant changed the code")
		}
		next, err := change(s.row(row.ID), "grt_a")
		s.must(err)
		if next.Number != row.Number || next.Generation <= row.Generation || next.Evidence != string(slot.Queued) || next.Result != "" {
			t.Errorf("slot %d generation %d evidence %q result %q after slot %d generation %d",
				next.Number, next.Generation, next.Evidence, next.Result, row.Number, row.Generation)
		}
		if _, err := change(row, "grt_a"); !fault.Has(err, fault.UnavailableReason) {
			t.Errorf("a change from what was read before: %v, want a conflict", err)
		}
		back := s.clear(lk, next)
		if taken, err := change(back, "grt_a"); err != nil || !taken.Present {
			t.Errorf("a clear under way was not taken back: %v", err)
		}
	})
}

func TestClearSlotFreesAtOnceOnlyUnsentCodes(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		s.change(func(tx *db.Tx) error { return lock.CloseSession(tx, s.bridge.ID, s.epoch, bridge.Disconnected) })
		row := s.clear(lk, s.mustPut(lk, "grt_a", "123456"))
		s.evidence(row.ID, slot.Removed)
		if row.Pin != nil {
			t.Error("the code is kept")
		}
		open := s.connect("front")
		if len(open.OutOfSync) != 0 {
			t.Error("a slot that was sent to no bridge is sent now")
		}
		row = s.clear(lk, s.mustPut(lk, "grt_b", "123456"))
		s.evidence(row.ID, slot.Removing)
		if again := s.clear(lk, row); again.Generation != row.Generation {
			t.Error("clearing what is being cleared drew another generation")
		}
	})
}

func TestRemovalNeedsTheBestProofOfTheLock(t *testing.T) {
	for _, c := range []struct {
		name     string
		readBack bool
		evidence slot.Evidence
		want     slot.Evidence
	}{
		{"read back", true, slot.Verified, slot.Removed},
		{"said by a lock that can be read", true, slot.Accepted, slot.Removing},
		{"said by a lock that cannot be read", false, slot.Accepted, slot.Removed},
		{"unconfirmed", false, slot.Unconfirmed, slot.Removing},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				s.caps.ReadBack = c.readBack
				lk := s.door()
				row := s.clear(lk, s.mustPut(lk, "grt_a", "123456"))
				s.report(row, c.evidence)
				s.evidence(row.ID, c.want)
				states, err := lock.LoadStates(s.db.View(t.Context()), s.clock.Now(), s.propertyID, []*ent.Lock{lk})
				s.must(err)
				wantFree := 2
				if c.want == slot.Removed {
					wantFree = 3
				}
				if free := states[lk.ID].FreeSlots; free != wantFree {
					t.Errorf("%d slots are free, want %d", free, wantFree)
				}
			})
		})
	}
}

func TestSealedPINIsBoundToItsSlot(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		row := s.mustPut(lk, "grt_a", "004217")
		if bytes.Contains(row.Pin, []byte("004217")) {
			t.Fatal("the row shows the code")
		}
		pin, err := lock.DecryptPIN(t.Context(), s.keys, row)
		s.must(err)
		if string(pin) != "004217" {
			t.Error("the code lost its zeros")
		}
		moved := *row
		moved.Number++
		if _, err := lock.DecryptPIN(t.Context(), s.keys, &moved); err == nil || strings.Contains(err.Error(), "004217") {
			t.Errorf("the code opened elsewhere: %v", err)
		}
	})
}

func TestSlotsAndLocksAreScopedToTheirProperty(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		s.mustPut(lk, "grt_a", "123456")
		view := s.db.View(t.Context())
		if rows, err := lock.SlotsOfGrant(view, "prp_two", "grt_a"); err != nil || len(rows) != 0 {
			t.Errorf("another property sees %d slots, %v", len(rows), err)
		}
		if _, err := lock.Get(s.db.View(t.Context()), "prp_two", lk.ID); !fault.Has(err, fault.LockNotFound) {
			t.Errorf("another property gets the lock: %v", err)
		}
		if _, err := bridge.Get(s.db.View(t.Context()), "prp_two", s.bridge.ID); !fault.Has(err, fault.BridgeNotFound) {
			t.Errorf("another property gets the bridge: %v", err)
		}
		err := s.db.Write(t.Context(), func(tx *db.Tx) error {
			_, err := lock.AssignDoor(tx, "prp_two", lk.ID, "")
			return err
		})
		if !fault.Has(err, fault.LockNotFound) {
			t.Errorf("another property moves the lock: %v", err)
		}
	})
}
