package sim

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFaultsOfALock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, l := site(t, Config{Locks: []Spec{{Address: "front", Profile: TTLock, Capacity: 2}}})
		from := time.Now().Add(-time.Hour)
		set := func(n uint32, pin slot.PIN) slot.Result {
			return l.Set(t.Context(), driver.Setting{Slot: n, PIN: pin, NotBefore: from, NotAfter: from.Add(2 * time.Hour)}).Result
		}
		press := func(want string) {
			t.Helper()
			p, err := h.Press("front", "345678")
			if err != nil || p.Reason != want || p.Opened != (want == "") {
				t.Errorf("%+v %v, want %q", p, err, want)
			}
		}
		if r := set(1, "345678"); r != slot.OK {
			t.Fatal(r)
		}
		press("")
		h.SetDrift("front", 90*time.Minute)
		press("outsideWindow")
		h.SetDrift("front", 0)
		h.SetJammed("front", true)
		press("jammed")
		h.SetJammed("front", false)
		if r := set(2, "456789"); r != slot.OK {
			t.Error(r)
		}
		if r := set(3, "567890"); r != slot.SlotsFull {
			t.Errorf("a third code in a lock for two: %s", r)
		}
		h.SetBattery("front", 3)
		press("")
		if r := set(2, "678901"); r != slot.LowPower {
			t.Errorf("with a weak battery: %s", r)
		}
		h.SetBattery("front", 0)
		press("noPower")
		if r := set(2, "678901"); r != slot.LockOffline {
			t.Errorf("with an empty battery: %s", r)
		}
		before := time.Now()
		time.Sleep(time.Hour)
		if s, err := l.Status(t.Context()); err != nil || s.Online || s.Bolt != "unknown" || s.LastSeenAt.After(before) {
			t.Errorf("an empty lock is %+v %v", s, err)
		}
		h.SetBattery("front", 100)
		if err := h.Reset("front", false); err != nil || len(h.Slots("front")) != 0 {
			t.Error(err, h.Slots("front"))
		}
	})
}

func TestEventsOfLocks(t *testing.T) {
	h, _ := site(t, Config{Locks: one(ZWave)})
	for _, err := range []error{h.Program("front", 3, "777777"), h.ProgramSilently("front", 4, "888888"), h.Reset("front", true)} {
		if err != nil {
			t.Error(err)
		}
	}
	h.SetJammed("front", true)
	h.SetJammed("front", true)
	var got []driver.Event
	for len(h.Driver().Events()) > 0 {
		e := <-h.Driver().Events()
		got = append(got, driver.Event{Kind: e.Kind, Slot: e.Slot, Reason: e.Reason})
	}
	want := []driver.Event{{Kind: driver.SlotChanged, Slot: 3}, {Kind: driver.Tampered, Reason: "factoryReset"}, {Kind: driver.SlotChanged}, {Kind: driver.Jammed}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestScripts(t *testing.T) {
	script := RandomScript(7, []string{"front", "back"}, 40, time.Hour)
	if diff := cmp.Diff(script, RandomScript(7, []string{"front", "back"}, 40, time.Hour)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(script, RandomScript(8, []string{"front", "back"}, 40, time.Hour)) {
		t.Error("two seeds write the same")
	}
	var text strings.Builder
	out := json.NewEncoder(&text)
	for _, m := range script {
		if err := out.Encode(m); err != nil {
			t.Fatal(err)
		}
	}
	read, err := ReadScript(strings.NewReader(text.String()))
	if diff := cmp.Diff(script, read); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, junk := range []string{`{"at":"soon"}`, `{"who":"front"}`, `{`, `[]`} {
		if _, err := ReadScript(strings.NewReader(junk)); err == nil {
			t.Errorf("%s was read", junk)
		}
	}
}

func TestScriptIsReproducible(t *testing.T) {
	play := func(seed uint64) (out []slot.Result) {
		synctest.Test(t, func(t *testing.T) {
			h, l := site(t, Config{Locks: one(ZWave), Seed: seed})
			done := make(chan error, 1)
			go func() { done <- h.Play(t.Context(), RandomScript(seed, []string{"front"}, 200, time.Hour)) }()
			for range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				out = append(out, l.Set(ctx, driver.Setting{Slot: 1, PIN: "345678", Replace: true}).Result)
				cancel()
				time.Sleep(10 * time.Second)
			}
			time.Sleep(time.Hour)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if a := l.Set(t.Context(), driver.Setting{Slot: 1, PIN: "345678", Replace: true}); a.Result == slot.LockOffline {
				t.Error("what went wrong was not put right")
			}
		})
		return out
	}
	if diff := cmp.Diff(play(5), play(5)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(play(5), play(6)) {
		t.Error("two seeds play the same")
	}
}

// A mistake in a script is found before it is played, not at the time of the move.
func TestCheckFindsMistakesInAScript(t *testing.T) {
	h, _ := site(t, Config{Locks: one(ZWave)})
	good := Move{Lock: "front", Deed: Jams}
	for _, tt := range []struct {
		bad  Move
		want string
	}{
		{good, ""},
		{Move{Lock: "front", Deed: Fails, Fault: LostAck}, ""},
		{Move{Lock: "fron", Deed: Jams}, `move 2 of the script: no lock "fron"; the locks are front`},
		{Move{Lock: "front", Deed: "explodes"}, `no deed "explodes"; the deeds are fails, goesOff,`},
		{Move{Lock: "front", Deed: Fails, Fault: "slips"}, `no fault "slips"; the faults are lost, lostAck,`},
	} {
		err := h.Check([]Move{good, tt.bad})
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.bad, err, tt.want)
		}
	}
	if err := h.Check(RandomScript(1, []string{"front"}, 200, time.Hour)); err != nil {
		t.Error(err)
	}
	if _, err := NewSite(Config{Locks: []Spec{{Address: "front", Profile: "zwav"}}}); err == nil || !strings.Contains(err.Error(), "the profiles are matter, nuki,") {
		t.Errorf("%v", err)
	}
}

func TestInvalidScriptFails(t *testing.T) {
	h, _ := site(t, Config{Locks: one(ZWave)})
	for _, m := range []Move{{Lock: "nowhere", Deed: Jams}, {Lock: "front", Deed: "sings"}, {Lock: "nowhere", Deed: Fails}} {
		if err := h.Play(t.Context(), []Move{m}); err == nil {
			t.Errorf("%+v was played", m)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Play(ctx, []Move{{At: Span(time.Hour), Lock: "front", Deed: Jams}}); err == nil {
		t.Error("played on after its end")
	}
}
