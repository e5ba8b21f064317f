package agent

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/zigbee2mqtt"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/z2mtest"
)

// brief shortens the lifetime of operations, so that a test can wait for its end.
type brief struct{ driver.Driver }

func (d brief) Locks(ctx context.Context) ([]driver.Lock, error) {
	locks, err := d.Driver.Locks(ctx)
	for i := range locks {
		locks[i] = briefLock{locks[i]}
	}
	return locks, err
}

type briefLock struct{ driver.Lock }

func (l briefLock) Capabilities() slot.Capabilities {
	c := l.Lock.Capabilities()
	c.OpLifetime = time.Second
	return c
}

// Test over a real broker: a stay's code is set on a Zigbee lock and opens it. After a person clears it at the lock, it is set again. At
// the end of the stay it is removed.
func TestZigbeeLock(t *testing.T) {
	const front = "0x00158d0000000001"
	broker := z2mtest.StartBroker(t)
	z2m := z2mtest.Start(t, broker, "zigbee2mqtt", z2mtest.Lock{Address: front, Name: "front", Users: 21, ReportsSuccessTimes: true, ExposePIN: true})
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	drv, err := zigbee2mqtt.New(zigbee2mqtt.Config{URL: "mqtt://" + broker.Addr, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	st, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.resetTo(identity{BridgeID: "brg_1"}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b, err := New(ctx, Config{Dir: dir, Driver: brief{drv}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- b.runLocks(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	until := func(what string, is func() bool) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for end := time.After(patience); !is(); {
			select {
			case <-tick.C:
			case <-end:
				t.Fatal("gave up waiting for ", what)
			}
		}
	}
	observed := func() slot.Observed {
		b.outbox.mu.Lock()
		defer b.outbox.mu.Unlock()
		for _, r := range b.outbox.rows[front] {
			return r.Observed
		}
		return slot.Observed{}
	}
	want := func(d slot.Desired) {
		b.workers[front].enqueue(ctx, []slot.Event{{Kind: slot.DesiredChanged, Slot: 4, Desired: d}})
	}
	d := stay("048151", -time.Hour, time.Hour)
	d.Generation = 1
	want(d)
	until("verified", func() bool { return observed().Evidence == slot.Verified })
	if !z2m.TypePIN(front, "048151") || z2m.TypePIN(front, "48151") {
		t.Error("the code does not open, or opens without its zero")
	}
	z2m.Program(front, 4, "")
	until("put back", func() bool { return z2m.PINs(front)[4] == "048151" })
	want(slot.Desired{Generation: 2, Intent: slot.Absent})
	until("removed", func() bool { o := observed(); return o.Generation == 2 && o.Evidence == slot.Verified && !o.Present })
	if z2m.TypePIN(front, "048151") {
		t.Error("opens after its removal")
	}
	until("journaled", func() bool {
		events, err := b.store.entriesAfter(0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var opened, tampered, denied bool
		for _, e := range events {
			opened = opened || (e.Kind == "opened" && e.Slot == 4 && e.Generation == 1)
			tampered = tampered || (e.Kind == "tampered" && e.Slot == 4)
			denied = denied || e.Kind == "denied"
		}
		return opened && tampered && denied
	})
}
