package slot

import (
	"encoding/binary"
	"slices"
	"time"
)

// tick moves every stored time one unit nearer to now; what is past stays at now.
func (w world) tick() world {
	near := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		if t = t.Add(-unit); t.Before(epoch0) {
			return epoch0
		}
		return t
	}
	desired := func(d *Desired) { d.NotBefore, d.NotAfter = near(d.NotBefore), near(d.NotAfter) }
	for i := range w.srv {
		desired(&w.srv[i].Desired)
		desired(&w.windows[i])
		w.cell[i].from, w.cell[i].to = near(w.cell[i].from), near(w.cell[i].to)
	}
	w.downD = slices.Clone(w.downD)
	for i := range w.downD {
		desired(&w.downD[i])
	}
	air := w.air
	w.air = nil
	for _, f := range air {
		f.op.Until, f.op.NotBefore, f.op.NotAfter = near(f.op.Until), near(f.op.NotBefore), near(f.op.NotAfter)
		if f.op.Until.After(epoch0) {
			w.air = append(w.air, f)
		}
	}
	l := &w.lock
	l.Fence, l.Op.Until, l.Op.NotBefore, l.Op.NotAfter = near(l.Fence), near(l.Op.Until), near(l.Op.NotBefore), near(l.Op.NotAfter)
	l.Slots = slices.Clone(l.Slots)
	for i := range l.Slots {
		s := &l.Slots[i]
		desired(&s.Desired)
		s.Held.NotBefore, s.Held.NotAfter = near(s.Held.NotBefore), near(s.Held.NotAfter)
		s.RetryAt, s.ReadAt = near(s.RetryAt), near(s.ReadAt)
	}
	return w
}

// key encodes a world; equal keys are equal worlds.
func (w *world) key(b []byte, slots int) []byte {
	num := func(n uint64) { b = binary.AppendUvarint(b, n) }
	text := func(s string) { num(uint64(len(s))); b = append(b, s...) }
	flag := func(fs ...bool) {
		n := uint64(0)
		for i, f := range fs {
			if f {
				n |= 1 << i
			}
		}
		num(n)
	}
	at := func(ts ...time.Time) {
		for _, t := range ts {
			n := byte(0)
			if !t.IsZero() {
				n = byte(1 + t.Sub(epoch0)/unit)
			}
			b = append(b, n)
		}
	}
	desired := func(d Desired) {
		num(d.Generation)
		text(string(d.Intent[:min(1, len(d.Intent))]) + string(d.PIN))
		at(d.NotBefore, d.NotAfter)
		flag(d.Claimed)
	}
	observed := func(o Observed) {
		num(o.Generation)
		flag(o.Present)
		text(string(o.Evidence))
		text(string(o.Result))
	}
	op := func(o Op) {
		text(string(o.Kind) + string(o.PIN))
		num(o.Seq<<1 | uint64(o.Slot)<<8)
		num(o.Generation)
		at(o.NotBefore, o.NotAfter, o.Until)
		flag(o.Replace)
	}
	flag(w.alive, w.up)
	b = append(b, w.edits, w.cuts, w.kills, w.touches, w.swaps, w.enrolled)
	for i := range slots {
		s := w.srv[i]
		desired(s.Desired)
		observed(s.Observed)
		text(s.Grant + "/" + s.Claimant)
		flag(s.Inherited, s.Foreign, w.touched[i], w.blind[i])
		text(string(w.cell[i].pin))
		at(w.cell[i].from, w.cell[i].to)
		num(w.landed[i])
	}
	num(uint64(len(w.down)))
	for i, d := range w.downD {
		num(uint64(w.down[i]))
		desired(d)
	}
	for _, q := range [][]upward{w.reports, w.old} {
		num(uint64(len(q)))
		for _, m := range q {
			num(uint64(m.slot))
			observed(m.o)
			flag(m.stale)
		}
	}
	num(uint64(len(w.air)))
	for _, f := range w.air {
		op(f.op)
		flag(f.overtaken)
	}
	op(w.lock.Op)
	at(w.lock.Fence)
	num(uint64(len(w.lock.Slots)))
	for _, s := range w.lock.Slots {
		num(uint64(s.Number))
		desired(s.Desired)
		observed(s.Observed)
		b = append(b, byte(s.Held.Is), s.Attempts, s.Passed)
		text(string(s.Held.PIN))
		text(string(s.Held.Evidence))
		at(s.Held.NotBefore, s.Held.NotAfter, s.RetryAt, s.ReadAt)
		text(string(s.Refused))
		text(string(s.Code))
		flag(s.Cured)
	}
	return b
}
