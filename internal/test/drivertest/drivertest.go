// Package drivertest tests what every driver must guarantee. A driver's test calls Run for each kind of lock that it supports.
package drivertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// Bench is a lock to test, empty and reachable, with access to its keypad.
type Bench struct {
	Lock driver.Lock
	// TypePIN types a PIN at the lock and reports whether it opened; nil: the test cannot use the keypad.
	TypePIN func(slot.PIN) bool
	// NoLockout means that the lock has no lockout, which the driver finds out only when it tries to set one.
	NoLockout bool
	// AdvanceTime advances the lock's clock; nil: the test cannot.
	AdvanceTime func(time.Duration)
}

const testTimeout = 20 * time.Second

// Run tests what a driver must guarantee, as subtests. make returns a new lock with its test bench for each.
func Run(t *testing.T, make func(t *testing.T) Bench) {
	t.Helper()
	for name, try := range map[string]func(*testing.T, Bench){
		"a code that was set is there and opens":       setAndRead,
		"a code that was cleared is gone":              setAndClear,
		"clearing an empty slot succeeds":              clearEmpty,
		"setting the same code again changes nothing":  setSameCode,
		"replacing a code ends the old one":            replaceCode,
		"a leading zero survives":                      leadingZero,
		"an invalid PIN or slot number is not set":     setInvalid,
		"the same code in two slots":                   setDuplicate,
		"a native window is kept":                      setWindow,
		"a call ends with its context":                 callCanceled,
		"an unlock after its deadline opens nothing":   unlockAfterDeadline,
		"wrong PINs lock the keypad for a while":       setLockout,
		"a paused keypad opens again by itself":        keypadPause,
		"address, radio and capabilities are complete": checkCapabilities,
	} {
		t.Run(name, func(t *testing.T) { try(t, make(t)) })
	}
}

// testContext returns a context that ends with the test, or after the timeout.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// validPIN returns a valid PIN for the lock, another for each n.
func (b Bench) validPIN(n int) slot.PIN {
	c := b.Lock.Capabilities()
	digits := "3579468135794681"[n : n+max(c.PINMin, min(6, c.PINMax))]
	return slot.PIN(digits)
}

// set sets a PIN in a slot. If the lock needs a validity window, it uses one around now. replace allows it to overwrite a code.
func (b Bench) set(t *testing.T, number uint32, pin slot.PIN, replace bool) driver.Answer {
	t.Helper()
	s := driver.Setting{Slot: number, PIN: pin, Replace: replace}
	if b.Lock.Capabilities().Schedule == slot.ScheduleWindow {
		s.NotBefore, s.NotAfter = time.Now().Add(-time.Hour).Truncate(time.Hour), time.Now().Add(2*time.Hour).Truncate(time.Hour)
	}
	return b.Lock.Set(testContext(t), s)
}

// mustSet is set, but fails the test unless the lock accepts the PIN.
func (b Bench) mustSet(t *testing.T, number uint32, pin slot.PIN, replace bool) {
	t.Helper()
	if a := b.set(t, number, pin, replace); a.Result != slot.OK {
		t.Fatalf("set: %s %s", a.Result, a.Rule)
	}
}

// checkSlot checks whether a slot holds the PIN, or does not if present is false: by reading and at the keypad, as far as the lock
// allows.
func (b Bench) checkSlot(t *testing.T, number uint32, pin slot.PIN, present bool) {
	t.Helper()
	c := b.Lock.Capabilities()
	if c.ReadBack {
		got, a := b.Lock.Read(testContext(t), number)
		if a.Result != slot.OK || got.Present != present {
			t.Errorf("read slot %d: present %v %s, want %v", number, got.Present, a.Result, present)
		}
		if shown := c.Readable == slot.ReadableClear; (got.PIN != "") != (shown && present) || (shown && present && got.PIN != pin) {
			t.Errorf("read slot %d: another PIN than was set, or one from a lock that shows none", number)
		}
	} else if _, a := b.Lock.Read(testContext(t), number); a.Result != slot.Unsupported {
		t.Errorf("a lock without read-back answers a reading with %s", a.Result)
	}
	if b.TypePIN != nil && b.TypePIN(pin) != present {
		t.Errorf("the keypad opens: %v, want %v", !present, present)
	}
}

func setAndRead(t *testing.T, b Bench) {
	b.mustSet(t, 1, b.validPIN(0), false)
	b.checkSlot(t, 1, b.validPIN(0), true)
}

func setAndClear(t *testing.T, b Bench) {
	b.mustSet(t, 2, b.validPIN(0), false)
	if a := b.Lock.Clear(testContext(t), 2); a.Result != slot.OK {
		t.Fatal(a.Result)
	}
	b.checkSlot(t, 2, b.validPIN(0), false)
}

func clearEmpty(t *testing.T, b Bench) {
	if a := b.Lock.Clear(testContext(t), 3); a.Result != slot.OK {
		t.Error(a.Result)
	}
}

func setSameCode(t *testing.T, b Bench) {
	b.mustSet(t, 1, b.validPIN(0), false)
	b.mustSet(t, 1, b.validPIN(0), true)
	b.checkSlot(t, 1, b.validPIN(0), true)
}

func replaceCode(t *testing.T, b Bench) {
	b.mustSet(t, 1, b.validPIN(0), false)
	b.mustSet(t, 1, b.validPIN(1), true)
	b.checkSlot(t, 1, b.validPIN(1), true)
	if b.TypePIN != nil && b.TypePIN(b.validPIN(0)) {
		t.Error("the old code still opens")
	}
}

func leadingZero(t *testing.T, b Bench) {
	pin := "0" + b.validPIN(0)[1:]
	if b.Lock.Capabilities().CheckPIN(pin) != "" {
		return // without a zero on the keypad there is none to lose
	}
	b.mustSet(t, 1, pin, false)
	b.checkSlot(t, 1, pin, true)
	if b.TypePIN != nil && b.TypePIN(pin[1:]) {
		t.Error("opens without its zero")
	}
}

func setInvalid(t *testing.T, b Bench) {
	c := b.Lock.Capabilities()
	long := slot.PIN(strings.Repeat("3", c.PINMax+1))
	for _, pin := range []slot.PIN{"", "3", long, b.validPIN(0)[1:] + "x"} {
		a := b.set(t, 1, pin, false)
		if a.Result != slot.InvalidFormat && a.Result != slot.NotConfirmed {
			t.Errorf("a PIN of %d characters is answered with %s", len(pin), a.Result)
		}
		if a.Result == slot.InvalidFormat && a.Rule == "" {
			t.Error("invalidFormat without its rule")
		}
	}
	if a := b.set(t, uint32(c.Slots)+1, b.validPIN(0), false); a.Result == slot.OK {
		t.Error("a slot beyond the last was set")
	}
}

func setDuplicate(t *testing.T, b Bench) {
	b.mustSet(t, 1, b.validPIN(0), false)
	switch a := b.set(t, 2, b.validPIN(0), false); a.Result {
	case slot.Duplicate:
		b.checkSlot(t, 1, b.validPIN(0), true)
	case slot.OK, slot.NotConfirmed:
	default:
		t.Errorf("answered with %s", a.Result)
	}
}

func setWindow(t *testing.T, b Bench) {
	if b.Lock.Capabilities().Schedule != slot.ScheduleWindow || b.TypePIN == nil {
		return
	}
	hour := time.Now().Truncate(time.Hour)
	for i, w := range []struct {
		from, to time.Duration
		opens    bool
	}{{-2 * time.Hour, 3 * time.Hour, true}, {2 * time.Hour, 3 * time.Hour, false}, {-3 * time.Hour, -2 * time.Hour, false}} {
		a := b.Lock.Set(testContext(t), driver.Setting{Slot: 1, PIN: b.validPIN(0), NotBefore: hour.Add(w.from), NotAfter: hour.Add(w.to), Replace: i > 0})
		if a.Result != slot.OK {
			t.Fatal(a.Result)
		}
		if b.TypePIN(b.validPIN(0)) != w.opens {
			t.Errorf("window from %v to %v from now opens: %v, want %v", w.from, w.to, !w.opens, w.opens)
		}
	}
}

func callCanceled(t *testing.T, b Bench) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, a := range map[string]driver.Answer{
		"set":    b.Lock.Set(ctx, driver.Setting{Slot: 1, PIN: b.validPIN(0)}),
		"clear":  b.Lock.Clear(ctx, 1),
		"unlock": b.Lock.Unlock(ctx),
	} {
		if a.Result == slot.OK || a.Result.Final() {
			t.Errorf("%s under an ended context is answered with %s", name, a.Result)
		}
	}
}

func unlockAfterDeadline(t *testing.T, b Bench) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if a := b.Lock.Unlock(ctx); a.Result == slot.OK {
		t.Error("opened after its deadline")
	}
}

// setLockout sets the lock's own lockout and types wrong PINs.
func setLockout(t *testing.T, b Bench) {
	want := slot.DesiredLockout
	got, a := b.Lock.SetLockout(testContext(t), want)
	if b.Lock.Capabilities().Lockout != slot.LockoutSettable {
		if a.Result != slot.Unsupported || got != (slot.Lockout{}) {
			t.Errorf("a lock whose lockout cannot be set answers with %s %+v", a.Result, got)
		}
		return
	}
	if b.NoLockout {
		if a.Result != slot.Unsupported || got != (slot.Lockout{}) {
			t.Errorf("a lock that turns out to have no lockout answers with %s %+v", a.Result, got)
		}
		return
	}
	if a.Result != slot.OK || !got.Effective() {
		t.Fatalf("%s, and the lock shows %+v", a.Result, got)
	}
	if again, a := b.Lock.SetLockout(testContext(t), want); a.Result != slot.OK || again != got {
		t.Errorf("set again: %s, and the lock shows %+v", a.Result, again)
	}
	if b.TypePIN == nil {
		return
	}
	b.mustSet(t, 1, b.validPIN(0), false)
	for range got.Attempts {
		if b.TypePIN(b.validPIN(1)) {
			t.Fatal("a wrong PIN opens")
		}
	}
	b.checkClosedFor(t, got.Pause)
}

// keypadPause pauses the keypad and checks that the lock ends the pause.
func keypadPause(t *testing.T, b Bench) {
	const pause = time.Minute
	a := b.Lock.PauseKeypad(testContext(t), pause)
	if !b.Lock.Capabilities().KeypadPause {
		if a.Result != slot.Unsupported {
			t.Errorf("a lock whose keypad cannot be paused answers with %s", a.Result)
		}
		return
	}
	if a.Result != slot.OK {
		t.Fatal(a.Result)
	}
	if b.TypePIN == nil {
		return
	}
	b.mustSet(t, 1, b.validPIN(0), false)
	b.checkClosedFor(t, pause)
}

// checkClosedFor checks that the keypad refuses the PIN in slot 1 for the duration d, and that remote unlocking works meanwhile.
func (b Bench) checkClosedFor(t *testing.T, d time.Duration) {
	t.Helper()
	if b.TypePIN(b.validPIN(0)) {
		t.Error("the right PIN opens a keypad that is closed")
	}
	if a := b.Lock.Unlock(testContext(t)); b.Lock.Capabilities().RemoteUnlock && a.Result != slot.OK {
		t.Errorf("unlocking while the keypad is closed: %s", a.Result)
	}
	if b.AdvanceTime == nil {
		return
	}
	b.AdvanceTime(d - time.Second)
	if b.TypePIN(b.validPIN(0)) {
		t.Error("the keypad opens before its time")
	}
	b.AdvanceTime(2 * time.Second)
	if !b.TypePIN(b.validPIN(0)) {
		t.Error("the right PIN does not open after the pause")
	}
}

func checkCapabilities(t *testing.T, b Bench) {
	c := b.Lock.Capabilities()
	if b.Lock.Address() == "" || b.Lock.Radio() == "" || b.Lock.Model() == "" {
		t.Error("a lock without address, radio or model")
	}
	if c.Slots < 1 || c.PINMin < 1 || c.PINMax < c.PINMin || c.OpLifetime <= 0 {
		t.Errorf("capabilities %+v", c)
	}
	if c.ReadBack == (c.Readable == slot.ReadableNone) {
		t.Errorf("read-back %v and readable %s", c.ReadBack, c.Readable)
	}
	switch c.Lockout {
	case "", slot.LockoutNone, slot.LockoutFixed, slot.LockoutSettable:
	default:
		t.Errorf("lockout %q", c.Lockout)
	}
	if st, err := b.Lock.Status(testContext(t)); err != nil || st.Bolt == "" {
		t.Errorf("status %+v %v", st, err)
	}
}
