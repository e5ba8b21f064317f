package sim

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/drivertest"
)

// served is a site whose locks are reached over HTTP.
func served(t *testing.T, c Config) (*Site, driver.Driver, driver.Lock) {
	t.Helper()
	h, _ := site(t, c)
	handler, err := Serve(h.Driver())
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	d := Dial(s.URL)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	locks, err := d.Locks(t.Context())
	if err != nil || len(locks) != 1 {
		t.Fatal(locks, err)
	}
	return h, d, locks[0]
}

func TestConformanceOfServedLocks(t *testing.T) {
	for profile := range Profiles() {
		t.Run(profile, func(t *testing.T) {
			drivertest.Run(t, func(t *testing.T) drivertest.Bench {
				now := clock.At(time.Now())
				h, _, l := served(t, Config{Locks: one(profile), Clock: now})
				return drivertest.Bench{Lock: l, AdvanceTime: func(d time.Duration) { now.Advance(d) }, TypePIN: func(pin slot.PIN) bool {
					p, err := h.Press("front", pin)
					if err != nil {
						t.Fatal(err)
					}
					return p.Opened
				}}
			})
		})
	}
}

func TestServedLocksReportEvents(t *testing.T) {
	h, d, l := served(t, Config{Locks: one(ZWave)})
	if st, err := l.Status(t.Context()); err != nil || !st.Online || *st.BatteryPercent != 100 {
		t.Errorf("%+v %v", st, err)
	}
	if _, err := h.Press("front", "1"); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-d.Events():
		if e.Kind != driver.Denied || e.Address != "front" {
			t.Errorf("%+v", e)
		}
	case <-t.Context().Done():
	}
}

// A bridge that is killed in the middle of an operation does not stop it.
func TestServedOperationOutlivesItsCaller(t *testing.T) {
	h, _, l := served(t, Config{Locks: one(ZWave)})
	if err := h.Inject("front", Fault{Kind: Hang}); err != nil {
		t.Fatal(err)
	}
	began, stop := make(chan struct{}), errors.New("killed")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		for h.WriteCount("front") == 0 && t.Context().Err() == nil {
			<-time.After(time.Millisecond)
		}
		close(began)
		cancel(stop)
	}()
	if a := l.Set(ctx, driver.Setting{Slot: 1, PIN: "345678"}); a.Result != slot.Timeout {
		t.Errorf("the caller got %+v", a)
	}
	<-began
	if p, err := h.Press("front", "345678"); err != nil || !p.Opened {
		t.Errorf("%+v %v", p, err)
	}
}
