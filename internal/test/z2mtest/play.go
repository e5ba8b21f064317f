package z2mtest

import (
	"slices"
	"time"
)

// withLock calls do with the lock at an address while it is locked for other goroutines.
func (z *Z2M) withLock(address string, do func(*virtualLock)) {
	z.t.Helper()
	z.mu.Lock()
	defer z.mu.Unlock()
	v := z.locks[address]
	if v == nil {
		z.t.Fatalf("no lock %s", address)
	}
	do(v)
}

// queueFault makes the next command to a lock have a fault.
func (z *Z2M) queueFault(address string, f fault) {
	z.t.Helper()
	z.withLock(address, func(v *virtualLock) { v.faults = append(v.faults, f) })
}

// LoseNextCommand makes the next command to a lock get lost.
func (z *Z2M) LoseNextCommand(address string) { z.t.Helper(); z.queueFault(address, fault{lost: true}) }

// SuppressNextReport makes the next command to a lock take effect without a report.
func (z *Z2M) SuppressNextReport(address string) {
	z.t.Helper()
	z.queueFault(address, fault{mute: true})
}

// FailNextCommand makes the next command to a lock fail with an error in Zigbee2MQTT's log.
func (z *Z2M) FailNextCommand(address, why string) {
	z.t.Helper()
	z.queueFault(address, fault{logged: why})
}

// IgnoreLockoutWrites makes a lock ignore writes of its lockout attributes.
func (z *Z2M) IgnoreLockoutWrites(address string) {
	z.t.Helper()
	z.withLock(address, func(v *virtualLock) { v.limit.fixed = true })
}

// TypePIN types a PIN at a lock's keypad and reports whether it opened.
func (z *Z2M) TypePIN(address, pin string) (opened bool) {
	z.t.Helper()
	z.withLock(address, func(v *virtualLock) {
		if time.Now().Before(v.limit.closedUntil) {
			return
		}
		defer func() { v.limit.recordPIN(opened, time.Now()) }()
		for user, c := range v.codes {
			if c.pin == pin && c.status == codeEnabled {
				opened = true
				z.publishState(v, map[string]any{"action": "unlock", "action_user": user, "action_source_name": "keypad", "state": "UNLOCK", "lock_state": "unlocked"})
				return
			}
		}
		z.publishState(v, map[string]any{"action": "unlock_failure_invalid_pin_or_id", "action_source_name": "keypad"})
	})
	return opened
}

// Report makes a lock publish a state message with these values.
func (z *Z2M) Report(address string, reported map[string]any) {
	z.t.Helper()
	z.withLock(address, func(v *virtualLock) { z.publishState(v, reported) })
}

// Program sets a code at the lock itself, which the lock reports; an empty PIN clears the slot.
func (z *Z2M) Program(address string, user int, pin string) {
	z.t.Helper()
	z.withLock(address, func(v *virtualLock) {
		action := "pin_code_added"
		v.codes[user] = code{pin, codeEnabled}
		if pin == "" {
			delete(v.codes, user)
			action = "pin_code_deleted"
		}
		z.publishState(v, map[string]any{"action": action, "action_user": user, "action_source_name": "keypad"})
	})
}

// IgnoreReads makes a lock ignore "get" requests if deaf is true, and otherwise answer them again.
func (z *Z2M) IgnoreReads(address string, deaf bool) {
	z.t.Helper()
	z.withLock(address, func(v *virtualLock) { v.ignoresReads = deaf })
}

// Reset deletes all codes of a lock without a report.
func (z *Z2M) Reset(address string) {
	z.t.Helper()
	z.withLock(address, func(v *virtualLock) { v.codes = map[int]code{} })
}

// DisableUser disables a code without a report: it stays in its slot but does not open.
func (z *Z2M) DisableUser(address string, user int) {
	z.t.Helper()
	z.SetUserStatus(address, user, codeDisabled)
}

// SetUserStatus changes, without a report, the status that a lock shows of a slot in use.
func (z *Z2M) SetUserStatus(address string, user int, status string) {
	z.t.Helper()
	z.withLock(address, func(v *virtualLock) {
		c := v.codes[user]
		c.status = status
		v.codes[user] = c
	})
}

// SetAvailability publishes a lock's availability, online or offline.
func (z *Z2M) SetAvailability(address, state string) {
	z.t.Helper()
	z.withLock(address, func(v *virtualLock) { z.publish(v.Name+"/availability", map[string]string{"state": state}, true) })
}

// Rename gives a lock another friendly name.
func (z *Z2M) Rename(address, name string) {
	z.t.Helper()
	z.withLock(address, func(v *virtualLock) { v.Name = name; z.publishDevices() })
}

// Pair adds a lock.
func (z *Z2M) Pair(l Lock) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.locks[l.Address] = newVirtual(l)
	z.publishDevices()
}

// PINs returns the PINs on a lock by user.
func (z *Z2M) PINs(address string) map[int]string {
	z.t.Helper()
	out := map[int]string{}
	z.withLock(address, func(v *virtualLock) {
		for user, c := range v.codes {
			out[user] = c.pin
		}
	})
	return out
}

// UnlockCount returns how often a lock was opened over the radio.
func (z *Z2M) UnlockCount(address string) (n int) {
	z.t.Helper()
	z.withLock(address, func(v *virtualLock) { n = v.unlocks })
	return n
}

// Commands returns the commands that arrived, in order.
func (z *Z2M) Commands() []Command {
	z.mu.Lock()
	defer z.mu.Unlock()
	return slices.Clone(z.commands)
}
