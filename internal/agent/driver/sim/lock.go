package sim

import (
	"context"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// code is a code on a simulated lock, with the validity window that the lock enforces. Zero times mean no limit.
type code struct {
	pin       slot.PIN
	notBefore time.Time
	notAfter  time.Time
}

// lock is a simulated lock. Its site's mutex guards it.
type lock struct {
	site       *Site
	spec       Spec
	profile    Profile
	caps       slot.Capabilities
	slots      map[uint32]code
	nextFaults []Fault // injected faults for the next operations that set or clear a slot
	jammed     bool
	offline    bool
	battery    uint32 // percent
	lastSeen   time.Time
	writes     int // see Site.WriteCount
	unlocks    int // see Site.UnlockCount
	keypad     keypad
}

// Battery levels in percent. Below minPercentToWork a lock does nothing. Below minPercentToWrite it refuses new codes.
const (
	minPercentToWork  = 1
	minPercentToWrite = 5
)

// newLock creates the lock that a spec describes, with the capabilities of its profile p and without codes.
func newLock(h *Site, s Spec, p Profile) *lock {
	l := &lock{site: h, spec: s, profile: p, caps: p.Capabilities, slots: map[uint32]code{}, battery: s.Battery, lastSeen: h.clock.Now()}
	if s.Battery == 0 {
		l.battery = 100
	}
	if s.Slots > 0 {
		l.caps.Slots = s.Slots
	}
	if s.Lifetime > 0 {
		l.caps.OpLifetime = s.Lifetime
	}
	l.keypad.lockout = p.Lockout
	if s.NoLockout {
		l.caps.Lockout, l.caps.KeypadPause, l.keypad.lockout = slot.LockoutNone, false, slot.Lockout{}
	}
	return l
}

// setSlot stores a code in a slot, or clears the slot if the code has no PIN, and saves the slots of the site. It checks nothing. The
// caller holds the site's mutex.
func (l *lock) setSlot(number uint32, c code) {
	if c.pin == "" {
		delete(l.slots, number)
	} else {
		l.slots[number] = c
	}
	l.site.saveSlots()
}

// isReachable reports whether calls over the radio reach the lock: it is not offline, and its battery is not empty.
func (l *lock) isReachable() bool { return !l.offline && l.battery >= minPercentToWork }

// typePIN types a PIN at the keypad and returns whether the lock opens, or why not. Wrong PINs may pause the keypad.
func (l *lock) typePIN(pin slot.PIN) Press {
	if l.battery < minPercentToWork {
		return Press{Reason: "noPower"}
	}
	if l.jammed {
		return Press{Reason: "jammed"}
	}
	if !l.keypad.acceptsPINs(l.site.clock.Now()) {
		return Press{Reason: keypadPaused}
	}
	p := l.findPIN(pin)
	l.keypad.recordPIN(p, l.site.clock.Now())
	return p
}

// findPIN returns how the lock reacts to a PIN on a working keypad: it opens for a stored code within its validity window.
func (l *lock) findPIN(pin slot.PIN) Press {
	now := l.site.clock.Now().Add(l.spec.Drift)
	p := Press{Reason: driver.WrongPIN}
	for n, c := range l.slots {
		if c.pin != pin {
			continue
		}
		if (!c.notBefore.IsZero() && now.Before(c.notBefore)) || (!c.notAfter.IsZero() && !now.Before(c.notAfter)) {
			p = Press{Reason: "outsideWindow", Slot: n}
			continue
		}
		return Press{Opened: true, Slot: n}
	}
	return p
}

// checkSetting returns the answer of the lock to a new code: OK, or the error with which the lock refuses it, because of the rules of its
// profile, its capacity or its battery.
func (l *lock) checkSetting(s driver.Setting) driver.Answer {
	if s.Slot == 0 || int(s.Slot) > l.caps.Slots {
		return driver.Answer{Result: slot.SlotsFull}
	}
	if rule := l.caps.CheckPIN(s.PIN); rule != "" {
		return driver.Answer{Result: slot.InvalidFormat, Rule: rule}
	}
	if l.battery < minPercentToWrite {
		return driver.Answer{Result: slot.LowPower}
	}
	_, used := l.slots[s.Slot]
	if used && l.profile.RefusesOccupied && !s.Replace {
		return driver.Answer{Result: slot.Occupied}
	}
	if !used && l.spec.Capacity > 0 && len(l.slots) >= l.spec.Capacity {
		return driver.Answer{Result: slot.SlotsFull}
	}
	if l.profile.RefusesDuplicates {
		for n, c := range l.slots {
			if n != s.Slot && c.pin == s.PIN {
				return driver.Answer{Result: slot.Duplicate}
			}
		}
	}
	return driver.Answer{Result: slot.OK}
}

// siteDriver is a bridge's driver of the simulated locks.
type siteDriver struct{ site *Site }

// Locks returns all locks of the site, sorted by address, and no error.
func (v siteDriver) Locks(context.Context) ([]driver.Lock, error) {
	var out []driver.Lock
	for _, a := range v.site.Addresses() {
		out = append(out, lockHandle{v.site.locks[a]})
	}
	return out, nil
}

// Events returns the channel of the site's events, which all drivers of the site share. It is never closed.
func (v siteDriver) Events() <-chan driver.Event { return v.site.events }

// Close does nothing, because the locks outlive the bridge.
func (v siteDriver) Close() error { return nil }

// lockHandle is the driver's interface to a simulated lock. Status has no latency, and only Set and Clear have faults.
type lockHandle struct{ lock *lock }

func (s lockHandle) Address() string                 { return s.lock.spec.Address }
func (s lockHandle) Model() string                   { return s.lock.profile.Model }
func (s lockHandle) Capabilities() slot.Capabilities { return s.lock.caps }

// Radio returns the radio channel of the spec. Without one the lock has a channel of its own.
func (s lockHandle) Radio() string {
	if s.lock.spec.Radio == "" {
		return "lock " + s.lock.spec.Address
	}
	return s.lock.spec.Radio
}

// Set stores a PIN in a slot, or answers why the lock refuses it: see checkSetting. A Silent lock answers NotConfirmed instead. A lock that
// has no schedules ignores the window.
func (s lockHandle) Set(ctx context.Context, set driver.Setting) driver.Answer {
	return s.lock.runWrite(ctx, func() driver.Answer {
		a := s.lock.checkSetting(set)
		if a.Result != slot.OK {
			if s.lock.profile.Silent {
				return driver.Answer{Result: slot.NotConfirmed}
			}
			return a
		}
		c := code{pin: set.PIN}
		if s.lock.caps.Schedule == slot.ScheduleWindow {
			c.notBefore, c.notAfter = set.NotBefore, set.NotAfter
		}
		s.lock.setSlot(set.Slot, c)
		return a
	})
}

// Clear empties a slot. It also answers OK for an empty slot or one that the lock does not have.
func (s lockHandle) Clear(ctx context.Context, number uint32) driver.Answer {
	return s.lock.runWrite(ctx, func() driver.Answer {
		s.lock.setSlot(number, code{})
		return driver.Answer{Result: slot.OK}
	})
}

// Read returns what a slot holds, with the PIN only if the lock shows PINs in clear. It answers Unsupported if the lock cannot be read.
func (s lockHandle) Read(ctx context.Context, number uint32) (driver.Content, driver.Answer) {
	var c driver.Content
	a := s.lock.runOperation(ctx, false, func() driver.Answer {
		if s.lock.caps.Readable == slot.ReadableNone {
			return driver.Answer{Result: slot.Unsupported}
		}
		in, used := s.lock.slots[number]
		c.Present = used
		if s.lock.caps.Readable == slot.ReadableClear {
			c.PIN = in.pin
		}
		return driver.Answer{Result: slot.OK}
	})
	if a.Result != slot.OK {
		return driver.Content{}, a
	}
	return c, a
}

// Unlock opens the door, which is only counted, unless the bolt is jammed. It emits no event.
func (s lockHandle) Unlock(ctx context.Context) driver.Answer {
	return s.lock.runOperation(ctx, false, func() driver.Answer {
		if ctx.Err() != nil {
			return driver.Answer{Result: slot.Timeout}
		}
		if s.lock.jammed {
			return driver.Answer{Result: slot.Jammed}
		}
		s.lock.unlocks++
		return driver.Answer{Result: slot.OK}
	})
}

// SetLockout changes the lock's lockout and returns it. It answers Unsupported if the lock does not allow that; got is zero unless the
// answer is OK.
func (s lockHandle) SetLockout(ctx context.Context, want slot.Lockout) (got slot.Lockout, a driver.Answer) {
	if s.lock.caps.Lockout != slot.LockoutSettable {
		return got, driver.Answer{Result: slot.Unsupported}
	}
	a = s.lock.runOperation(ctx, false, func() driver.Answer {
		s.lock.keypad.lockout = want
		got = want
		return driver.Answer{Result: slot.OK}
	})
	return got, a
}

// PauseKeypad makes the keypad refuse all PINs for the time d from now. It answers Unsupported if the lock cannot do that.
func (s lockHandle) PauseKeypad(ctx context.Context, d time.Duration) driver.Answer {
	if !s.lock.caps.KeypadPause {
		return driver.Answer{Result: slot.Unsupported}
	}
	return s.lock.runOperation(ctx, false, func() driver.Answer {
		if ctx.Err() != nil {
			return driver.Answer{Result: slot.Timeout}
		}
		s.lock.keypad.closedUntil = s.lock.site.clock.Now().Add(d)
		return driver.Answer{Result: slot.OK}
	})
}

// Status returns the lock's state at once, and never an error. It works also if the lock cannot be reached: then Online is false and the
// bolt is unknown.
func (s lockHandle) Status(context.Context) (driver.Status, error) {
	l := s.lock
	l.site.mu.Lock()
	defer l.site.mu.Unlock()
	now := l.site.clock.Now()
	if l.isReachable() {
		l.lastSeen = now
	}
	battery, drift := l.battery, l.spec.Drift
	st := driver.Status{
		Bolt: "locked", Door: "unknown", BatteryPercent: &battery, BatteryObservedAt: l.lastSeen, Online: l.isReachable(),
		LastSeenAt: l.lastSeen, ClockOffset: &drift, ClockObservedAt: l.lastSeen, Firmware: "sim 1",
	}
	if l.caps.DoorSensor {
		st.Door = "closed"
	}
	switch {
	case !l.isReachable():
		st.Bolt = "unknown"
	case l.jammed:
		st.Bolt = "jammed"
	}
	return st, nil
}
