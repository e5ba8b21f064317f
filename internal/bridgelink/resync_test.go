package bridgelink

import (
	"testing"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/test/bustest"
)

// apart are two nodes connected through a NATS server that a test can stop.
type apart struct {
	*site
	nats        *bustest.Server
	here, there *Node // the bridge's session is there
	bridge      *device
}

func newApart(t *testing.T, pace func(*timings)) *apart {
	t.Helper()
	s := newSite(t, "sqlite")
	pace(&s.pace)
	a := &apart{site: s, nats: bustest.Start(t)}
	connect := func() *bus.Bus {
		b, err := bus.Open(t.Context(), bus.Config{URL: a.nats.URL, PingInterval: 50 * time.Millisecond})
		s.must(err)
		t.Cleanup(func() { s.must(b.Close()) })
		return b
	}
	var address string
	a.here, _ = s.nodeOn("nod_here", connect())
	a.there, address = s.nodeOn("nod_there", connect())
	a.bridge = s.enrol("front")
	a.bridge.connect(address)
	return a
}

// connected waits until both nodes have noticed that the bus is up or down.
func (a *apart) connected(want bool) {
	a.t.Helper()
	a.until("both nodes know of the bus", func() bool {
		return a.here.cfg.Bus.Connected() == want && a.there.cfg.Bus.Connected() == want
	})
}

func (a *apart) delivered(what string) {
	a.t.Helper()
	if d := a.bridge.next().GetLockDelta(); d == nil || d.Address != "front" || len(d.Slots) != 1 {
		a.t.Errorf("%s: %v", what, d)
	}
}

// A wake-up that is lost in a server that hung is resynced once the nodes are connected again.
func TestLostWakeUpIsResyncedAfterReconnect(t *testing.T) {
	a := newApart(t, func(p *timings) { p.busResync = time.Hour })
	a.nats.Freeze()
	a.put(a.here, a.bridge.lock("front"), "grt_a", "123456") // published into the connection that hangs
	a.nats.Kill()
	a.connected(false)
	a.nats.Restart()
	a.delivered("after the reconnect")
}

func TestChangesAreSentWhileTheBusIsDown(t *testing.T) {
	a := newApart(t, func(p *timings) { p.busResync = 20 * time.Millisecond })
	a.nats.Kill()
	a.connected(false)
	a.put(a.here, a.bridge.lock("front"), "grt_a", "123456")
	a.delivered("without the bus")
	a.put(a.here, a.bridge.lock("front"), "grt_b", "123457")
	a.delivered("the next without the bus")
}

// Only the publishing node lost its server. The other node receives the request for a resync.
func TestReconnectedNodeMakesOthersResync(t *testing.T) {
	s := newSite(t, "sqlite")
	here, _ := s.node("nod_here")
	_, address := s.node("nod_there")
	b := s.enrol("front")
	b.connect(address)
	s.change(func(tx *db.Tx) error { // as if the wake-up was lost on its way
		_, err := lock.AssignSlot(tx, s.keys, b.lock("front"), lock.DesiredCode{
			GrantID: "grt_a", DoorID: "spc_1", PIN: "123456", NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour),
		})
		return err
	})
	bus.Signal(here.resyncs.connected)
	if d := b.next().GetLockDelta(); d == nil {
		t.Error("the other node did not look")
	}
}

func TestCommandToAnotherNodeIsRefusedAtOnceWithoutTheBus(t *testing.T) {
	a := newApart(t, func(p *timings) { p.busResync = time.Hour })
	lockID := a.bridge.lock("front").ID
	store := func() (o lock.UnlockCommand, err error) {
		err = a.db.Write(t.Context(), func(tx *db.Tx) (err error) {
			o, err = lock.StoreCommand(tx, a.here.Self(), a.propertyID, lockID, "staff:x", time.Now().Add(10*time.Second))
			return err
		})
		return o, err
	}
	late, err := store()
	a.must(err)
	a.nats.Kill()
	a.connected(false)
	if _, err := store(); !fault.Has(err, fault.NodeUnreachable) {
		t.Errorf("not stored because of: %v", err)
	}
	a.here.CountUnsent(lock.ErrNodeUnreachable)
	// The bus went away between storing and sending.
	_, err = a.here.SendCommand(t.Context(), late)
	f, _ := fault.Of(err)
	if f == nil || f.Reason != fault.NodeUnreachable || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
		t.Errorf("not sent because of: %v", err)
	}
	if n := counted(t, a.here.counters.refused.WithLabelValues(nodeUnreachable)); n != 2 {
		t.Errorf("%v refusals are counted, want 2", n)
	}
	rows, err := a.db.View(t.Context()).Act.Query().All(t.Context())
	a.must(err)
	if len(rows) != 1 || rows[0].State != lock.CommandExpired {
		t.Errorf("acts: %v", rows)
	}
	if _, err := a.here.Greet(t.Context(), a.propertyID, "nod_there", a.bridge.id); !fault.Has(err, fault.NodeUnreachable) {
		t.Errorf("a greeting: %v", err)
	}
	// The bridge's own node needs no bus.
	done := a.unlocking(a.there, lockID, 5*time.Second)
	a.bridge.acted(a.bridge.act().Id, lock.CommandDone)
	if r := <-done; r.err != nil || r.out.State != lock.CommandDone {
		t.Errorf("by the bridge's own node: %+v", r)
	}
}

// A database that was restored to an older state does not know what the bridge reports: the session sends the slots again.
func TestForgottenGenerationsAreIssuedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n, address := s.node("nod_a")
		b := s.enrol("front")
		b.connect(address)
		s.put(n, b.lock("front"), "grt_a", "123456")
		known := b.next().GetLockDelta().Slots[0]
		forgotten := known.Generation + 1_000_000
		b.report("front", &lockv1.DesiredSlot{Slot: 1, Generation: forgotten, Present: true}, &lockv1.DesiredSlot{Slot: 2, Generation: forgotten, Present: true})
		sent := map[uint32]*lockv1.DesiredSlot{}
		for len(sent) < 2 {
			for _, d := range b.next().GetLockDelta().GetSlots() {
				sent[d.Slot] = d
			}
		}
		pins := pinseal.Opener{Private: b.seal}
		pin, err := pins.Open(pinseal.Target{Address: "front", Slot: 1, Generation: int64(sent[1].Generation)}, sent[1].SealedPin)
		if err != nil || pin != "123456" || sent[1].Generation <= forgotten {
			t.Errorf("slot 1: generation %d after %d, error %v", sent[1].Generation, forgotten, err)
		}
		if d := sent[2]; d.Present || d.Generation <= forgotten {
			t.Errorf("slot 2, which the database does not know: %v, want its removal", d)
		}
	})
}
