package bridgelink

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/dbtest"
)

func TestCodeIsSentAndEvidenceIsStored(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			s := newSite(t, engine)
			n, address := s.node("nod_a")
			b := s.enrol("front", "back")
			if w := b.connect(address); w.Epoch == 0 || w.ServerTime == nil || w.HeartbeatSeconds == 0 {
				t.Errorf("welcome %v", w)
			}
			row := s.put(n, b.lock("front"), "grt_a", "004217")
			d := b.next().GetLockDelta()
			if d == nil || d.Address != "front" || len(d.Slots) != 1 || !d.Slots[0].Present {
				t.Fatalf("delta %v", d)
			}
			at := pinseal.Target{Address: "front", Slot: int(d.Slots[0].Slot), Generation: int64(d.Slots[0].Generation)}
			pins := pinseal.Opener{Private: b.seal}
			if pin, err := pins.Open(at, d.Slots[0].SealedPin); err != nil || pin != "004217" {
				t.Errorf("the code does not open on the bridge: %v", err)
			}
			b.report("front", d.Slots...)
			l := s.learn()
			if l.Slot.ID != row.ID || l.Before != slot.Queued || l.After != slot.Verified {
				t.Errorf("learned %s %s to %s", l.Slot.ID, l.Before, l.After)
			}
			b.connect(address) // as if started from an older copy of its store
			again := b.next().GetLockSnapshot().GetSlots()
			if first := d.Slots[0]; len(again) != 1 || first.ReportedGeneration != 0 || again[0].ReportedGeneration != first.Generation {
				t.Errorf("reported generations: %v, then %v", d.Slots, again)
			}
		})
	}
}

// afterReport is the digest of a lock with one verified slot.
func afterReport(number uint32, generation uint64) []byte {
	d := slot.LockDigest([]slot.DigestRow{{Slot: number, Generation: generation, Observed: slot.Observed{
		Generation: generation, Present: true, Evidence: slot.Verified,
	}}})
	return d[:]
}

func TestOnlyLocksWithADifferentDigestAreResynced(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n, address := s.node("nod_a")
		b := s.enrol("front", "back")
		b.connect(address)
		row := s.put(n, b.lock("front"), "grt_a", "123456")
		d := b.next().GetLockDelta()
		b.report("front", d.Slots...)
		s.learn()
		back := s.put(n, b.lock("back"), "grt_b", "123457")
		b.next()

		b.locks[0].Digest = afterReport(1, uint64(row.Generation))
		b.connect(address)
		snap := b.next().GetLockSnapshot()
		if snap == nil || snap.Address != "back" || len(snap.Slots) != 1 || snap.Slots[0].Generation != uint64(back.Generation) {
			t.Fatalf("after reconnecting: %v, want the snapshot of back", snap)
		}
		s.put(n, b.lock("front"), "grt_c", "123458")
		if d := b.next().GetLockDelta(); d == nil || d.Address != "front" || len(d.Slots) != 1 || d.Slots[0].Slot != 2 {
			t.Errorf("then %v, want the new slot of front alone", d)
		}
	})
}

func TestSeveralChangesBecomeOneMessage(t *testing.T) {
	s := newSite(t, "sqlite")
	n, address := s.node("nod_a")
	b := s.enrol("front")
	b.connect(address)
	lk := b.lock("front")
	last := s.put(n, lk, "grt_0", "123456")
	for range 20 {
		s.write(n, func(tx *db.Tx) (err error) {
			last, err = lock.UpdateSlot(tx, s.keys, lk, last, lock.DesiredCode{GrantID: "grt_0", PIN: "123456"})
			return err
		})
	}
	count := 0
	for generation := uint64(0); generation != uint64(last.Generation); count++ {
		d := b.next().GetLockDelta()
		if len(d.GetSlots()) != 1 || d.Slots[0].Generation <= generation {
			t.Fatalf("delta %v after generation %d", d, generation)
		}
		generation = d.Slots[0].Generation
	}
	if count > 21 {
		t.Errorf("%d messages for 21 changes", count)
	}
}

func TestMessageOutOfOrderEndsTheSession(t *testing.T) {
	s := newSite(t, "sqlite")
	_, address := s.node("nod_a")
	b := s.enrol("front")
	twice := &lockv1.LockHello{Address: "front"}
	many := make([]*lockv1.LockHello, lock.MaxLocksPerBridge+1)
	for i := range many {
		many[i] = &lockv1.LockHello{Address: fmt.Sprint("lock ", i)}
	}
	for name, first := range map[string]*lockv1.ConnectRequest{
		"heartbeat first":  {Kind: &lockv1.ConnectRequest_Heartbeat{Heartbeat: &lockv1.Heartbeat{}}},
		"nothing first":    {},
		"hello with epoch": {Epoch: 1, Kind: &lockv1.ConnectRequest_Hello{Hello: &lockv1.Hello{ProtocolVersion: 1}}},
		"another version":  {Kind: &lockv1.ConnectRequest_Hello{Hello: &lockv1.Hello{ProtocolVersion: 2}}},
		"a lock twice":     {Kind: &lockv1.ConnectRequest_Hello{Hello: &lockv1.Hello{ProtocolVersion: 1, Locks: []*lockv1.LockHello{twice, twice}}}},
		"too many locks":   {Kind: &lockv1.ConnectRequest_Hello{Hello: &lockv1.Hello{ProtocolVersion: 1, Locks: many}}},
		"no address":       {Kind: &lockv1.ConnectRequest_Hello{Hello: &lockv1.Hello{ProtocolVersion: 1, Locks: []*lockv1.LockHello{{}}}}},
	} {
		b.open(address)
		b.send(first)
		if why, err := b.end(); why != "outOfOrder" || status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %q, %v", name, why, err)
		}
	}
	b.connect(address)
	b.say(&lockv1.ConnectRequest{}) // a kind of a later version
	b.send(b.hello())
	if why, _ := b.end(); why != "outOfOrder" {
		t.Errorf("hello twice: %q", why)
	}
	s.until("offline, out of order", func() bool { r := b.row(); return !r.Online && r.OfflineReason == "outOfOrder" })
}

func TestNewerSessionSupersedesOlder(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n, here := s.node("nod_a")
		_, there := s.node("nod_b")
		b := s.enrol("front")
		b.connect(here)
		row := s.put(n, b.lock("front"), "grt_a", "123456")
		d := b.next().GetLockDelta()
		for i, address := range []string{here, there, here} {
			old := *b
			if w := b.connect(address); w.Epoch <= old.epoch {
				t.Fatalf("epoch %d after %d", w.Epoch, old.epoch)
			}
			old.report("front", d.Slots...)
			if why, err := old.end(); why != "superseded" || status.Code(err) != codes.Aborted {
				t.Errorf("takeover %d: the older session ended with %q, %v", i, why, err)
			}
			if r := b.row(); !r.Online || r.Epoch != int64(b.epoch) {
				t.Errorf("takeover %d: online %v under epoch %d, want %d", i, r.Online, r.Epoch, b.epoch)
			}
			if snap := b.next().GetLockSnapshot(); snap == nil || snap.Slots[0].Generation != uint64(row.Generation) {
				t.Errorf("takeover %d: %v, want the snapshot: nothing of the older session counted", i, snap)
			}
		}
		s.put(n, b.lock("front"), "grt_b", "123457")
		if d := b.next().GetLockDelta(); d == nil {
			t.Error("the session that took over is not woken")
		}
	})
}

func TestReportUnderAnotherEpochHasNoEffect(t *testing.T) {
	s := newSite(t, "sqlite")
	n, address := s.node("nod_a")
	b := s.enrol("front")
	b.connect(address)
	s.put(n, b.lock("front"), "grt_a", "123456")
	d := b.next().GetLockDelta()
	b.epoch--
	b.report("front", d.Slots...)
	b.epoch += 2
	b.report("front", d.Slots...)
	b.epoch--
	d.Slots[0].Present = false
	b.report("front", d.Slots...)
	if l := s.learn(); s.slotRow(l).SeenPresent {
		t.Error("a report under another epoch came first")
	}
}

func TestRevocationEndsTheSession(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("wake-up lost: %v", lost), func(t *testing.T) {
			s := newSite(t, "sqlite")
			s.pace.revokedCheck = 20 * time.Millisecond
			n, address := s.node("nod_a")
			b := s.enrol("front")
			b.connect(address)
			if lost {
				n = nil
			}
			s.write(n, func(tx *db.Tx) error {
				_, err := bridge.Revoke(tx, s.propertyID, b.id, lock.MarkLinksLost)
				return err
			})
			if why, err := b.end(); why != "revoked" || status.Code(err) != codes.PermissionDenied {
				t.Errorf("the session ended with %q, %v", why, err)
			}
			b.open(address)
			b.send(b.hello())
			if why, err := b.end(); why != "revoked" && status.Code(err) != codes.PermissionDenied {
				t.Errorf("a revoked bridge was let in: %q, %v", why, err)
			}
		})
	}
}

// The row of a bridge is gone when its property was deleted.
func TestDeletionEndsTheSession(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("wake-up lost: %v", lost), func(t *testing.T) {
			s := newSite(t, "sqlite")
			s.pace.heartbeat = time.Hour
			if lost {
				s.pace.heartbeat = 20 * time.Millisecond
			}
			n, address := s.node("nod_a")
			b := s.enrol("front")
			b.connect(address)
			if lost {
				n = nil
			}
			s.write(n, func(tx *db.Tx) error {
				for _, table := range []string{"slots", "locks", "bridges"} {
					if _, err := tx.ExecContext(tx.Context(), "DELETE FROM "+table+" WHERE property_id = $1", s.propertyID); err != nil {
						return err
					}
				}
				tx.Notify(bridge.Changed, b.id)
				return nil
			})
			if why, err := b.end(); why != "revoked" || status.Code(err) != codes.PermissionDenied {
				t.Errorf("the session ended with %q, %v", why, err)
			}
		})
	}
}

func TestSilentBridgeIsDisconnected(t *testing.T) {
	s := newSite(t, "sqlite")
	s.pace.silence, s.pace.heartbeat = 300*time.Millisecond, 20*time.Millisecond
	_, address := s.node("nod_a")
	b := s.enrol("front")
	b.connect(address)
	for range 3 {
		if b.next().GetHeartbeat().GetClock() == nil {
			t.Fatal("not a heartbeat with a clock")
		}
		b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Heartbeat{Heartbeat: &lockv1.Heartbeat{}}})
	}
	if why, err := b.end(); why != "" || status.Code(err) != codes.Unavailable {
		t.Errorf("a silent session ended with %q, %v", why, err)
	}
	s.until("offline, no heartbeat", func() bool { r := b.row(); return !r.Online && r.OfflineReason == "noHeartbeat" })
}

func TestMissingHelloEndsTheStream(t *testing.T) {
	s := newSite(t, "sqlite")
	s.pace.hello = 50 * time.Millisecond
	_, address := s.node("nod_a")
	b := s.enrol("front")
	b.open(address)
	if _, err := b.end(); status.Code(err) != codes.Unavailable {
		t.Errorf("a stream without Hello ended with %v", err)
	}
}

func TestBridgeThatDoesNotReadIsDisconnected(t *testing.T) {
	s := newSite(t, "sqlite")
	s.pace.stall, s.pace.slotSweep = 100*time.Millisecond, 10*time.Millisecond
	_, address := s.node("nod_a")
	b := s.enrol("front")
	b.connect(address)
	lk := b.lock("front")
	s.change(func(tx *db.Tx) error {
		for i := range 250 {
			if _, err := lock.AssignSlot(tx, s.keys, lk, lock.DesiredCode{GrantID: fmt.Sprint("grt_", i), PIN: "123456", NotAfter: time.Now()}); err != nil {
				return err
			}
		}
		return nil
	})
	b.conn = b.dial(address)
	stream, err := lockv1.NewBridgeServiceClient(b.conn).Connect(t.Context())
	s.must(err)
	s.must(stream.Send(b.hello()))
	s.until("dropped as too slow", func() bool { r := b.row(); return !r.Online && r.OfflineReason == "tooSlow" })
	_ = b.conn.Close()
}

func TestDrainDisconnectsEveryBridgeAndRefusesNewOnes(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n, address := s.node("nod_a")
		bridges := []*device{s.enrol("a"), s.enrol("b"), s.enrol("c")}
		for _, b := range bridges {
			b.connect(address)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		n.Drain(ctx, 50*time.Millisecond)
		if ctx.Err() != nil {
			t.Fatal("drain did not end")
		}
		for _, b := range bridges {
			if b.next().GetDrain() == nil {
				t.Error("a bridge was not asked to leave")
			}
			if why, err := b.end(); why != "shuttingDown" || status.Code(err) != codes.Unavailable {
				t.Errorf("ended with %q, %v", why, err)
			}
			if r := b.row(); r.Online || r.OfflineReason != "shuttingDown" {
				t.Errorf("online %v, reason %q", r.Online, r.OfflineReason)
			}
		}
		b := bridges[0]
		b.open(address)
		if _, err := b.end(); status.Code(err) != codes.Unavailable {
			t.Errorf("let in while draining: %v", err)
		}
	})
}

func TestSweepResendsUnreportedSlots(t *testing.T) {
	s := newSite(t, "sqlite")
	s.pace.slotSweep = 50 * time.Millisecond
	_, address := s.node("nod_a")
	b := s.enrol("front")
	b.connect(address)
	lk := b.lock("front")
	s.change(func(tx *db.Tx) error { // its wake-up is lost
		_, err := lock.AssignSlot(tx, s.keys, lk, lock.DesiredCode{GrantID: "grt_a", PIN: "123456"})
		return err
	})
	for range 2 {
		if snap := b.next().GetLockSnapshot(); snap == nil || len(snap.Slots) != 1 {
			t.Fatalf("got %v", snap)
		}
	}
}

func TestNewLockIsStoredAndSynced(t *testing.T) {
	s := newSite(t, "sqlite")
	n, address := s.node("nod_a")
	b := s.enrol("front")
	b.connect(address)
	b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_LockReport{LockReport: &lockv1.LockReport{
		Address: "attic", Capabilities: b.locks[0].Capabilities, Status: b.locks[0].Status, Model: "sim\x00 lock",
	}}})
	if snap := b.next().GetLockSnapshot(); snap.GetAddress() != "attic" {
		t.Fatalf("got %v, want the new lock", snap)
	}
	lk := b.lock("attic")
	if lk.Model != "sim lock" || lk.PropertyID != s.propertyID {
		t.Errorf("the lock is %+v", lk)
	}
	s.put(n, lk, "grt_a", "123456")
	if snap := b.next().GetLockSnapshot(); snap == nil || len(snap.Slots) != 1 {
		t.Errorf("got %v", snap)
	}
}
