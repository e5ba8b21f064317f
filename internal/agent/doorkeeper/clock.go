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
	CloseEnough = 2 * time.Second // counts as correct; includes the delay of the message
	Drifting    = time.Minute     // beyond it a clock is not trusted
)

const (
	// drift bounds the error of an unsynchronized clock: 200 ppm, five times that of quartz.
	drift = 5000
	// anchorEvery is how often the time is stored.
	anchorEvery = 10 * time.Minute
)

// Anchor is a trusted time together with the machine's uptime, which cannot be set: after a restart of the bridge, but not of the
// machine, the time is known at once.
type Anchor struct {
	At    time.Time     `json:"at,omitzero"`
	Error time.Duration `json:"error"`
	Boot  string        `json:"boot,omitempty"` // of the machine
	Up    time.Duration `json:"up"`             // since then
}

// timekeeper knows the time and its possible error. The service's time never sets the clock: a difference only increases the error.
type timekeeper struct {
	kernel  func() (bound time.Duration, ok bool) // of the machine's clock, if it is synchronized
	machine func() (boot string, up time.Duration, ok bool)

	mu         sync.Mutex
	anchor     Anchor
	observedAt time.Time // this clock when the service's time was last received; with the monotonic reading
	wall       time.Time // the same without
	skew       time.Duration
	anchoredAt time.Time
}

// observe records the difference to the service's time. It reports whether the anchor should be stored.
func (t *timekeeper) observe(wall time.Time, skew time.Duration) (a Anchor, note bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.observedAt, t.wall, t.skew = time.Now(), wall.Round(0), skew.Abs()
	if !t.anchoredAt.IsZero() && time.Since(t.anchoredAt) < anchorEvery {
		return a, false
	}
	boot, up, ok := t.machine()
	if !ok {
		return a, false
	}
	t.anchoredAt = t.observedAt
	t.anchor = Anchor{At: t.wall, Error: max(t.skew, CloseEnough), Boot: boot, Up: up}
	return t.anchor, true
}

// clock is the time for a verification.
func (t *timekeeper) clock(wall time.Time) smartkey.Clock {
	t.mu.Lock()
	defer t.mu.Unlock()
	wall = wall.Round(0)
	if !t.observedAt.IsZero() {
		since := time.Since(t.observedAt)
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

// ObserveTime records this clock minus the service's.
func (k *Keeper) ObserveTime(skew time.Duration) {
	a, note := k.time.observe(k.cfg.Now(), skew)
	if !note {
		return
	}
	if err := k.cfg.Save(func(h *Stored) { h.Anchor = a }); err != nil {
		k.cfg.Log.Warn("storing the time failed", "error", err)
	}
}

// machineClock returns the machine's uptime, including sleep.
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
