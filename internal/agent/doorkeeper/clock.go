package doorkeeper

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"latchkey.dev/internal/smartkey"
)

// Limits of the difference between a bridge's clock and the server's clock.
const (
	CloseEnough = 2 * time.Second // up to this difference a clock counts as synchronized: messages take time
	Drifting    = time.Minute     // a clock that differs by more is reported as untrusted
)

const (
	// drift bounds the error of a clock without time synchronization: one part in 5000 (200 ppm), five times that of a quartz clock.
	drift = 5000
	// anchorEvery is the interval at which the trusted time is stored with the machine's uptime. The present time follows from both, until
	// the machine restarts.
	anchorEvery = 10 * time.Minute
)

// Anchor is a trusted time together with the machine's uptime at that time. The uptime cannot be set, so the time is known at once after a
// restart of the bridge on a machine that kept running.
type Anchor struct {
	At    time.Time     `json:"at,omitzero"`
	Error time.Duration `json:"error"`          // Error is how wrong At may be in either direction, at least CloseEnough
	Boot  string        `json:"boot,omitempty"` // Boot identifies the machine's boot at the time At, for which alone the anchor is valid; empty: there is no anchor
	Up    time.Duration `json:"up"`             // Up is the machine's uptime at the time At
}

// timekeeper tracks the time and its possible error. The server's time never sets the clock: a difference only increases the error.
type timekeeper struct {
	kernel  func() (bound time.Duration, ok bool)           // reports the error bound of the machine's clock, if the kernel synchronizes it
	machine func() (boot string, up time.Duration, ok bool) // see machineClock

	mu         sync.Mutex
	anchor     Anchor
	observedAt time.Time     // monotonic time at which the server's time was last received; zero: never by this process
	wall       time.Time     // wall-clock time at which the server's time was last received
	skew       time.Duration // absolute difference to the server's clock at observedAt
	anchoredAt time.Time     // monotonic time at which the anchor was last renewed; zero: never by this process
}

// observe records skew, the difference to the server's clock in either direction, measured when the machine's clock showed wall. If note is
// true, the caller must store the new anchor a; this happens at most once per anchorEvery, and never if the machine does not show its
// uptime. Otherwise a is zero.
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

// clock returns the time and its possible error, with which a SmartKey is verified. The time is wall, which the machine's clock shows. The
// error comes from the last difference to the server's clock, and grows from then on; if the server's time is not known yet, it comes from
// the kernel. If the kernel knows none either, the time is that of the stored anchor plus the uptime since then. The quality is
// Synchronized for a difference of at most CloseEnough, as long as the error is below the constant Drifting, and for a clock that the
// kernel synchronizes; otherwise it is smartkey.Drifting. Without an anchor of this boot, it is Untrusted and the error is -1.
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

// ObserveTime records skew: how far the bridge's clock is ahead of the server's. The bridge calls it for each time that the server sends.
// It stores an [Anchor] at intervals; a failure to store it is only logged.
func (k *Verifier) ObserveTime(skew time.Duration) {
	a, note := k.time.observe(k.cfg.Now(), skew)
	if !note {
		return
	}
	if err := k.cfg.Save(func(h *Stored) { h.Anchor = a }); err != nil {
		k.cfg.Log.Warn("storing the time failed", "error", err)
	}
}

// machineClock returns an id of the machine's current boot and its uptime, including time asleep. ok is false if the kernel does not show
// them.
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
