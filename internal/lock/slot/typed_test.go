package slot

import (
	"testing"
	"time"
)

// A door is opened with the code in a slot. As long as that code can only be one grant's, the generation says whose.
func TestTypedGeneration(t *testing.T) {
	const another, third PIN = "9999", "1234"
	gone := Desired{Intent: Absent}
	code := func(pin PIN) Desired { return Desired{Intent: Present, PIN: pin} }
	readable := realLock()
	readable.ReadBack = true
	for _, tt := range []struct {
		name string
		caps Capabilities
		do   func(b *bench)
		want uint64
	}{
		{"on its way to a slot that was never read", realLock(), func(b *bench) { b.desire(1, always) }, 0},
		{"set", realLock(), func(b *bench) { b.desire(1, always); b.answer(OK) }, 1},
		{"about to be taken off", realLock(), func(b *bench) { b.desire(1, always); b.answer(OK); b.desire(1, gone); b.inFlight(OpClear, 1) }, 1},
		{"perhaps taken off", realLock(), func(b *bench) { b.desire(1, always); b.answer(OK); b.desire(1, gone); b.answer(Timeout) }, 1},
		{"taken off", realLock(), func(b *bench) { b.desire(1, always); b.answer(OK); b.desire(1, gone); b.answer(OK) }, 0},
		{"about to be replaced", realLock(), func(b *bench) { b.desire(1, always); b.answer(OK); b.desire(1, code(another)) }, 1},
		{"perhaps replaced", realLock(), func(b *bench) { b.desire(1, always); b.answer(OK); b.desire(1, code(another)); b.answer(Timeout) }, 1},
		{"not replaced, and replaced again", realLock(), func(b *bench) {
			b.desire(1, always)
			b.answer(OK)
			b.desire(1, code(another))
			b.answer(LockOffline)
			b.desire(1, code(third))
		}, 1},
		{"replaced", realLock(), func(b *bench) { b.desire(1, always); b.answer(OK); b.desire(1, code(another)); b.answer(OK) }, 2},
		{"replaced, and about to be taken off", realLock(), func(b *bench) {
			b.desire(1, always)
			b.answer(OK)
			b.desire(1, code(another))
			b.answer(OK)
			b.desire(1, gone)
		}, 2},
		{"on its way to a slot that is empty", realLock(), func(b *bench) {
			b.desire(1, always)
			b.answer(OK)
			b.desire(1, gone)
			b.answer(OK)
			b.desire(1, code(another))
		}, 3},
		{"perhaps in a slot that was empty", realLock(), func(b *bench) {
			b.desire(1, always)
			b.answer(OK)
			b.desire(1, gone)
			b.answer(OK)
			b.desire(1, code(another))
			b.answer(Timeout)
			b.desire(1, code(third))
		}, 3},
		{"refused by a slot that was empty", readable, func(b *bench) { b.desire(1, always); b.read(false, ""); b.answer(LowPower) }, 0},
		{"in doubt since the bridge was started", realLock(), func(b *bench) {
			b.desire(1, always)
			b.answer(OK)
			b.desire(1, gone)
			b.send(Event{Kind: Restarted})
		}, 1},
		{"changed by hand", realLock(), func(b *bench) { b.desire(1, always); b.answer(OK); b.alter(1) }, 0},
		{"changed by hand, and set again", realLock(), func(b *bench) { b.desire(1, always); b.answer(OK); b.alter(1); b.answer(OK) }, 1},
		{"changed by hand while it was set", realLock(), func(b *bench) { b.desire(1, always); b.alter(1); b.answer(OK) }, 0},
		{"another's code was read", readable, func(b *bench) {
			b.desire(1, always)
			b.read(false, "")
			b.answer(OK)
			b.read(true, "5555")
		}, 0},
		{"nothing was read", readable, func(b *bench) {
			b.desire(1, always)
			b.read(false, "")
			b.answer(OK)
			b.desire(1, gone)
			b.answer(LockOffline) // the reading; the removal does not wait for its retry
			b.inFlight(OpClear, 1)
			b.answer(OK)
			b.read(false, "")
		}, 0},
		{"left from the window before", realLock(), func(b *bench) {
			b.desire(1, twoWindows(another))
			b.answer(OK)
			b.pass(time.Hour)
			b.answer(Busy)
		}, 1},
		{"left from the window before, with a new code for the next", realLock(), func(b *bench) {
			b.desire(1, twoWindows(another))
			b.answer(OK)
			b.pass(time.Hour)
			b.answer(Busy)
			b.desire(1, twoWindows(third))
			b.answer(Busy)
		}, 1},
	} {
		b := newBench(t, tt.caps)
		tt.do(b)
		if got := b.lock.TypedGeneration(1); got != tt.want {
			t.Errorf("%s: generation %d, want %d", tt.name, got, tt.want)
		}
	}
}

// twoWindows desires a PIN for an hour from noon and for another one on the next day.
func twoWindows(pin PIN) Desired {
	next := noon.Add(24 * time.Hour)
	return Desired{Intent: Present, PIN: pin, NotBefore: noon, NotAfter: noon.Add(time.Hour), LaterWindows: PackWindows(Window{next, next.Add(time.Hour)})}
}
