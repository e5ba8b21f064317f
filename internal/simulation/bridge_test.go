package simulation

import (
	"time"

	"latchkey.dev/internal/lock/slot"
)

// bridge is a process with a clock that is wrong, and a link that is now and then there. What it
// knows of locks is on its disk (lock.state); what is here is lost when it is killed.
type bridge struct {
	world *world
	locks []*lock
	alive bool
	boot  int
	skew  time.Duration // its clock minus the true one
	drift float64       // how much faster its clock is

	epoch   uint64    // of the session it believes in; 0: none
	session uint64    // the server's
	lastUp  time.Time // messages of one session keep their order
	lastOut time.Time
}

// clock is the bridge's time.
func (b *bridge) clock() time.Time {
	run := b.world.now.Sub(start)
	return b.world.now.Add(b.skew + time.Duration(float64(run)*b.drift))
}

// until is how long it takes until the bridge's clock shows an instant.
func (b *bridge) until(at time.Time) time.Duration {
	return time.Duration(float64(at.Sub(b.clock()))/(1+b.drift)) + time.Nanosecond
}

// clockError is the error of the bridge's clock, rounded up, as its last session measured it.
func (b *bridge) clockError() time.Duration {
	return b.clock().Sub(b.world.now).Abs().Truncate(time.Second) + time.Second
}

func (b *bridge) kill() {
	if !b.alive {
		return
	}
	b.world.count.kills++
	b.alive = false
	b.boot++
	b.disconnect()
	off := 5 * time.Minute
	if b.world.rng.IntN(2) == 0 {
		off = 3 * time.Second
	}
	b.world.after(b.world.between(time.Millisecond, off), b.restart)
}

func (b *bridge) restart() {
	if b.alive {
		return
	}
	b.alive = true
	for _, l := range b.locks {
		l.record("bridge restarted")
		l.step(slot.Event{Kind: slot.Restarted})
	}
	b.reconnect()
}

// disconnect ends the session on the bridge's side. The server may notice later.
func (b *bridge) disconnect() {
	b.epoch = 0
	for _, l := range b.locks {
		l.record("link cut")
	}
}

func (b *bridge) reconnect() {
	b.world.after(b.world.between(0, 10*time.Second), b.connect)
}

// connect opens a session and sends snapshots of the locks whose digests differ.
func (b *bridge) connect() {
	w := b.world
	if !b.alive || b.epoch != 0 {
		return
	}
	if w.chance(0.3) { // the network is still down
		w.after(w.about(2*time.Minute), b.connect)
		return
	}
	b.session++
	b.epoch = b.session
	b.lastUp, b.lastOut = w.now, w.now
	for _, l := range b.locks {
		l.record("session %d", b.epoch)
		if slot.LockDigest(l.rows()) != slot.LockDigest(l.state.DigestRows()) {
			for i := 1; i <= slotsUsed; i++ {
				l.push(i)
			}
		}
	}
}

// report sends an observation to the server: late, twice, or never if the link is cut.
func (b *bridge) report(l *lock, number uint32, o slot.Observed, seen int) {
	w := b.world
	if b.epoch == 0 {
		return
	}
	epoch := b.epoch
	at := w.now.Add(w.between(5*time.Millisecond, 300*time.Millisecond))
	if w.chance(0.05) {
		at = at.Add(w.about(40 * time.Second))
	}
	if at.Before(b.lastUp) {
		at = b.lastUp
	}
	b.lastUp = at
	arrives := func() {
		if b.epoch != epoch && w.rng.IntN(2) == 0 { // lost with the session
			return
		}
		l.receiveReport(int(number), epoch, o, seen)
	}
	w.after(at.Sub(w.now), arrives)
	if w.chance(0.05) {
		w.after(at.Sub(w.now), arrives)
	}
}

// deliver sends a desired state to the bridge.
func (b *bridge) deliver(l *lock, number int, d slot.Desired) {
	w := b.world
	epoch := b.session
	at := w.now.Add(w.between(5*time.Millisecond, 300*time.Millisecond))
	if w.chance(0.05) {
		at = at.Add(w.about(40 * time.Second))
	}
	if at.Before(b.lastOut) {
		at = b.lastOut
	}
	b.lastOut = at
	twice := w.chance(0.05)
	w.after(at.Sub(w.now), func() {
		if b.epoch != epoch { // what a session did not deliver is gone with it
			return
		}
		ev := slot.Event{Kind: slot.DesiredChanged, Slot: uint32(number), Desired: d}
		l.record("slot %d %v arrives", number, d)
		l.step(ev)
		if twice {
			l.step(ev)
		}
	})
}
