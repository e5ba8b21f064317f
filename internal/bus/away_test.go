package bus_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/prometheus/client_golang/prometheus"

	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/test/bustest"
	"latchkey.dev/internal/test/logtest"
)

// until polls until holds returns true.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

// echo reports whether a request is answered. A request that is sent while the connection breaks is lost.
func echo(t *testing.T, b *bus.Bus) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	got, err := b.Request(ctx, "echo", []byte("x"))
	return err == nil && string(got) == "x"
}

func respond(t *testing.T, b *bus.Bus) {
	t.Helper()
	_, err := b.Respond("echo", func(_ context.Context, m bus.Message) ([]byte, error) { return m.Payload, nil })
	if err != nil {
		t.Fatal(err)
	}
}

func TestStartsWithoutAServerAndConnectsLater(t *testing.T) {
	s := bustest.Reserve(t)
	b := open(t, bus.Config{URL: s.URL})
	connects := make(chan struct{}, 100)
	b.OnConnect(func() { connects <- struct{}{} })
	respond(t, b) // comes into force with the connection
	if b.Connected() {
		t.Error("connected to nothing")
	}
	if _, err := b.Request(t.Context(), "echo", nil); !errors.Is(err, bus.ErrNotConnected) {
		t.Errorf("a request without a server: %v", err)
	}
	s.Restart()
	<-connects
	until(t, "a request is answered", func() bool { return echo(t, b) })
}

// The log says why no server was there at the start, because a retry does not help against a wrong setting.
func TestStartLogsWhyNoServerAccepts(t *testing.T) {
	open := func(o server.Options) string {
		o.Host, o.Port, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
		return startServerWith(t, &o)
	}
	for name, tt := range map[string]struct{ url, want string }{
		"login":        {open(server.Options{Username: "a", Password: "b"}), "Authorization Violation"},
		"no TLS there": {strings.Replace(open(server.Options{}), "nats://", "tls://", 1), "secure connection not available"},
		"none":         {bustest.Reserve(t).URL, "no servers available"},
	} {
		t.Run(name, func(t *testing.T) {
			var log logtest.Buffer
			b, err := bus.Open(t.Context(), bus.Config{URL: tt.url, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if !strings.Contains(log.String(), tt.want) {
				t.Errorf("the log does not name %q:\n%s", tt.want, log.String())
			}
		})
	}
}

func TestReconnects(t *testing.T) {
	s := bustest.Start(t)
	b := open(t, bus.Config{URL: s.URL})
	respond(t, b)
	until(t, "a request is answered", func() bool { return echo(t, b) })
	connects := make(chan struct{}, 100)
	b.OnConnect(func() { connects <- struct{}{} })
	s.Kill()
	until(t, "the loss is noticed", func() bool { return !b.Connected() })
	s.Restart()
	<-connects
	until(t, "a request is answered again", func() bool { return echo(t, b) })
}

// A server that hangs keeps its connections open: only unanswered pings reveal it.
func TestHungServerIsDropped(t *testing.T) {
	s := bustest.Start(t)
	r := prometheus.NewRegistry()
	b := open(t, bus.Config{URL: s.URL, PingInterval: 50 * time.Millisecond, Metrics: r})
	respond(t, b)
	until(t, "a request is answered", func() bool { return echo(t, b) })
	if v := metric(t, r, "latchkey_bus_connected"); v != 1 {
		t.Errorf("connected: %v", v)
	}
	s.Freeze()
	until(t, "the server that hangs is dropped", func() bool { return !b.Connected() })
	if v := metric(t, r, "latchkey_bus_connected"); v != 0 {
		t.Errorf("connected to a server that hangs: %v", v)
	}
	if _, err := b.Request(t.Context(), "echo", nil); !errors.Is(err, bus.ErrNotConnected) {
		t.Errorf("a request meanwhile: %v", err)
	}
	s.Thaw()
	until(t, "a request is answered again", func() bool { return echo(t, b) })
	until(t, "the reconnect is counted", func() bool { return metric(t, r, "latchkey_bus_reconnects_total") > 0 })
	if v := metric(t, r, "latchkey_bus_request_duration_seconds", "notConnected"); v < 1 {
		t.Errorf("requests that were refused without a server: %v", v)
	}
}

// metric returns the value of a gauge or counter, or the number of observations of a histogram with a label.
func metric(t *testing.T, r *prometheus.Registry, name string, label ...string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if len(label) > 0 && m.GetLabel()[0].GetValue() != label[0] {
				continue
			}
			return m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	t.Fatalf("no metric %s %v", name, label)
	return 0
}

// With the default ping interval, a hung server is detected within ten seconds.
func TestDefaultPingsDetectAHungServerWithinTenSeconds(t *testing.T) {
	if most := bus.PingInterval * (bus.PingsUnanswered + 1); most >= 10*time.Second {
		t.Errorf("a server may hang for %v before it is dropped", most)
	}
}
