package sim

import (
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// keypadPaused is why a keypad refuses a PIN unread: the lock's own lockout, or a pause that its bridge asked for.
const keypadPaused = "keypadPaused"

// keypad is what a lock does about wrong PINs. Its house's mutex guards it.
type keypad struct {
	lockout     slot.Lockout
	wrong       int // in a row
	closedUntil time.Time
}

// open reports whether the keypad reads PINs. Its lock's own timer ends a pause.
func (k *keypad) open(now time.Time) bool { return !now.Before(k.closedUntil) }

// count takes in a PIN that the keypad read. A PIN outside its window is not a wrong one.
func (k *keypad) count(p Press, now time.Time) {
	if p.Reason != driver.WrongPIN {
		k.wrong = 0
		return
	}
	k.wrong++
	if k.lockout.Attempts > 0 && k.wrong >= k.lockout.Attempts {
		k.wrong, k.closedUntil = 0, now.Add(k.lockout.Pause)
	}
}

// Lockout is what a lock keeps against wrong PINs.
func (h *House) Lockout(address string) (out slot.Lockout) {
	_ = h.at(address, func(l *lock) { out = l.keypad.lockout })
	return out
}

// WeakenLockout changes the lockout of a lock by hand, past every bridge.
func (h *House) WeakenLockout(address string, to slot.Lockout) error {
	return h.at(address, func(l *lock) { l.keypad.lockout = to })
}
