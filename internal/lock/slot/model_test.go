package slot

import (
	"slices"
	"time"
)

// The model is a world around the real step functions: a server, a link that is cut, a bridge that
// is killed or replaced, a radio that loses, delays and lies, a lock, and people who touch it. Time
// is relative: now is always epoch0, a tick moves every stored time one unit nearer.

const unit = time.Second

var epoch0 = time.Unix(1_000_000, 0).UTC()

type cell struct {
	pin      PIN // "" empty
	from, to time.Time
}

const stranger PIN = "stranger"

type flight struct {
	op        Op
	overtaken bool // a later operation on the slot has taken effect
}

type upward struct {
	slot  int
	o     Observed
	stale bool // written before somebody touched the lock
}

type world struct {
	srv      [2]Server
	touched  [2]bool // somebody emptied the slot and the server was not told yet
	blind    [2]bool // somebody emptied the slot and the bridge has not seen it yet
	cell     [2]cell
	landed   [2]uint64 // highest generation that ever took effect
	windows  [2]Desired
	lock     Lock
	alive    bool
	up       bool
	enrolled uint8
	down     []int // slots whose desired state travels, with the value below
	downD    []Desired
	reports  []upward
	old      []upward // of earlier sessions, still buffered somewhere
	air      []flight

	edits, cuts, kills, touches, swaps uint8
	broken                             string // a property broken by the last transition
}

type scenario struct {
	name    string
	ignore  []string // properties not to look at
	slots   int
	caps    Capabilities
	rules   rules
	windows bool // edits carry windows
	foreign bool // slot 1 starts with a stranger's code
	edits   uint8
	cuts    uint8
	kills   uint8
	touches uint8
	swaps   uint8 // replaced bridges
	lossy   bool  // refusals too
	pins    bool  // edits may change the PIN
	sweep   bool  // wake-ups get lost, the sweep makes them good
}

// modelRules are production's with the waits taken out, so that time costs few states.
func modelRules() rules {
	r := production
	r.preload, r.readEvery, r.readRetry = unit, 0, 0
	r.retryFirst, r.retrySet, r.retryClear = 0, 0, 0
	r.attempts, r.overtake = 0, 1
	return r
}

func (c scenario) first() world {
	w := world{alive: true, enrolled: 1, edits: c.edits, cuts: c.cuts, kills: c.kills, touches: c.touches, swaps: c.swaps}
	w.lock = Lock{Caps: c.caps}
	for i := range c.slots {
		w.srv[i].ReadBack = c.caps.ReadBack
	}
	if c.foreign {
		w.cell[0].pin = stranger
	}
	return w
}

// edge is one transition; a fault may happen but liveness must not need it.
type edge struct {
	to    world
	label string
	fault bool
}

func (c scenario) edges(w world) []edge {
	var out []edge
	add := func(t world, label string, fault bool) { out = append(out, edge{t, label, fault}) }
	c.userEdges(w, add)
	c.linkEdges(w, add)
	c.radioEdges(w, add)
	if c.ticks(w) {
		add(c.step(w.tick(), Event{Kind: Ticked}), "tick", false)
	}
	return out
}

// ticks reports whether time makes a difference to anything.
func (c scenario) ticks(w world) bool {
	if len(w.air) > 0 || w.lock.Op.Kind != "" || !w.lock.Fence.IsZero() {
		return true
	}
	for i := range c.slots {
		if w.srv[i].Desired.NotBefore.After(epoch0) || w.srv[i].Desired.NotAfter.After(epoch0) {
			return true
		}
	}
	return false
}

func (c scenario) userEdges(w world, add func(world, string, bool)) {
	for i := range c.slots {
		if w.edits > 0 {
			for _, d := range c.choices(w.srv[i]) {
				t := w
				var ok bool
				if t.srv[i], ok = Assign(w.srv[i], "guest", d); !ok {
					continue
				}
				t.edits--
				t.windows[i] = t.srv[i].Desired
				if !t.up || c.sweep {
					add(t, "edit, wake-up lost", true)
				}
				if t.up {
					t.push(i)
					add(t, "edit "+t.srv[i].Desired.String(), true)
				}
			}
		}
		if w.touches > 0 && w.cell[i].pin != "" {
			t := w
			t.touches--
			t.cell[i], t.touched[i], t.blind[i] = cell{}, true, true
			t.reports = slices.Clone(w.reports)
			for k := range t.reports {
				t.reports[k].stale = t.reports[k].stale || t.reports[k].slot == i
			}
			add(t, "somebody empties the slot", true)
		}
		if w.blind[i] && w.alive && w.lock.Op.Kind == "" {
			if s, ok := w.lock.Slot(uint32(i + 1)); ok && s.ReadAt.IsZero() {
				add(c.step(w, Event{Kind: Doubted, Slot: uint32(i + 1)}), "read-back due", false)
			}
		}
	}
}

func (c scenario) choices(s Server) []Desired {
	if c.windows {
		at := func(n int) time.Time { return epoch0.Add(time.Duration(n) * unit) }
		return []Desired{
			{Intent: Present, PIN: "1", NotBefore: at(1), NotAfter: at(2)},
			{Intent: Present, PIN: "1", NotBefore: at(0), NotAfter: at(1)},
			{Intent: Absent},
		}
	}
	out := []Desired{{Intent: Present, PIN: "1"}, {Intent: Absent}}
	if c.pins {
		out = append(out, Desired{Intent: Present, PIN: "2"})
	}
	return out
}

func (c scenario) linkEdges(w world, add func(world, string, bool)) {
	if w.up {
		if w.cuts > 0 {
			t := w
			t.cuts--
			t.cut()
			add(t, "link cut or server killed", true)
		}
		for i := range c.slots {
			if s := w.srv[i]; c.sweep && len(w.down) == 0 && len(w.reports) == 0 && s.Observed.Generation != s.Desired.Generation {
				t := w
				t.push(i)
				add(t, "sweep", false)
			}
		}
	} else if w.alive {
		add(c.connect(w), "connect", false)
	}
	if w.alive && w.kills > 0 {
		t := w
		t.kills--
		t.cut()
		t.alive = false
		add(t, "bridge killed", true)
	}
	if !w.alive {
		t := w
		t.alive = true
		add(c.step(t, Event{Kind: Booted}), "bridge restarted", false)
		if w.swaps > 0 {
			t := w
			t.swaps--
			t.alive = true
			t.enrolled++
			t.lock = New(c.caps, epoch0)
			if c.rules.noFence {
				t.lock.Fence = time.Time{}
			}
			add(c.step(t, Event{Kind: Booted}), "bridge replaced", true)
		}
	}
	if len(w.down) > 0 {
		t := w
		t.down, t.downD = w.down[1:], w.downD[1:]
		add(c.step(t, Event{Kind: Wanted, Slot: uint32(w.down[0] + 1), Desired: w.downD[0]}), "desired arrives", false)
	}
	if len(w.reports) > 0 {
		t := w
		t.reports = w.reports[1:]
		t.hear(c, w.reports[0], 1)
		add(t, "report arrives", false)
	}
	for k := range w.old {
		t := w
		t.old = slices.Delete(slices.Clone(w.old), k, k+1)
		add(t, "old session's report lost", false)
		t.hear(c, w.old[k], 0)
		add(t, "old session's report arrives", true)
	}
}

// connect is Hello, Welcome and the snapshot, as the link does it.
func (c scenario) connect(w world) world {
	w.up = true
	var mine []Row
	for i := range c.slots {
		if s := w.srv[i]; s.Desired.Generation > 0 {
			mine = append(mine, s.Row(uint32(i+1)))
		}
	}
	if LockDigest(mine) == LockDigest(w.lock.Rows()) {
		return w
	}
	for i := range c.slots {
		if w.srv[i].Desired.Generation > 0 {
			w.push(i)
		}
	}
	return w
}

func (w *world) push(i int) {
	var d Desired
	w.srv[i], d = Send(w.srv[i], string('0'+rune(w.enrolled)))
	w.down = append(slices.Clip(w.down), i)
	w.downD = append(slices.Clip(w.downD), d)
	if len(w.down) > 3 { // queue full: the session is dropped
		w.cut()
	}
}

func (w *world) cut() {
	if len(w.reports) > 0 { // the server may still have the last of them in a buffer
		w.old = w.reports[:1]
	}
	w.up, w.down, w.downD, w.reports = false, nil, nil, nil
}

func (w *world) hear(c scenario, m upward, epoch uint64) {
	before := w.srv[m.slot]
	s, changed := observe(before, 1, Report{Epoch: epoch, Observed: m.o}, c.rules)
	w.srv[m.slot] = s
	if epoch == 1 && m.o.Generation == before.Desired.Generation && !m.stale {
		w.touched[m.slot] = false
	}
	if changed && epoch != 1 && !c.rules.noEpoch {
		w.broken = "an old epoch had an effect"
	}
	if s.Desired.Generation < before.Desired.Generation {
		w.broken = "a generation went back"
	}
}

func (c scenario) radioEdges(w world, add func(world, string, bool)) {
	op := w.lock.Op
	if w.alive && op.Kind == OpRead {
		in := w.cell[op.Slot-1].pin
		ev := Event{Kind: Answered, Seq: op.Seq, Result: OK, Present: in != ""}
		if c.caps.Readable == ReadableClear {
			ev.PIN = in
		}
		t := w
		t.blind[op.Slot-1] = false
		add(c.step(t, ev), "read answered", false)
		if c.lossy {
			add(c.step(w, Event{Kind: Answered, Seq: op.Seq, Result: Timeout}), "read timed out", true)
		}
	}
	for k, f := range w.air {
		rest := w
		rest.air = slices.Delete(slices.Clone(w.air), k, k+1)
		awaited := w.alive && op.Kind != "" && op.Seq == f.op.Seq && !f.overtaken
		if f.op.Kind == OpSet && !f.op.Replace && w.cell[f.op.Slot-1].pin != "" && c.caps.ReadBack {
			if awaited {
				add(c.step(rest, Event{Kind: Answered, Seq: op.Seq, Result: Occupied}), "occupied", false)
			}
			add(rest, "occupied, answer lost", true)
			continue
		}
		done := rest.land(f)
		add(done, "lands, answer lost", true)
		if awaited {
			t := done
			t.blind[f.op.Slot-1] = false
			add(c.step(t, Event{Kind: Answered, Seq: op.Seq, Result: OK}), "lands "+string(f.op.Kind), false)
			if c.lossy {
				add(c.step(rest, Event{Kind: Answered, Seq: op.Seq, Result: Busy}), "refused: busy", true)
				add(c.step(rest, Event{Kind: Answered, Seq: op.Seq, Result: Duplicate}), "refused: duplicate", true)
			}
		}
		add(rest, "lost", true)
	}
	if w.alive && (op.Kind == OpSet || op.Kind == OpClear) {
		add(c.step(w.orphan(), Event{Kind: Answered, Seq: op.Seq, Result: Timeout}), "driver gives up", true)
	}
}

// orphan keeps flights in the air under a sequence that no operation has any more.
func (w world) orphan() world {
	w.air = slices.Clone(w.air)
	for i := range w.air {
		w.air[i].op.Seq = 0
	}
	return w
}

// land lets an operation take effect on the lock.
func (w world) land(f flight) world {
	i := f.op.Slot - 1
	if f.overtaken {
		w.broken = "an older operation took effect after a newer one"
	}
	if f.op.Generation < w.landed[i] {
		w.broken = "a superseded generation took effect"
	}
	if w.cell[i].pin == stranger {
		w.broken = "a slot that is not ours was touched"
	}
	w.landed[i] = max(w.landed[i], f.op.Generation)
	w.cell[i] = cell{}
	if f.op.Kind == OpSet {
		w.cell[i] = cell{f.op.PIN, f.op.NotBefore, f.op.NotAfter}
	}
	w.air = slices.Clone(w.air)
	for k := range w.air {
		if w.air[k].op.Slot == f.op.Slot {
			w.air[k].overtaken = true
		}
	}
	return w
}

// step runs the real step function, stores its result at once, and starts what it asks for.
func (c scenario) step(w world, ev Event) world {
	ev.At = epoch0
	if ev.Kind == Booted {
		w = w.orphan()
	}
	var actions []Action
	w.lock, actions = step(w.lock, ev, c.rules)
	starts := 0
	for _, a := range actions {
		switch a.Kind {
		case Tell:
			if w.up {
				i := int(a.Slot - 1)
				a.Observed.At = time.Time{}
				w.report(upward{i, a.Observed, w.blind[i]})
			}
		case Start:
			starts++
			if len(w.air) > 0 {
				w.broken = "two operations in flight"
			}
			if a.Op.Kind != OpRead {
				op := a.Op
				op.Seq = 1
				w.air = append(w.orphan().air, flight{op: op})
			}
		}
	}
	if starts > 1 {
		w.broken = "two operations started at once"
	}
	w.normalize()
	return w
}

// report queues a report as the link does: two may be on their way, a newer one for the same slot
// replaces one that has not left yet, and a full queue drops the session.
func (w *world) report(m upward) {
	if n := len(w.reports); n > 1 && w.reports[n-1].slot == m.slot {
		w.reports = append(slices.Clone(w.reports[:n-1]), m)
		return
	}
	if w.reports = append(slices.Clip(w.reports), m); len(w.reports) > 3 {
		w.cut()
	}
}

// normalize takes out of the bridge's record what no behaviour depends on.
func (w *world) normalize() {
	w.lock.Seq = 1
	w.lock.Op.Seq = 1
	if w.lock.Op.Kind == "" {
		w.lock.Op = Op{}
	}
	for i := range w.lock.Slots {
		s := &w.lock.Slots[i]
		s.Observed.At = time.Time{}
		if !s.RetryAt.After(epoch0) {
			s.RetryAt = time.Time{}
		}
	}
}
