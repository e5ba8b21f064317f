package simulation

import (
	"time"

	"latchkey.dev/internal/lock/slot"
)

// rows are the server's input of the digest.
func (l *lock) rows() []slot.DigestRow {
	var out []slot.DigestRow
	for i := 1; i <= slotsUsed; i++ {
		if s := l.slots[i].server; concernsBridge(s) {
			out = append(out, s.DigestRow(uint32(i)))
		}
	}
	return out
}

// concernsBridge reports whether a slot is sent to bridges.
func concernsBridge(s slot.ServerSlot) bool {
	return s.Desired.Generation > 0 &&
		(s.Desired.Intent == slot.Present || s.Observed.Generation > 0 || s.SentTo != "" || s.SentToOther)
}

// push sends a slot's desired state in the bridge's session, as the server knows it.
func (l *lock) push(i int) {
	p := l.slots[i]
	if !concernsBridge(p.server) {
		return
	}
	var d slot.Desired
	p.server, d = slot.MarkSent(p.server, "the bridge")
	l.bridge.deliver(l, i, d)
}

// desire changes the desired state of a slot. The notification that follows is lost now and then.
func (l *lock) desire(i int, grant string, d slot.Desired) bool {
	p, w := l.slots[i], l.world
	before := p.server
	next, ok := slot.Assign(before, grant, d)
	if !ok {
		return false
	}
	w.count.edits++
	p.server = next
	p.grantOf[next.Desired.Generation] = grant
	l.record("%s wants slot %d: %v", grant, i, next.Desired)
	if next.Desired.Generation <= before.Desired.Generation {
		w.fail(l, "property 9: generation %d after %d", next.Desired.Generation, before.Desired.Generation)
	}
	if d.Intent == slot.Absent && before.SentTo == "" && !before.SentToOther { // it was sent to no bridge
		p.server.Grant = ""
	}
	if end := next.Desired.NotAfter; d.Intent == slot.Present && !end.IsZero() {
		generation := next.Desired.Generation
		w.after(end.Sub(w.now)+w.between(0, 10*time.Minute), func() { l.removeExpired(i, grant, generation) })
		w.after(end.Sub(w.now)+2*time.Second, func() { l.closed(i, generation) })
	}
	l.check(i)
	if !w.chance(0.05) {
		w.after(w.between(0, 50*time.Millisecond), func() { l.push(i) })
	}
	return true
}

// removeExpired removes a code whose stay has ended.
func (l *lock) removeExpired(i int, grant string, generation uint64) {
	if s := l.slots[i].server; s.Grant == grant && s.Desired.Generation == generation {
		l.desire(i, grant, slot.Desired{Intent: slot.Absent})
	}
}

// receiveReport applies a report.
func (l *lock) receiveReport(i int, epoch uint64, o slot.Observed, seen int) {
	p, w := l.slots[i], l.world
	before := p.server
	next, changed := slot.ApplyReport(before, l.bridge.session, slot.Report{Epoch: epoch, Observed: o})
	if epoch != l.bridge.session {
		w.count.oldReports++
		if changed {
			w.fail(l, "property 6: a report of session %d had an effect in %d", epoch, l.bridge.session)
		}
		return
	}
	if o.Generation == before.Desired.Generation {
		p.reported = max(p.reported, seen)
	}
	if !changed {
		return
	}
	p.server = next
	l.record("the server receives a report of slot %d: generation %d present %v %s %s", i, o.Generation, o.Present, o.Evidence, o.Result)
	if b := before.Observed; b.Generation == o.Generation && b.Present == o.Present && b.Evidence == o.Evidence && b.Result == o.Result && b.Cleared == o.Cleared {
		w.fail(l, "property 12: slot %d: the same observation was entered twice", i)
	}
	switch publicEvidence(p.server, w.now) {
	case slot.Verified:
		w.count.verified++
	case slot.Removed:
		w.count.removed++
	}
	l.check(i)
}

// publicEvidence is the evidence of a slot as users see it.
func publicEvidence(s slot.ServerSlot, now time.Time) slot.Evidence {
	if s.Desired.Generation > 0 && s.Desired.Intent == slot.Absent {
		if s.Grant == "" {
			return slot.Removed
		}
		return slot.Removing
	}
	return s.EvidenceAt(now)
}

// resend sends desired states again that were not reported.
func (b *bridge) resend() {
	w := b.world
	if b.epoch != 0 {
		for _, l := range b.locks {
			for i := 1; i <= slotsUsed; i++ {
				if s := l.slots[i].server; concernsBridge(s) && s.Observed.Generation != s.Desired.Generation {
					l.push(i)
				}
			}
		}
	}
	w.after(w.between(4*time.Minute, 5*time.Minute), b.resend)
}

// killServer ends every session; what the server had not stored is lost.
func (w *world) killServer() {
	w.count.serverKills++
	for _, b := range w.bridges {
		if b.epoch != 0 {
			b.disconnect()
			b.session++ // former sessions have no effect any more
			w.after(w.between(5*time.Second, time.Minute), b.connect)
		}
	}
}
