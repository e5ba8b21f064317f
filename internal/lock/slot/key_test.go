package slot

import (
	"encoding/binary"
	"time"
)

// key encodes a world; equal keys are equal worlds.
//
//go:norace
func (w *world) key(b []byte, slots int) []byte {
	e := encoder{b}
	e.flag(w.zombie, w.calm)
	e.b = append(e.b, w.session, byte(w.skew), w.left.edits, w.left.cuts, w.left.kills, w.left.touches,
		w.left.swaps, w.left.twins, w.left.restores, w.left.lies, w.left.rollbacks, w.left.images,
		w.drifts, w.stored, w.noted, w.acked, w.batch, w.batchOf, w.sequence, w.written)
	for i := range slots {
		e.server(w.srv[i])
		if e.flag(w.backed, w.unaware[i]); w.backed {
			e.server(w.backup[i])
		}
		e.num(w.drawn[i])
		e.num(w.lost[i])
		e.flag(w.touched[i], w.blind[i], w.news[i])
		if w.calm {
			e.flag(w.changed[i])
			e.b = append(e.b, w.writes[i])
		}
		e.b = append(e.b, w.passed[i])
		in := w.cell[i]
		e.text(string(in.pin))
		e.at(in.from, in.to, in.opens, in.ends)
		e.num(in.gen)
		e.num(w.landed[i])
		e.num(w.refused[i])
		e.b = append(e.b, w.who[i][:]...)
		e.text(w.used[i])
		e.at(w.window[i].NotBefore, w.window[i].NotAfter)
	}
	for _, q := range [][]downward{w.down, w.late} {
		e.num(uint64(len(q)))
		for _, m := range q {
			e.num(uint64(m.slot))
			e.desired(m.d)
		}
	}
	for _, q := range [][]upward{w.reports, w.old} {
		e.num(uint64(len(q)))
		for _, m := range q {
			e.num(uint64(m.slot))
			e.observed(m.o)
			e.flag(m.stale)
		}
	}
	e.num(uint64(len(w.air)))
	for _, f := range w.air {
		e.op(f.op)
		e.flag(f.overtaken, f.fresh, f.landed)
		e.at(f.opens, f.ends)
	}
	for p := range w.peers {
		e.peer(&w.peers[p])
	}
	if e.flag(w.imaged); w.imaged {
		e.peer(&peer{lock: w.image})
	}
	return e.b
}

type encoder struct{ b []byte }

//go:norace
func (e *encoder) num(n uint64) { e.b = binary.AppendUvarint(e.b, n) }

//go:norace
func (e *encoder) text(s string) {
	e.num(uint64(len(s)))
	e.b = append(e.b, s...)
}

//go:norace
func (e *encoder) flag(fs ...bool) {
	n := uint64(0)
	for i, f := range fs {
		if f {
			n |= 1 << i
		}
	}
	e.num(n)
}

//go:norace
func (e *encoder) at(ts ...time.Time) {
	for _, t := range ts {
		n := byte(0)
		if !t.IsZero() {
			n = byte(32 + t.Sub(epoch0)/unit)
		}
		e.b = append(e.b, n)
	}
}

//go:norace
func (e *encoder) desired(d Desired) {
	e.num(d.Generation)
	e.text(string(d.Intent[:min(1, len(d.Intent))]) + string(d.PIN))
	e.at(d.NotBefore, d.NotAfter)
	for _, w := range d.LaterWindows.All() {
		e.at(w.From, w.To)
	}
	e.num(uint64(d.LaterWindows.Len()))
	e.flag(d.MayHoldOwn, d.OneTimeID != "")
	e.num(d.ReportedGeneration)
}

//go:norace
func (e *encoder) observed(o Observed) {
	e.num(o.Generation)
	e.flag(o.Present, o.Used, o.Cleared)
	e.num(uint64(o.Window))
	e.text(string(o.Evidence))
	e.text(string(o.Result))
}

//go:norace
func (e *encoder) server(s ServerSlot) {
	e.desired(s.Desired)
	e.observed(s.Observed)
	e.text(s.Grant + "/" + s.SentTo)
	e.flag(s.SentToOther, s.Foreign, s.OlderMayRemain)
}

//go:norace
func (e *encoder) op(o Op) {
	e.text(string(o.Kind) + string(o.PIN))
	e.num(o.Seq<<1 | uint64(o.Slot)<<8)
	e.num(o.Generation)
	e.at(o.NotBefore, o.NotAfter, o.ExpiresAt)
	e.flag(o.Replace)
}

//go:norace
func (e *encoder) peer(p *peer) {
	e.flag(p.alive)
	e.op(p.lock.Op)
	e.at(p.lock.Fence, p.wake)
	e.num(uint64(len(p.lock.Slots)))
	for _, s := range p.lock.Slots {
		e.num(uint64(s.Number))
		e.desired(s.Desired)
		e.observed(s.Observed)
		e.b = append(e.b, byte(s.Content.Kind), s.Attempts, s.TimesOvertaken)
		e.text(string(s.Content.PIN))
		e.text(string(s.Content.Evidence))
		e.at(s.Content.NotBefore, s.Content.NotAfter, s.RetryAt, s.NextReadAt)
		e.text(string(s.Refusal))
		e.text(string(s.LastResult))
		e.text(string(s.RetryOf))
		e.text(s.UsedOneTimeID)
		e.flag(s.ClearedOnce, s.ReadSinceChange, s.ChangedInFlight)
		e.b = append(e.b, s.ManualChanges)
	}
}
