package simulation

import (
	"fmt"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

const slotsUsed = 4 // of each lock

// cell is what a slot of the lock really holds.
type cell struct {
	pin         slot.PIN
	from, to    time.Time // kept by the lock itself
	generation  uint64    // 0 for a foreign code
	opens, ends time.Time // the window that was meant
	stranger    bool      // a foreign code, set in a slot without a code
}

// slotState is one slot: the server's record, its content, and the grants of its generations.
type slotState struct {
	server   slot.ServerSlot
	cell     cell
	grantOf  map[uint64]string // the grant of each generation
	landed   uint64            // the highest generation that took effect
	refused  uint64            // the generation that the lock refused last
	touches  int               // changes by hand
	noticed  int               // of these, the bridge could have noticed
	reported int               // of these, the server could know
}

// flight is an operation in flight.
type flight struct {
	op          slot.Op
	boot        int
	began       time.Time
	opens, ends time.Time
	gone        bool // it landed or was lost
}

// lock is a lock, its bridge's record of it, and the server's.
type lock struct {
	world    *world
	bridge   *bridge
	number   int
	profile  sim.Profile
	caps     slot.Capabilities
	state    slot.Lock // on the bridge's disk
	wake     int       // the number of the last wake-up that was asked for
	slots    [slotsUsed + 1]*slotState
	inFlight []*flight
	offline  time.Time // until when
	history  history
}

func newLock(w *world, b *bridge, number int, p sim.Profile) *lock {
	l := &lock{world: w, bridge: b, number: number, profile: p, caps: p.Capabilities}
	l.caps.Slots = slotsUsed
	l.state = slot.Lock{Caps: l.caps}
	for i := 1; i <= slotsUsed; i++ {
		l.slots[i] = &slotState{server: slot.ServerSlot{ReadBack: l.caps.ReadBack}, grantOf: map[uint64]string{}}
	}
	return l
}

func (l *lock) record(format string, args ...any) { l.history.add(l.world.now, format, args...) }

// step moves the bridge's record, stores it at once and does what it asks for.
func (l *lock) step(ev slot.Event) {
	w, b := l.world, l.bridge
	if !b.alive {
		return
	}
	ev.At, ev.ClockError = b.clock(), b.clockError()
	w.count.steps++
	var actions []slot.Action
	l.state, actions = slot.Step(l.state, ev)
	l.wake++
	for _, a := range actions {
		switch a.Kind {
		case slot.ReportObserved:
			b.report(l, a.Slot, a.Observed, l.slots[a.Slot].noticed)
		case slot.StartOp:
			l.start(a.Op)
		case slot.WakeAt:
			number, boot := l.wake, b.boot
			w.after(b.until(a.At), func() {
				if l.wake == number && b.boot == boot {
					l.step(slot.Event{Kind: slot.TimePassed})
				}
			})
		}
	}
}

// start sends an operation to the lock, with random faults.
func (l *lock) start(op slot.Op) {
	w := l.world
	w.count.operations++
	l.record("%s slot %d generation %d starts", op.Kind, op.Slot, op.Generation)
	s, _ := l.state.Slot(op.Slot)
	f := &flight{op: op, boot: l.bridge.boot, began: w.now, opens: s.Desired.NotBefore, ends: s.Desired.NotAfter}
	for _, other := range l.inFlight {
		if !other.gone && other.op.Kind != slot.OpRead { // a reading changes nothing
			w.fail(l, "property 5: %s of slot %d starts while %s of slot %d may still land", op.Kind, op.Slot, other.op.Kind, other.op.Slot)
		}
	}
	l.inFlight = append(l.inFlight[:0], f)
	life := l.bridge.until(op.ExpiresAt)
	w.after(life-1, func() { f.gone = !w.lingers })
	latency := w.between(50*time.Millisecond, life/2)
	switch {
	case w.now.Before(l.offline):
		l.answer(f, latency, slot.Event{Result: slot.LockOffline})
		if w.chance(0.3) { // the parent in the Zigbee network held the frame
			l.lands(f, w.between(latency, life-2), nil)
		}
	case w.chance(0.08):
		l.answer(f, latency, slot.Event{Result: slot.Busy})
		f.gone = true
	case w.chance(0.08):
		l.silence(f, latency, life)
	case w.chance(0.08):
		w.count.late++
		l.silence(f, latency, life)
		last := life - 2
		if w.lingers {
			last = 10 * life
		}
		l.lands(f, w.between(latency, last), nil)
	default:
		acked := !w.chance(0.08)
		l.lands(f, latency, func(ev slot.Event) {
			if acked {
				l.answer(f, 0, ev)
			} else {
				l.silence(f, 0, life-latency)
			}
		})
	}
}

// silence is a driver that times out, or never answers.
func (l *lock) silence(f *flight, least, most time.Duration) {
	l.world.count.silent++
	if l.world.chance(0.2) {
		return
	}
	r := slot.Timeout
	if l.profile.Silent {
		r = slot.NotConfirmed
	}
	l.answer(f, l.world.between(least, most), slot.Event{Result: r})
}

// answer reaches the bridge if it still runs.
func (l *lock) answer(f *flight, d time.Duration, ev slot.Event) {
	ev.Kind, ev.Seq = slot.Answered, f.op.Seq
	seen := l.slots[f.op.Slot].touches
	l.world.after(d, func() {
		if l.bridge.boot != f.boot || l.state.Op.Seq != f.op.Seq || l.state.Op.Kind == "" {
			return
		}
		l.record("%s slot %d is answered %s", f.op.Kind, f.op.Slot, ev.Result)
		if p := l.slots[f.op.Slot]; ev.Result == slot.OK && !(f.op.Kind == slot.OpRead && l.hidden(p)) {
			p.noticed = max(p.noticed, seen)
		}
		l.step(ev)
	})
}

// hidden reports whether reading a slot does not show that its code is foreign.
func (l *lock) hidden(p *slotState) bool {
	return p.cell.pin != "" && p.cell.generation == 0 && !p.cell.stranger && l.caps.Readable != slot.ReadableClear
}

// lands lets an operation take effect, unless its time is over.
func (l *lock) lands(f *flight, d time.Duration, then func(slot.Event)) {
	l.world.after(d, func() {
		if f.gone {
			return
		}
		f.gone = true
		p := l.slots[f.op.Slot]
		ev := slot.Event{Result: slot.OK}
		switch f.op.Kind {
		case slot.OpRead:
			ev.Present = p.cell.pin != ""
			if l.caps.Readable == slot.ReadableClear {
				ev.PIN = p.cell.pin
			}
		default:
			if ev.Result, ev.Rule = l.answerTo(f.op); ev.Result == slot.OK {
				l.write(f)
			} else {
				l.world.count.refused++
				if ev.Result != slot.Occupied {
					p.refused = f.op.Generation
				}
				if l.profile.Silent {
					ev.Result = slot.NotConfirmed
				}
			}
		}
		if then != nil {
			then(ev)
		}
	})
}

// answerTo is the lock's answer to a write.
func (l *lock) answerTo(op slot.Op) (slot.Result, string) {
	if op.Kind == slot.OpClear {
		return slot.OK, ""
	}
	if rule := l.caps.CheckPIN(op.PIN); rule != "" {
		return slot.InvalidFormat, rule
	}
	if l.profile.RefusesOccupied && !op.Replace && l.slots[op.Slot].cell.pin != "" {
		return slot.Occupied, ""
	}
	if l.profile.RefusesDuplicates {
		for i := 1; i <= slotsUsed; i++ {
			if i != int(op.Slot) && l.slots[i].cell.pin == op.PIN {
				return slot.Duplicate, ""
			}
		}
	}
	return slot.OK, ""
}

func (l *lock) write(f *flight) {
	w, p := l.world, l.slots[f.op.Slot]
	w.count.landed++
	l.record("%s slot %d generation %d lands", f.op.Kind, f.op.Slot, f.op.Generation)
	if f.op.Generation < p.landed {
		w.fail(l, "property 2: generation %d of slot %d took effect after %d", f.op.Generation, f.op.Slot, p.landed)
	}
	if p.cell.stranger && l.caps.ReadBack {
		w.fail(l, "property 4: a stranger's code in slot %d was touched", f.op.Slot)
	}
	p.landed = max(p.landed, f.op.Generation)
	p.cell = cell{}
	if f.op.Kind == slot.OpSet {
		p.cell = cell{pin: f.op.PIN, from: f.op.NotBefore, to: f.op.NotAfter, generation: f.op.Generation, opens: f.opens, ends: f.ends}
		l.watch(p.cell)
	}
	l.check(int(f.op.Slot))
}

// pinFor generates a PIN that the lock's rules allow.
func (l *lock) pinFor() slot.PIN {
	pin := make([]byte, 6)
	for i := range pin {
		pin[i] = '1' + byte(l.world.rng.IntN(9))
	}
	pin[0] = '3' + byte(l.world.rng.IntN(7))
	return slot.PIN(pin)
}

func (l *lock) grant() string {
	l.world.grants++
	return fmt.Sprint("grant ", l.world.grants)
}
