package slot

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// wrong names a property that a world breaks, or "".
func (c scenario) wrong(w *world) string {
	if w.broken != "" && !slices.Contains(c.ignore, w.broken) {
		return w.broken
	}
	for i := range c.slots {
		s, in := w.srv[i], w.cell[i]
		ours := in.pin != "" && in.pin != stranger
		if !w.touched[i] {
			if converged(s, c.rules) && !c.windows && !c.agrees(w, i) {
				return "false convergence"
			}
			if st := s.Status(epoch0); c.windows && ((st == Accepted || st == Verified) && in.pin != s.Desired.PIN) {
				return "false convergence: not active"
			} else if st == Removed && s.Desired.Intent == Absent && ours {
				return "false convergence: not removed"
			}
		}
		if s.Desired.Generation > 0 && s.Grant == "" && ours {
			return "a slot was freed that still holds a code"
		}
		if c.windows && ours && w.windows[i].Generation == w.landed[i] && opens(in, c.caps) && epoch0.Before(w.windows[i].NotBefore) {
			return "opens before its window"
		}
	}
	return ""
}

func opens(in cell, caps Capabilities) bool {
	if caps.Schedule != ScheduleWindow {
		return true
	}
	return !epoch0.Before(in.from) && (in.to.IsZero() || epoch0.Before(in.to))
}

func (c scenario) agrees(w *world, i int) bool {
	in := w.cell[i]
	if w.srv[i].Desired.Intent == Present {
		return in.pin == w.srv[i].Desired.PIN
	}
	return in.pin == "" || in.pin == stranger
}

// settled is where liveness leads: the server knows, truly, that all is as desired or refused.
func (c scenario) settled(w *world) bool {
	for i := range c.slots {
		s := w.srv[i]
		if s.Desired.Generation == 0 {
			continue
		}
		if s.Observed.Generation != s.Desired.Generation {
			return false
		}
		switch {
		case s.Observed.Evidence == Failed:
		case c.windows && s.Status(epoch0) == Removed:
		case converged(s, c.rules) && c.agrees(w, i):
			if s.Desired.Intent == Absent && s.Grant != "" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

type verdict struct {
	states int
	broken string
	trace  []string
}

// explore visits every reachable world, breadth first, and stops at the first broken property.
// Worlds are let go once expanded; a hash of each, how it was reached and what reaches it stay.
func (c scenario) explore(limit int) verdict {
	type node struct {
		w     *world
		from  int32
		label string
		good  bool
		back  []int32
	}
	hash := func(w *world, buf []byte) [16]byte {
		sum := sha256.Sum256(w.key(buf[:0], c.slots))
		return [16]byte(sum[:16])
	}
	buf := make([]byte, 0, 1024)
	first := c.first()
	nodes := []node{{w: &first, from: -1}}
	index := map[[16]byte]int32{hash(&first, buf): 0}
	trace := func(i int32, last ...string) []string {
		var out []string
		for ; i > 0; i = nodes[i].from {
			out = append(out, nodes[i].label)
		}
		slices.Reverse(out)
		return append(out, last...)
	}
	for i := 0; i < len(nodes); i++ {
		for _, e := range c.edges(*nodes[i].w) {
			if broken := c.wrong(&e.to); broken != "" {
				return verdict{len(nodes), broken, trace(int32(i), e.label)}
			}
			h := hash(&e.to, buf)
			j, known := index[h]
			if !known {
				j = int32(len(nodes))
				index[h] = j
				nodes = append(nodes, node{w: &e.to, from: int32(i), label: e.label, good: c.settled(&e.to)})
			}
			if !e.fault {
				nodes[j].back = append(nodes[j].back, int32(i))
			}
		}
		nodes[i].w = nil
		if len(nodes) > limit {
			return verdict{len(nodes), fmt.Sprintf("more than %d states", limit), nil}
		}
	}
	// Liveness: walk back from the settled worlds over transitions that are no faults.
	var queue []int32
	for i := range nodes {
		if nodes[i].good {
			queue = append(queue, int32(i))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, p := range nodes[queue[0]].back {
			if !nodes[p].good {
				nodes[p].good = true
				queue = append(queue, p)
			}
		}
	}
	if stuck := slices.IndexFunc(nodes, func(n node) bool { return !n.good }); stuck >= 0 {
		return verdict{len(nodes), "no way to convergence without a fault", trace(int32(stuck))}
	}
	return verdict{states: len(nodes)}
}

var (
	blindLock  = Capabilities{PINMin: 1, PINMax: 8, Slots: 2, Readable: ReadableNone, Schedule: ScheduleNone, OpLifetime: unit}
	clearLock  = Capabilities{PINMin: 1, PINMax: 8, Slots: 2, Readable: ReadableClear, Schedule: ScheduleNone, ReadBack: true, OpLifetime: unit}
	maskedLock = Capabilities{PINMin: 1, PINMax: 8, Slots: 2, Readable: ReadableMasked, Schedule: ScheduleNone, ReadBack: true, OpLifetime: unit}
	windowLock = Capabilities{PINMin: 1, PINMax: 8, Slots: 2, Readable: ReadableNone, Schedule: ScheduleWindow, OpLifetime: unit}
)

func scenarios() []scenario {
	r := modelRules()
	return []scenario{
		{name: "blind lock, three edits", slots: 1, caps: blindLock, rules: r, edits: 3, pins: true},
		{name: "blind lock, cut and kill", slots: 1, caps: blindLock, rules: r, edits: 2, cuts: 1, kills: 1, sweep: true},
		{name: "readable lock, somebody empties it", slots: 1, caps: clearLock, rules: r, edits: 1, cuts: 1, touches: 1},
		{name: "masked lock, replaced bridge", slots: 1, caps: maskedLock, rules: r, edits: 2, kills: 1, swaps: 1},
		{name: "refusals", slots: 1, caps: clearLock, rules: r, edits: 2, lossy: true},
		{name: "somebody else's code", slots: 1, caps: maskedLock, rules: r, edits: 2, kills: 1, foreign: true},
		{name: "windows kept by the bridge", slots: 1, caps: blindLock, rules: r, edits: 2, kills: 1, windows: true},
		{name: "windows kept by the lock", slots: 1, caps: windowLock, rules: r, edits: 2, windows: true},
		{name: "two slots", slots: 2, caps: blindLock, rules: r, edits: 2, kills: 1},
	}
}

func TestEveryReachableStateIsSafeAndLive(t *testing.T) {
	for _, c := range scenarios() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			v := c.explore(400_000)
			t.Logf("%d states in %v", v.states, time.Since(began).Round(time.Millisecond))
			if v.broken != "" {
				t.Errorf("%s after %d states:\n  %s", v.broken, v.states, strings.Join(v.trace, "\n  "))
			}
		})
	}
}

// A checker that a missing guard does not upset proves nothing.
func TestEachGuardIsNeeded(t *testing.T) {
	guards := []struct {
		name, scenario string
		off            func(*rules)
		want           string
		ignore         []string // the guard's own wording: the harm is what counts
	}{
		{"fence", "blind lock, cut and kill", func(r *rules) { r.noFence = true }, "a superseded generation took effect",
			[]string{"two operations in flight", "an older operation took effect after a newer one"}},
		{"fence of a fresh bridge", "masked lock, replaced bridge", func(r *rules) { r.noFence = true }, "an older operation took effect after a newer one",
			[]string{"two operations in flight"}},
		{"epoch", "readable lock, somebody empties it", func(r *rules) { r.noEpoch = true }, "false convergence", nil},
		{"generation", "blind lock, three edits", func(r *rules) { r.noGeneration = true }, "false convergence", nil},
		{"evidence", "blind lock, cut and kill", func(r *rules) { r.noEvidence = true }, "false convergence", nil},
	}
	for _, g := range guards {
		t.Run(g.name, func(t *testing.T) {
			all := scenarios()
			c := all[slices.IndexFunc(all, func(c scenario) bool { return c.name == g.scenario })]
			g.off(&c.rules)
			c.ignore = g.ignore
			v := c.explore(150_000)
			if v.broken != g.want {
				t.Errorf("broken = %q after %d states, want %q\n  %s", v.broken, v.states, g.want, strings.Join(v.trace, "\n  "))
			}
		})
	}
}
