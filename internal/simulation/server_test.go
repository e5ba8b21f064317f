package simulation

import (
	"time"

	"latchkey.dev/internal/lock/slot"
)

// rows is the server's side of the digest.
func (l *lock) rows() []slot.DigestRow {
	var out []slot.DigestRow
	for i := 1; i <= slotsUsed; i++ {
		if s := l.places[i].srv; handed(s) {
			out = append(out, s.DigestRow(uint32(i)))
		}
	}
	return out
}

// handed says whether bridges are to know of a slot.
func handed(s slot.ServerSlot) bool {
	return s.Desired.Generation > 0 &&
		(s.Desired.Intent == slot.Present || s.Observed.Generation > 0 || s.SentTo != "" || s.SentToOther)
}

// push hands a slot's desired state to the bridge of the session that the server believes in.
func (l *lock) push(i int) {
	p := l.places[i]
	if !handed(p.srv) {
		return
	}
	var d slot.Desired
	p.srv, d = slot.MarkSent(p.srv, "the bridge")
	l.bridge.deliver(l, i, d)
}

// want changes what a slot shall hold. The wake-up that follows is lost now and then.
func (l *lock) want(i int, grant string, d slot.Desired) bool {
	p, w := l.places[i], l.world
	before := p.srv
	next, ok := slot.Assign(before, grant, d)
	if !ok {
		return false
	}
	w.count.edits++
	p.srv = next
	p.who[next.Desired.Generation] = grant
	l.tell("%s wants slot %d: %v", grant, i, next.Desired)
	if next.Desired.Generation <= before.Desired.Generation {
		w.fail(l, "property 9: generation %d after %d", next.Desired.Generation, before.Desired.Generation)
	}
	if d.Intent == slot.Absent && before.SentTo == "" && !before.SentToOther { // no bridge ever heard of it
		p.srv.Grant = ""
	}
	if end := next.Desired.NotAfter; d.Intent == slot.Present && !end.IsZero() {
		generation := next.Desired.Generation
		w.after(end.Sub(w.now)+w.between(0, 10*time.Minute), func() { l.over(i, grant, generation) })
		w.after(end.Sub(w.now)+2*time.Second, func() { l.closed(i, generation) })
	}
	l.check(i)
	if !w.odds(0.05) {
		w.after(w.between(0, 50*time.Millisecond), func() { l.push(i) })
	}
	return true
}

// over takes a code back whose stay has ended.
func (l *lock) over(i int, grant string, generation uint64) {
	if s := l.places[i].srv; s.Grant == grant && s.Desired.Generation == generation {
		l.want(i, grant, slot.Desired{Intent: slot.Absent})
	}
}

// hear takes in a report.
func (l *lock) hear(i int, epoch uint64, o slot.Observed, seen int) {
	p, w := l.places[i], l.world
	before := p.srv
	next, changed := slot.ApplyReport(before, l.bridge.session, slot.Report{Epoch: epoch, Observed: o})
	if epoch != l.bridge.session {
		w.count.oldReports++
		if changed {
			w.fail(l, "property 6: a report of session %d had an effect in %d", epoch, l.bridge.session)
		}
		return
	}
	if o.Generation == before.Desired.Generation {
		p.heard = max(p.heard, seen)
	}
	if !changed {
		return
	}
	p.srv = next
	l.tell("server hears of slot %d: generation %d present %v %s %s", i, o.Generation, o.Present, o.Evidence, o.Result)
	if b := before.Observed; b.Generation == o.Generation && b.Present == o.Present && b.Evidence == o.Evidence && b.Result == o.Result && b.Cleared == o.Cleared {
		w.fail(l, "property 12: slot %d: the same observation was entered twice", i)
	}
	switch called(p.srv, w.now) {
	case slot.Verified:
		w.count.verified++
	case slot.Removed:
		w.count.removed++
	}
	l.check(i)
}

// called is the word for a slot that the product gives to people.
func called(s slot.ServerSlot, now time.Time) slot.Evidence {
	if s.Desired.Generation > 0 && s.Desired.Intent == slot.Absent {
		if s.Grant == "" {
			return slot.Removed
		}
		return slot.Removing
	}
	return s.EvidenceAt(now)
}

// sweep asks anew for what was wanted and not reported.
func (b *bridge) sweep() {
	w := b.world
	if b.epoch != 0 {
		for _, l := range b.locks {
			for i := 1; i <= slotsUsed; i++ {
				if s := l.places[i].srv; handed(s) && s.Observed.Generation != s.Desired.Generation {
					l.push(i)
				}
			}
		}
	}
	w.after(w.between(4*time.Minute, 5*time.Minute), b.sweep)
}

// killServer ends every session; what the server had not stored is lost.
func (w *world) killServer() {
	w.count.serverKills++
	for _, b := range w.bridges {
		if b.epoch != 0 {
			b.cut()
			b.session++ // nothing of the sessions before counts any more
			w.after(w.between(5*time.Second, time.Minute), b.connect)
		}
	}
}
