package lock_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

func TestDigestsShowLocksOutOfSync(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		row := s.mustPut(lk, "grt_a", "123456")
		hello := func(rows ...slot.DigestRow) []string {
			open, err := s.greet(s.cert, bridge.Hello{Node: "nod_a"}, lock.LockReport{Address: "front", Digest: slot.LockDigest(rows)})
			s.must(err)
			s.epoch = open.Epoch
			return open.OutOfSync
		}
		if got := hello(); !cmp.Equal(got, []string{lk.ID}) {
			t.Errorf("the bridge knows nothing: stale %v", got)
		}
		seen := slot.Observed{Generation: uint64(row.Generation), Present: true, Evidence: slot.Verified}
		theirs := slot.DigestRow{Slot: 1, Generation: uint64(row.Generation), Observed: seen}
		if got := hello(theirs); len(got) != 1 {
			t.Error("the bridge knows more than it could report: it has to be asked again")
		}
		s.reportAs(row, seen)
		if got := hello(theirs); len(got) != 0 {
			t.Errorf("both know the same: stale %v", got)
		}
		s.mustPut(lk, "grt_b", "123457")
		if got := hello(theirs); len(got) != 1 {
			t.Error("a new code did not make the lock stale")
		}
	})
}

// Staff set read=no for a lock that answers no readings. Its acknowledgements count from then on, also those that came before.
func TestAcknowledgedRemovalCountsOnceTheLockIsNotRead(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		row := s.mustPut(lk, "grt_a", "123456")
		s.report(row, slot.Verified)
		row = s.clear(lk, row)
		s.report(row, slot.Accepted)
		s.evidence(row.ID, slot.Removing)
		theirs := slot.DigestRow{Slot: 1, Generation: uint64(row.Generation), Observed: slot.Observed{Generation: uint64(row.Generation), Evidence: slot.Accepted}}
		hello := func() []string {
			return s.mustGreet(lock.LockReport{Address: "front", Capabilities: &s.caps, Status: &lock.Status{Online: true}, Digest: slot.LockDigest([]slot.DigestRow{theirs})}).OutOfSync
		}
		if got := hello(); len(got) != 0 {
			t.Fatalf("while the lock is read: stale %v", got)
		}
		s.caps.ReadBack = false
		if got := hello(); !slices.Equal(got, []string{lk.ID}) {
			t.Errorf("the bridge is not asked again: stale %v", got)
		}
		if changes := s.report(row, slot.Accepted); len(changes) != 1 {
			t.Errorf("changes: %v", changes)
		}
		s.evidence(row.ID, slot.Removed)
		if free, err := lock.CountFreeSlots(s.db.View(t.Context()), lk); err != nil || free != 3 {
			t.Errorf("%d free slots, %v", free, err)
		}
		if got := hello(); len(got) != 0 {
			t.Errorf("once it is free: stale %v", got)
		}
	})
}

func TestOlderEpochHasNoEffect(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		row := s.mustPut(lk, "grt_a", "123456")
		old := s.epoch
		if next := s.connect("front"); next.Epoch != old+1 {
			t.Fatalf("epoch %d after %d", next.Epoch, old)
		}
		for name, fn := range map[string]func(tx *db.Tx) error{
			"report": func(tx *db.Tx) error {
				_, err := lock.ApplyObservations(tx, s.keys, s.bridge.ID, old, "front", []lock.Observation{{Number: 1, Observed: slot.Observed{Generation: uint64(row.Generation), Present: true, Evidence: slot.Verified}}})
				return err
			},
			"events": func(tx *db.Tx) error {
				_, _, err := lock.StoreEvents(tx, s.bridge.ID, old, []lock.LockEvent{{Sequence: 1, Address: "front", Kind: "opened"}})
				return err
			},
			"locks": func(tx *db.Tx) error {
				_, _, err := lock.ApplyReports(tx, s.bridge.ID, old, []lock.LockReport{{Address: "back"}})
				return err
			},
		} {
			if err := s.db.Write(t.Context(), fn); !errors.Is(err, bridge.ErrSuperseded) {
				t.Errorf("%s of an older epoch: %v", name, err)
			}
		}
		s.change(func(tx *db.Tx) error { return lock.CloseSession(tx, s.bridge.ID, old, bridge.Disconnected) })
		br, err := bridge.Get(s.db.View(t.Context()), s.propertyID, s.bridge.ID)
		s.must(err)
		if !br.Online {
			t.Error("the older session's end marked the newer offline")
		}
		s.evidence(row.ID, slot.Queued)
	})
}

// Stays that got no code may get one when the lock of their door has other capabilities, such as more slots.
func TestOtherCapabilitiesNameTheDoor(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.connect("front", "back")
		locks, _, err := lock.List(s.db.View(t.Context()), s.propertyID, lock.ListFilter{}, 0, 1000)
		s.must(err)
		s.change(func(tx *db.Tx) error {
			if err := tx.Gate.Create().SetID("gat_1").SetPropertyID(s.propertyID).SetName("gate").SetSpaceIds([]string{}).Exec(tx.Context()); err != nil {
				return err
			}
			_, err := lock.AssignDoor(tx, s.propertyID, locks[0].ID, "gat_1")
			return err
		})
		report := func(address string, slots int) (doors []string) {
			caps := s.caps
			caps.Slots = slots
			s.change(func(tx *db.Tx) (err error) {
				_, doors, err = lock.ApplyReports(tx, s.bridge.ID, s.epoch, []lock.LockReport{{Address: address, Capabilities: &caps}})
				return err
			})
			return doors
		}
		on, off := locks[0].Address, locks[1].Address
		for name, tt := range map[string]struct {
			doors, want []string
		}{
			"the same":            {report(on, s.caps.Slots), nil},
			"more slots":          {report(on, 30), []string{"gat_1"}},
			"a lock without door": {report(off, 30), nil},
		} {
			if !slices.Equal(tt.doors, tt.want) {
				t.Errorf("%s: doors %v, want %v", name, tt.doors, tt.want)
			}
		}
		if open := s.connect(on, off); !slices.Equal(open.Doors, []string{"gat_1"}) { // its Hello has the former capabilities
			t.Errorf("a new session names the doors %v", open.Doors)
		}
	})
}

func TestLocksAreDiscoveredUnderTheBridgesPropertyAndGoOffline(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.connect("front", "back")
		locks, _, err := lock.List(s.db.View(t.Context()), s.propertyID, lock.ListFilter{}, 0, 1000)
		s.must(err)
		if len(locks) != 2 || locks[0].PropertyID != s.propertyID || locks[0].Capabilities.Slots != 3 {
			t.Fatalf("locks: %v", locks)
		}
		states := func() map[string]lock.State {
			st, err := lock.LoadStates(s.db.View(t.Context()), s.clock.Now(), s.propertyID, locks)
			s.must(err)
			return st
		}
		if st := states(); !st[locks[0].ID].Online || !st[locks[1].ID].Online {
			t.Errorf("states %v, want both online", st)
		}
		s.connect("front")
		locks, _, err = lock.List(s.db.View(t.Context()), s.propertyID, lock.ListFilter{}, 0, 1000)
		s.must(err)
		if st := states(); !st[locks[0].ID].Online || st[locks[1].ID].Online {
			t.Errorf("states %v, want the lock that was not named offline", st)
		}
		s.clock.Advance(bridge.MaxSilence + time.Second)
		if st := states(); st[locks[0].ID].Online {
			t.Error("a lock is online whose bridge sent no heartbeat for a minute")
		}
		s.change(lock.MarkSilentBridgesOffline)
		br, err := bridge.Get(s.db.View(t.Context()), s.propertyID, s.bridge.ID)
		s.must(err)
		if br.Online || br.OfflineReason != string(bridge.NodeLost) {
			t.Errorf("online %v, reason %q", br.Online, br.OfflineReason)
		}
	})
}

// numbered returns reports about n online locks, the first with the number from.
func (s *site) numbered(from, n int) (reports []lock.LockReport) {
	for i := range n {
		reports = append(reports, lock.LockReport{
			Address: fmt.Sprint("lock ", from+i), Capabilities: &s.caps, Status: &lock.Status{Online: true}, Digest: slot.LockDigest(nil),
		})
	}
	return reports
}

// Replaced locks stay stored. They must not refuse the bridge, and a bridge that invents addresses must not fill the database.
func TestReplacedLocksDoNotRefuseTheBridge(t *testing.T) {
	const atOnce, stored = lock.MaxLocksPerBridge, 4 * lock.MaxLocksPerBridge
	each(t, func(t *testing.T, s *site) {
		for from := 0; from < stored; from += atOnce {
			if open := s.mustGreet(s.numbered(from, atOnce)...); len(open.Locks) != from+atOnce || open.LeftOut != 0 {
				t.Fatalf("from %d: %d locks, %d left out", from, len(open.Locks), open.LeftOut)
			}
		}
		open := s.mustGreet(s.numbered(stored-atOnce/2, atOnce)...)
		if len(open.Locks) != stored || open.LeftOut != atOnce/2 {
			t.Errorf("half are new: %d locks, %d left out", len(open.Locks), open.LeftOut)
		}
		online, err := s.db.View(t.Context()).Lock.Query().All(t.Context())
		s.must(err)
		online = slices.DeleteFunc(online, func(lk *ent.Lock) bool { return !lk.Status.Online })
		if len(online) != atOnce/2 {
			t.Errorf("%d locks are online", len(online))
		}
		err = s.db.Write(t.Context(), func(tx *db.Tx) error {
			_, _, err := lock.ApplyReports(tx, s.bridge.ID, open.Epoch, s.numbered(stored, 1))
			return err
		})
		if !fault.Has(err, fault.TooMany) {
			t.Errorf("a new lock within the session: %v", err)
		}
	})
}

func TestDoorHasOneLock(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		open := s.connect("front", "back")
		s.change(func(tx *db.Tx) error {
			return tx.Gate.Create().SetID("gat_1").SetPropertyID(s.propertyID).SetName("gate").SetSpaceIds([]string{}).Exec(tx.Context())
		})
		assign := func(lockID, door string) error {
			return s.db.Write(t.Context(), func(tx *db.Tx) error {
				_, err := lock.AssignDoor(tx, s.propertyID, lockID, door)
				return err
			})
		}
		s.must(assign(open.Locks[0].ID, "gat_1"))
		s.must(assign(open.Locks[0].ID, "gat_1"))
		if err := assign(open.Locks[1].ID, "gat_1"); !fault.Has(err, fault.InUse) {
			t.Errorf("a second lock on the door: %v", err)
		}
		if err := assign(open.Locks[1].ID, "gat_2"); !fault.Has(err, fault.SpaceNotFound) {
			t.Errorf("a door that is not there: %v", err)
		}
		at, err := lock.LocksByDoor(s.db.View(t.Context()), s.propertyID, []string{"gat_1", "gat_2"})
		s.must(err)
		if len(at) != 1 || at["gat_1"].ID != open.Locks[0].ID {
			t.Errorf("locks at doors: %v", at)
		}
		s.must(assign(open.Locks[0].ID, ""))
		s.must(assign(open.Locks[1].ID, "gat_1"))
	})
}

func (s *site) events(kind string) []*ent.Event {
	s.t.Helper()
	rows, err := s.db.View(s.t.Context()).Event.Query().Where(entevent.PropertyID(s.propertyID), entevent.Kind(kind)).Order(entevent.ByID()).All(s.t.Context())
	s.must(err)
	return rows
}

func TestEventsAreStoredOnceAndInOrder(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		row := s.mustPut(lk, "grt_a", "123456")
		s.report(row, slot.Verified)
		batch := []lock.LockEvent{
			{Sequence: 1, Address: "front", Kind: "opened", Slot: 1, Generation: row.Generation - 1, OccurredAt: start},
			{Sequence: 2, Address: "front", Kind: "denied", Reason: "unknownCode", OccurredAt: start},
			{Sequence: 3, Address: "nowhere", Kind: "opened"},
			{Sequence: 4, Address: "front", Kind: "somethingNew"},
			{Sequence: 5, Address: "front", Kind: "opened", Slot: 1, Generation: row.Generation, OccurredAt: start.Add(time.Hour)},
		}
		send := func(batch []lock.LockEvent) (stored int64, learned []lock.EvidenceChange) {
			s.change(func(tx *db.Tx) (err error) {
				stored, learned, err = lock.StoreEvents(tx, s.bridge.ID, s.epoch, batch)
				return err
			})
			return stored, learned
		}
		if stored, learned := send(batch[:2]); stored != 2 || len(learned) != 0 {
			t.Errorf("stored up to %d, learned %v: an older code's opening says nothing of the present one", stored, learned)
		}
		stored, learned := send(batch)
		if stored != 5 || len(learned) != 1 || learned[0].After != slot.Used || learned[0].Before != slot.Verified {
			t.Errorf("stored up to %d, learned %+v", stored, learned)
		}
		if stored, learned := send(batch); stored != 5 || len(learned) != 0 {
			t.Errorf("the second time: stored up to %d, learned %v", stored, learned)
		}
		s.evidence(row.ID, slot.Used)
		opened := s.events("door.opened")
		if len(opened) != 2 || len(s.events("door.denied")) != 1 {
			t.Fatalf("%d openings, %d refusals, want 2 and 1", len(opened), len(s.events("door.denied")))
		}
		if opened[0].Body["grantId"] != nil || opened[1].Body["grantId"] != "grt_a" {
			t.Errorf("grants %v, %v", opened[0].Body["grantId"], opened[1].Body["grantId"])
		}
		if at := opened[1].OccurredAt; at.After(s.clock.Now().Add(5 * time.Minute)) {
			t.Errorf("an event of the future was believed: %v", at)
		}
		s.report(row, slot.Verified)
		s.evidence(row.ID, slot.Used)
	})
}
