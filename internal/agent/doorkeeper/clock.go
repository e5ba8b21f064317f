package doorkeeper

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"latchkey.dev/internal/smartkey"
)

// How far a clock may be from the service's.
const (
	CloseEnough = 2 * time.Second // as good as right; the way of the message is a part of it
	Drifting    = time.Minute     // beyond it a clock is not believed
)

const (
	// drift is how much a clock that nobody sets may go wrong: 200 of a million, five times what quartz does.
	drift = 5000
	// anchorEvery is how often the time is noted durably.
	anchorEvery = 10 * time.Minute
)

// Anchor is a time that was believed, tied to the machine's own count since it was switched on, which nobody can set: after
// a restart of the bridge, though not of the machine, the time is known without asking anybody.
type Anchor struct {
	At    time.Time     `json:"at,omitzero"`
	Error time.Duration `json:"error"`
	Boot  string        `json:"boot,omitempty"` // of the machine
	Up    time.Duration `json:"up"`             // since then
}

// timekeeper says what the time is and how wrong that can be. The service is heard, and not obeyed: where it says another
// time than our clock, the error grows by the difference, and the time stays ours.
type timekeeper struct {
	kernel  func() (bound time.Duration, ok bool) // of the machine's clock, if something keeps it
	machine func() (boot string, up time.Duration, ok bool)

	mu     sync.Mutex
	anchor Anchor
	heard  time.Time // by our clock, when the service told its time last; with the monotonic reading
	wall   time.Time // the same without
	skew   time.Duration
	noted  time.Time
}

// hear notes how far the service's time was from ours. It reports whether that should be noted durably.
func (t *timekeeper) hear(wall time.Time, skew time.Duration) (a Anchor, note bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard, t.wall, t.skew = time.Now(), wall.Round(0), skew.Abs()
	if !t.noted.IsZero() && time.Since(t.noted) < anchorEvery {
		return a, false
	}
	boot, up, ok := t.machine()
	if !ok {
		return a, false
	}
	t.noted = t.heard
	t.anchor = Anchor{At: t.wall, Error: max(t.skew, CloseEnough), Boot: boot, Up: up}
	return t.anchor, true
}

// read is the clock for a verdict.
func (t *timekeeper) read(wall time.Time) smartkey.Clock {
	t.mu.Lock()
	defer t.mu.Unlock()
	wall = wall.Round(0)
	if !t.heard.IsZero() {
		since := time.Since(t.heard)
		c := smartkey.Clock{Now: wall, Error: max(t.skew, CloseEnough) + since/drift + (wall.Sub(t.wall) - since).Abs(), Quality: smartkey.Drifting}
		if t.skew <= CloseEnough && c.Error < Drifting {
			c.Quality = smartkey.Synchronized
		}
		return c
	}
	if bound, ok := t.kernel(); ok {
		return smartkey.Clock{Now: wall, Error: max(bound, CloseEnough), Quality: smartkey.Synchronized}
	}
	if boot, up, ok := t.machine(); ok && boot == t.anchor.Boot && up >= t.anchor.Up {
		since := up - t.anchor.Up
		return smartkey.Clock{Now: t.anchor.At.Add(since), Error: t.anchor.Error + since/drift + time.Second, Quality: smartkey.Drifting}
	}
	return smartkey.Clock{Now: wall, Error: -1, Quality: smartkey.Untrusted}
}

// HearTime takes the service's word on the time: our clock minus its.
func (k *Keeper) HearTime(skew time.Duration) {
	a, note := k.time.hear(k.cfg.Now(), skew)
	if !note {
		return
	}
	if err := k.cfg.Keep(func(h *Held) { h.Anchor = a }); err != nil {
		k.cfg.Log.Warn("the time was not noted", "error", err)
	}
}

// machineClock reads how long the machine has been on, sleep included.
func machineClock() (boot string, up time.Duration, ok bool) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0, false
	}
	raw, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return "", 0, false
	}
	first, _, _ := strings.Cut(string(raw), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	return strings.TrimSpace(string(id)), time.Duration(seconds * float64(time.Second)), err == nil
}
