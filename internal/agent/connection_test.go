package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/zigbee2mqtt"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/z2mtest"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

const zigbeeFront = "0x00158d0000000001"

// startZigbee runs the rig's bridge with a driver for the broker, as the command run does.
func (r *rig) startZigbee(broker *z2mtest.Broker) {
	r.t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	drv, err := zigbee2mqtt.New(zigbee2mqtt.Config{URL: "mqtt://" + broker.Addr, Log: log})
	if err != nil {
		r.t.Fatal(err)
	}
	b, err := Open(Config{Dir: r.dir, Driver: drv, Log: log, Software: "test/1"})
	if err != nil {
		r.t.Fatal(errors.Join(err, drv.Close()))
	}
	b.timings = r.pace
	r.bridge = b
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	r.stop = func() {
		r.stop = func() {}
		cancel()
		if err := errors.Join(<-done, b.Close()); err != nil {
			r.t.Error(err)
		}
	}
}

// healthUntil asks the bridge until its answer is as wanted.
func (r *rig) healthUntil(what string, is func(Health) bool) (h Health) {
	r.t.Helper()
	waitFor(r.t, what, func() (err error) {
		if h, err = AskHealth(r.t.Context(), r.dir); err == nil && !is(h) {
			err = fmt.Errorf("%+v", h)
		}
		return err
	})
	return h
}

func TestBridgeAnswersWhileItWaitsForItsBroker(t *testing.T) {
	broker := z2mtest.StartBroker(t)
	broker.Stop()
	r := enrolledRig(t, newService(t))
	r.startZigbee(broker)
	h := r.healthUntil("the refused connection", func(h Health) bool {
		return h.Connection != nil && strings.Contains(h.Connection.Detail, "connection refused")
	})
	if h.Ready || h.BridgeID != "brg_1" || h.Connection.Cause != slot.BrokerUnreachable || h.Connection.Since.IsZero() || !strings.Contains(h.Connection.Detail, broker.Addr) {
		t.Errorf("%+v, %+v", h, *h.Connection)
	}
	got := findings(t, r.dir)
	if f, ok := got["enrolment"]; ok {
		t.Errorf("doctor doubts the enrolment: %+v", f)
	}
	if f := got["driver"]; f.OK || !strings.Contains(f.Detail, "connection refused") || !strings.Contains(f.Advice, "broker") {
		t.Errorf("%+v", f)
	}
	broker.Start()
	z2mtest.Start(t, broker, "zigbee2mqtt", z2mtest.Lock{Address: zigbeeFront, Name: "room 101", Users: 21, ReportsSuccessTimes: true})
	h = r.healthUntil("the locks", func(h Health) bool { return h.Ready })
	if h.Connection.Cause != "" || len(h.Locks) != 1 || h.Locks[0].Name != "room 101" {
		t.Errorf("%+v, %+v", h, *h.Connection)
	}
	if k := r.service.next(); len(k.hello.GetLocks()) != 1 || k.hello.GetLocks()[0].GetStatus().GetName() != "room 101" {
		t.Errorf("%+v", k.hello)
	}
}

func TestBridgeStopsWhileItWaitsForItsBroker(t *testing.T) {
	broker := z2mtest.StartBroker(t)
	broker.Stop()
	r := enrolledRig(t, newService(t))
	r.startZigbee(broker)
	r.healthUntil("an answer", func(h Health) bool { return !h.Ready })
	r.stop()
	if _, err := AskHealth(t.Context(), r.dir); err != ErrNotRunning {
		t.Errorf("after its end: %v", err)
	}
}

// status waits until the server receives a status of a lock.
func (k *talk) status(what string, is func(*lockv1.LockStatus) bool) {
	k.t.Helper()
	until(k, func(m *lockv1.ConnectRequest) (string, bool) {
		s := m.GetLockReport().GetStatus()
		return what, s != nil && is(s)
	})
}

// What a lock publishes, a rename and the loss of the broker are known at once, not at the next reading a minute later.
func TestDriverUpdatesAreReportedAtOnce(t *testing.T) {
	broker := z2mtest.StartBroker(t)
	z2m := z2mtest.Start(t, broker, "zigbee2mqtt", z2mtest.Lock{Address: zigbeeFront, Name: "front", Users: 21, ReportsSuccessTimes: true})
	r := enrolledRig(t, newService(t))
	r.startZigbee(broker)
	k := r.service.next()
	k.welcome(1, 0)
	r.healthUntil("the locks", func(h Health) bool { return h.Ready })
	bolt := func(is string) func(Health) bool {
		return func(h Health) bool {
			z2m.Report(zigbeeFront, map[string]any{"lock_state": is})
			return h.Locks[0].Bolt == is
		}
	}
	r.healthUntil("unlocked", bolt("unlocked"))
	r.healthUntil("locked", bolt("locked"))
	k.status("locked", func(s *lockv1.LockStatus) bool { return s.GetBolt() == "locked" })
	z2m.Rename(zigbeeFront, "room 102")
	k.status("renamed", func(s *lockv1.LockStatus) bool { return s.GetName() == "room 102" })
	broker.Stop()
	k.status("offline", func(s *lockv1.LockStatus) bool {
		return !s.GetOnline() && s.GetOfflineCause() == slot.BrokerUnreachable
	})
	h := r.healthUntil("offline", func(h Health) bool { return !h.Locks[0].Online })
	if h.Locks[0].OfflineCause != slot.BrokerUnreachable || h.Connection.Cause != slot.BrokerUnreachable {
		t.Errorf("%+v", h)
	}
	if f := findings(t, r.dir)["driver"]; f.OK || !strings.Contains(f.Detail, broker.Addr) {
		t.Errorf("%+v", f)
	}
	z2m.Stop()
	broker.Start()
	z2m.Connect()
	k.status("back", func(s *lockv1.LockStatus) bool { return s.GetOnline() && s.GetOfflineCause() == "" })
}

func TestAskHealthOfASilentBridge(t *testing.T) {
	r := enrolledRig(t, newService(t))
	st, err := openStore(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 3*healthRetry)
	defer cancel()
	if _, err := AskHealth(ctx, r.dir); !errors.Is(err, ErrInUse) {
		t.Errorf("%v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 3*healthRetry)
	defer cancel()
	for _, f := range Examine(ctx, r.dir) {
		if strings.Contains(f.Advice, "enroll") || strings.Contains(f.Advice, "join code") {
			t.Errorf("%+v", f)
		}
		if f.What == "running" && (f.OK || !strings.Contains(f.Detail, "a bridge runs on this directory")) {
			t.Errorf("%+v", f)
		}
	}
}

// A store that this user may not read is no reason to enrol again.
func TestDirectoryWithoutReadPermission(t *testing.T) {
	if os.Getuid() == 0 {
		f := examineEnrolment("bridge", fmt.Errorf("bridge.db: %w", os.ErrPermission))
		if f.OK || strings.Contains(f.Advice, "enroll") || !strings.Contains(f.Advice, "sudo -u") {
			t.Errorf("%+v", f)
		}
		return
	}
	r := enrolledRig(t, newService(t))
	if err := os.Chmod(r.dir, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(r.dir, 0o700) }()
	for _, f := range Examine(t.Context(), r.dir) {
		if strings.Contains(f.Advice, "enroll") {
			t.Errorf("%+v", f)
		}
	}
}

func TestSettingsAreStored(t *testing.T) {
	r := enrolledRig(t, newService(t))
	if raw, err := LastSettings(r.dir); raw != nil || err != nil {
		t.Errorf("before the first run: %s, %v", raw, err)
	}
	for _, settings := range []string{`{"driver":"a"}`, `{"driver":"b"}`, ""} {
		c := Config{Dir: r.dir, Driver: r.locks.Driver(), Log: slog.New(slog.DiscardHandler)}
		if settings != "" {
			c.Settings = []byte(settings)
		}
		b, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.store.Close(); err != nil {
			t.Fatal(err)
		}
		raw, err := LastSettings(r.dir)
		if want := settings; err != nil || want != "" && string(raw) != want || want == "" && string(raw) != `{"driver":"b"}` {
			t.Errorf("%s, %v, want %q", raw, err, want)
		}
	}
	if _, err := LastSettings(filepath.Join(t.TempDir(), "none")); !errors.Is(err, errNotEnrolled) {
		t.Errorf("%v", err)
	}
}

// A slot that was read and is empty holds no code.
func TestOnlySlotsWithACodeCountAsCodes(t *testing.T) {
	r := newRig(t)
	k := r.service.next()
	k.welcome(1, 0)
	k.snapshot(1, "front", r.desired("front", 1, 1, "048151"), r.desired("front", 2, 1, ""))
	k.observedAs(1, 1, "verified")
	h := r.healthUntil("both slots", func(h Health) bool {
		return len(h.Locks) == 1 && len(h.Locks[0].Changing) == 0 && h.Locks[0].EmptySlots == 1
	})
	if l := h.Locks[0]; len(l.Codes) != 1 || l.Codes[slot.Verified] != 1 {
		t.Errorf("%+v", l)
	}
}

func TestSlotsToReadWhenALockReconnects(t *testing.T) {
	on, off, cut := driver.Status{Online: true}, driver.Status{Bolt: "unknown"}, driver.Status{OfflineCause: slot.BrokerUnreachable}
	for _, tt := range []struct {
		name  string
		was   driver.Status
		now   driver.Status
		away  time.Duration
		older time.Duration
		back  bool
	}{
		{"the lock was gone", off, on, time.Second, 0, true},
		{"the broker was gone for a moment", cut, on, time.Second, recentlyRead, true},
		{"the broker was gone for long", cut, on, time.Hour, 0, true},
		{"online as before", on, on, 0, 0, false},
		{"gone", on, cut, 0, 0, false},
	} {
		if older, back := slotsToRead(tt.was, tt.now, tt.away); older != tt.older || back != tt.back {
			t.Errorf("%s: older than %v, %v", tt.name, older, back)
		}
	}
}
