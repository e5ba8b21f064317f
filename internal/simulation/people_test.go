package simulation

import (
	"time"

	"latchkey.dev/internal/lock/slot"
)

// live lets a lock's guests and staff change their mind.
func (l *lock) live(every time.Duration) {
	w := l.world
	var again func()
	again = func() {
		if w.calm {
			return
		}
		l.change(1 + w.rng.IntN(slotsUsed))
		w.after(w.about(every), again)
	}
	w.after(w.about(every), again)
}

func (l *lock) change(i int) {
	w, s := l.world, l.slots[i].server
	if s.Grant == "" {
		if s.IsFree() {
			l.desire(i, l.grant(), l.stay(l.pinFor()))
		}
		return
	}
	if s.Desired.Intent == slot.Absent {
		if w.rng.IntN(10) == 0 { // the guest comes back after all
			l.desire(i, s.Grant, l.stay(l.pinFor()))
		}
		return
	}
	d := slot.Desired{Intent: slot.Present, PIN: s.Desired.PIN, NotBefore: s.Desired.NotBefore, NotAfter: s.Desired.NotAfter}
	switch draw := w.rng.IntN(10); {
	case draw < 3:
		d = slot.Desired{Intent: slot.Absent}
	case draw < 5:
		d.PIN = l.pinFor()
	case draw < 6:
		d.PIN = l.slots[1+w.rng.IntN(slotsUsed)].server.Desired.PIN // perhaps a duplicate
		if d.PIN == "" {
			return
		}
	default:
		end := w.now.Add(w.between(time.Minute, 48*time.Hour))
		if d.NotBefore.Before(end) {
			d.NotAfter = end
		}
	}
	l.desire(i, s.Grant, d)
}

func (l *lock) stay(pin slot.PIN) slot.Desired {
	w := l.world
	from := w.now.Add(w.between(-time.Hour, 12*time.Hour)).Truncate(time.Second)
	return slot.Desired{Intent: slot.Present, PIN: pin, NotBefore: from, NotAfter: from.Add(w.between(2*time.Hour, 48*time.Hour)).Truncate(time.Second)}
}

// touch makes a change by hand at the lock.
func (l *lock) touch(every time.Duration) {
	w := l.world
	var again func()
	again = func() {
		if w.calm {
			return
		}
		i := 1 + w.rng.IntN(slotsUsed)
		switch draw := w.rng.IntN(10); {
		case draw < 5:
			l.byHand(i, cell{})
		case draw < 9:
			l.program(i)
		default:
			for i := 1; i <= slotsUsed; i++ {
				l.byHand(i, cell{})
			}
		}
		w.after(w.about(every), again)
	}
	w.after(w.about(every), again)
}

// program sets a foreign code in a slot. Between the bridge's read and its write, nothing could do
// anything about that, unless the lock itself refuses.
func (l *lock) program(i int) {
	free := l.slots[i].server.Grant == ""
	if free && l.state.Op.Slot == uint32(i) && l.state.Op.Kind != "" {
		return
	}
	l.byHand(i, cell{pin: "99999" + slot.PIN('1'+rune(i)), stranger: free})
}

func (l *lock) byHand(i int, to cell) {
	p, w := l.slots[i], l.world
	if p.cell == to || (p.cell.stranger && to.pin != "") {
		return
	}
	w.count.touches++
	l.record("a person puts %d characters into slot %d", len(to.pin), i)
	p.cell = to
	p.touches++
	if to.stranger { // no evidence names a slot without a grant
		p.noticed, p.reported = p.touches, p.touches
	}
	if w.rng.IntN(2) == 0 { // some locks report it
		w.after(w.between(time.Second, time.Minute), func() { l.step(slot.Event{Kind: slot.ReadRequested, Slot: uint32(i)}) })
	}
}

// lapse takes a lock off the air now and then.
func (l *lock) lapse(every time.Duration) {
	w := l.world
	var again func()
	again = func() {
		if w.calm {
			return
		}
		l.offline = w.now.Add(w.about(10 * time.Minute))
		w.after(w.about(every), again)
	}
	w.after(w.about(every), again)
}

// trouble is what happens to a bridge again and again.
func (b *bridge) trouble(every time.Duration, do func()) {
	w := b.world
	var again func()
	again = func() {
		if w.calm {
			return
		}
		do()
		w.after(w.about(every), again)
	}
	w.after(w.about(every), again)
}
