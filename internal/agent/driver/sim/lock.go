package sim

import (
	"context"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

type cell struct {
	pin       slot.PIN
	notBefore time.Time
	notAfter  time.Time
}

// lock is a simulated lock; its house's mutex guards it.
type lock struct {
	house   *House
	spec    Spec
	profile Profile
	caps    slot.Capabilities
	slots   map[uint32]cell
	script  []Fault
	jammed  bool
	offline bool
	battery uint32 // percent
	seen    time.Time
	writes  int
	unlocks int
	keypad  keypad
}

// Below empty a lock does not work, below weak it accepts no codes.
const (
	empty = 1
	weak  = 5
)

func newLock(h *House, s Spec, p Profile) *lock {
	l := &lock{house: h, spec: s, profile: p, caps: p.Capabilities, slots: map[uint32]cell{}, battery: s.Battery, seen: h.clock.Now()}
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
	if s.Patient {
		l.caps.Lockout, l.caps.KeypadPause, l.keypad.lockout = slot.LockoutNone, false, slot.Lockout{}
	}
	return l
}

func (l *lock) put(number uint32, c cell) {
	if c.pin == "" {
		delete(l.slots, number)
	} else {
		l.slots[number] = c
	}
	l.house.saveMemory()
}

func (l *lock) reachable() bool { return !l.offline && l.battery >= empty }

func (l *lock) press(pin slot.PIN) Press {
	if l.battery < empty {
		return Press{Reason: "noPower"}
	}
	if l.jammed {
		return Press{Reason: "jammed"}
	}
	if !l.keypad.open(l.house.clock.Now()) {
		return Press{Reason: keypadPaused}
	}
	p := l.match(pin)
	l.keypad.count(p, l.house.clock.Now())
	return p
}

// match looks for a PIN in the slots.
func (l *lock) match(pin slot.PIN) Press {
	now := l.house.clock.Now().Add(l.spec.Drift)
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

// check returns the lock's own refusal of a setting, or OK.
func (l *lock) check(s driver.Setting) driver.Answer {
	if s.Slot == 0 || int(s.Slot) > l.caps.Slots {
		return driver.Answer{Result: slot.SlotsFull}
	}
	if rule := l.caps.CheckPIN(s.PIN); rule != "" {
		return driver.Answer{Result: slot.InvalidFormat, Rule: rule}
	}
	if l.battery < weak {
		return driver.Answer{Result: slot.LowPower}
	}
	_, used := l.slots[s.Slot]
	if used && l.profile.Occupied && !s.Replace {
		return driver.Answer{Result: slot.Occupied}
	}
	if !used && l.spec.Capacity > 0 && len(l.slots) >= l.spec.Capacity {
		return driver.Answer{Result: slot.SlotsFull}
	}
	if l.profile.Duplicates {
		for n, c := range l.slots {
			if n != s.Slot && c.pin == s.PIN {
				return driver.Answer{Result: slot.Duplicate}
			}
		}
	}
	return driver.Answer{Result: slot.OK}
}

// houseDriver is the driver that a bridge gets.
type houseDriver struct{ house *House }

func (v houseDriver) Locks(context.Context) ([]driver.Lock, error) {
	var out []driver.Lock
	for _, a := range v.house.Addresses() {
		out = append(out, lockHandle{v.house.locks[a]})
	}
	return out, nil
}

func (v houseDriver) Events() <-chan driver.Event { return v.house.events }

func (v houseDriver) Close() error { return nil }

// lockHandle is the lock that a bridge gets: every call goes through the radio's faults.
type lockHandle struct{ lock *lock }

func (s lockHandle) Address() string                 { return s.lock.spec.Address }
func (s lockHandle) Model() string                   { return s.lock.profile.Model }
func (s lockHandle) Capabilities() slot.Capabilities { return s.lock.caps }

func (s lockHandle) Radio() string {
	if s.lock.spec.Radio == "" {
		return "lock " + s.lock.spec.Address
	}
	return s.lock.spec.Radio
}

func (s lockHandle) Set(ctx context.Context, set driver.Setting) driver.Answer {
	return s.lock.write(ctx, func() driver.Answer {
		a := s.lock.check(set)
		if a.Result != slot.OK {
			if s.lock.profile.Silent {
				return driver.Answer{Result: slot.NotConfirmed}
			}
			return a
		}
		c := cell{pin: set.PIN}
		if s.lock.caps.Schedule == slot.ScheduleWindow {
			c.notBefore, c.notAfter = set.NotBefore, set.NotAfter
		}
		s.lock.put(set.Slot, c)
		return a
	})
}

func (s lockHandle) Clear(ctx context.Context, number uint32) driver.Answer {
	return s.lock.write(ctx, func() driver.Answer {
		s.lock.put(number, cell{})
		return driver.Answer{Result: slot.OK}
	})
}

func (s lockHandle) Read(ctx context.Context, number uint32) (driver.Content, driver.Answer) {
	var c driver.Content
	a := s.lock.call(ctx, false, func() driver.Answer {
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

func (s lockHandle) Unlock(ctx context.Context) driver.Answer {
	return s.lock.call(ctx, false, func() driver.Answer {
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

func (s lockHandle) SetLockout(ctx context.Context, want slot.Lockout) (got slot.Lockout, a driver.Answer) {
	if s.lock.caps.Lockout != slot.LockoutSettable {
		return got, driver.Answer{Result: slot.Unsupported}
	}
	a = s.lock.call(ctx, false, func() driver.Answer {
		s.lock.keypad.lockout = want
		got = want
		return driver.Answer{Result: slot.OK}
	})
	return got, a
}

func (s lockHandle) PauseKeypad(ctx context.Context, d time.Duration) driver.Answer {
	if !s.lock.caps.KeypadPause {
		return driver.Answer{Result: slot.Unsupported}
	}
	return s.lock.call(ctx, false, func() driver.Answer {
		if ctx.Err() != nil {
			return driver.Answer{Result: slot.Timeout}
		}
		s.lock.keypad.closedUntil = s.lock.house.clock.Now().Add(d)
		return driver.Answer{Result: slot.OK}
	})
}

func (s lockHandle) Status(context.Context) (driver.Status, error) {
	l := s.lock
	l.house.mu.Lock()
	defer l.house.mu.Unlock()
	now := l.house.clock.Now()
	if l.reachable() {
		l.seen = now
	}
	battery, drift := l.battery, l.spec.Drift
	st := driver.Status{
		Bolt: "locked", Door: "unknown", BatteryPercent: &battery, BatteryObservedAt: l.seen, Online: l.reachable(),
		LastSeenAt: l.seen, ClockOffset: &drift, ClockObservedAt: l.seen, Firmware: "sim 1",
	}
	if l.caps.DoorSensor {
		st.Door = "closed"
	}
	switch {
	case !l.reachable():
		st.Bolt = "unknown"
	case l.jammed:
		st.Bolt = "jammed"
	}
	return st, nil
}
