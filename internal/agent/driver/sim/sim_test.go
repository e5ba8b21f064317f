package sim

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/drivertest"
)

func site(t *testing.T, c Config) (*Site, driver.Lock) {
	t.Helper()
	h, err := NewSite(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	locks, err := h.Driver().Locks(t.Context())
	if err != nil || len(locks) == 0 {
		t.Fatal(len(locks), err)
	}
	return h, locks[0]
}

func one(profile string) []Spec { return []Spec{{Address: "front", Profile: profile}} }

func TestConformance(t *testing.T) {
	for profile := range Profiles() {
		t.Run(profile, func(t *testing.T) {
			drivertest.Run(t, func(t *testing.T) drivertest.Bench {
				now := clock.At(time.Now())
				h, l := site(t, Config{Locks: one(profile), Clock: now})
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

func TestFaults(t *testing.T) {
	set := driver.Setting{Slot: 1, PIN: "345678"}
	for _, tt := range []struct {
		fault Fault
		want  slot.Result
		lands bool
	}{
		{Fault{Kind: Lost}, slot.Timeout, false},
		{Fault{Kind: LostAck}, slot.Timeout, true},
		{Fault{Kind: Unconfirmed}, slot.NotConfirmed, true},
		{Fault{Kind: Late, After: time.Second}, slot.Timeout, true},
		{Fault{Kind: Late, After: time.Hour}, slot.Timeout, true}, // cut to the lifetime
		{Fault{Kind: Hang}, slot.Timeout, true},
		{Fault{Kind: Offline}, slot.LockOffline, false},
		{Fault{Kind: Busy}, slot.Busy, false},
		{Fault{Kind: Duplicate}, slot.Duplicate, false},
		{Fault{Kind: FalseDuplicate}, slot.Duplicate, true},
		{Fault{Kind: Occupied}, slot.Occupied, false},
		{Fault{Kind: Full}, slot.SlotsFull, false},
		{Fault{Kind: Jammed}, slot.Jammed, false},
		{Fault{Kind: LowPower}, slot.LowPower, false},
		{Fault{Kind: ClockUntrusted}, slot.ClockUntrusted, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, l := site(t, Config{Locks: one(ZWave)})
			if err := h.Inject("front", tt.fault); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			began := time.Now()
			if a := l.Set(ctx, set); a.Result != tt.want {
				t.Errorf("%s: %s, want %s", tt.fault.Kind, a.Result, tt.want)
			}
			if hung := time.Since(began) == 5*time.Second; hung != (tt.fault.Kind == Hang) {
				t.Errorf("%s: took %v", tt.fault.Kind, time.Since(began))
			}
			if late := tt.fault.Kind == Late; late && len(h.Slots("front")) != 0 {
				t.Error("late: is there at once")
			}
			time.Sleep(l.Capabilities().Lifetime())
			synctest.Wait()
			if there := len(h.Slots("front")) == 1; there != tt.lands {
				t.Errorf("%s: is there %v, want %v", tt.fault.Kind, there, tt.lands)
			}
			if a := l.Clear(t.Context(), 1); a.Result != slot.OK {
				t.Errorf("%s: the next call meets it, too: %s", tt.fault.Kind, a.Result)
			}
		})
	}
}

func TestSeedIsReproducible(t *testing.T) {
	play := func(seed uint64) (out []slot.Result) {
		_, l := site(t, Config{Locks: one(TTLock), Seed: seed, Odds: Odds{Lost: 0.2, LostAck: 0.2, Busy: 0.2, Offline: 0.2}})
		for range 60 {
			out = append(out, l.Clear(t.Context(), 1).Result)
		}
		return out
	}
	if diff := cmp.Diff(play(5), play(5)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(play(5), play(6)) {
		t.Error("two seeds play the same")
	}
}

func TestMemoryOutlivesTheHouse(t *testing.T) {
	c := Config{Locks: one(Nuki), StorageFile: filepath.Join(t.TempDir(), "locks.json")}
	from := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	h, l := site(t, c)
	if a := l.Set(t.Context(), driver.Setting{Slot: 9, PIN: "345678", NotBefore: from, NotAfter: from.Add(time.Hour)}); a.Result != slot.OK {
		t.Fatal(a.Result)
	}
	again, _ := site(t, c)
	if diff := cmp.Diff(h.Slots("front"), again.Slots("front")); diff != "" || len(again.Slots("front")) != 1 {
		t.Error(diff)
	}
}

func TestInvalidHouseIsRefused(t *testing.T) {
	for name, specs := range map[string][]Spec{
		"profile":     {{Address: "front", Profile: "brass"}},
		"no address":  {{Profile: ZWave}},
		"one address": {{Address: "front", Profile: ZWave}, {Address: "front", Profile: Nuki}},
	} {
		if _, err := NewSite(Config{Locks: specs}); err == nil {
			t.Errorf("%s: was built", name)
		}
	}
}

func TestPressesAreReported(t *testing.T) {
	h, _ := site(t, Config{Locks: one(ZWave)})
	for range maxEvents + 5 { // without a reader the oldest events are dropped, and no keypad hangs
		if _, err := h.Press("front", "999999"); err != nil {
			t.Fatal(err)
		}
	}
	if e := <-h.Driver().Events(); e.Kind != driver.Denied || e.Reason != "wrongPin" || e.Address != "front" {
		t.Errorf("%+v", e)
	}
	if _, err := h.Press("nowhere", "999999"); err == nil {
		t.Error("a keypad that is not there was pressed")
	}
}

func TestKeypads(t *testing.T) {
	h, l := site(t, Config{Locks: one(ZWave)})
	if a := l.Set(t.Context(), driver.Setting{Slot: 1, PIN: "048151"}); a.Result != slot.OK {
		t.Fatal(a.Result)
	}
	for _, tt := range []struct {
		path, body string
		code       int
		want       string
	}{
		{"/front", `{"pin":"048151"}`, http.StatusOK, `{"opened":true}`},
		{"/front", `{"pin":"48151"}`, http.StatusOK, `{"opened":false,"reason":"wrongPin"}`},
		{"/back", `{"pin":"048151"}`, http.StatusNotFound, "no such lock"},
		{"/front", `{"pin":48151}`, http.StatusBadRequest, `want {"pin": "..."}`},
		{"/front", `{"pin":"` + strings.Repeat("1", 2000), http.StatusBadRequest, `want {"pin": "..."}`},
	} {
		w := httptest.NewRecorder()
		Keypads(h).ServeHTTP(w, httptest.NewRequest(http.MethodPost, tt.path, strings.NewReader(tt.body)))
		if w.Code != tt.code || strings.TrimSpace(w.Body.String()) != tt.want {
			t.Errorf("%s: %d %s, want %d %s", tt.path, w.Code, w.Body, tt.code, tt.want)
		}
	}
}
