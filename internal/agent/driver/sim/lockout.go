package sim

import (
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// keypadPaused is the reason of a keypad that reads no PIN, because of the lock's own lockout or a pause by the bridge.
const keypadPaused = "keypadPaused"

// keypad is a lock's protection against wrong PINs. Its house's mutex guards it.
type keypad struct {
	lockout     slot.Lockout
	wrong       int // in a row
	closedUntil time.Time
}

// acceptsPINs reports whether the keypad reads PINs.
func (k *keypad) acceptsPINs(now time.Time) bool { return !now.Before(k.closedUntil) }

// recordPIN counts wrong PINs in a row, and closes the keypad at the limit. A PIN outside its window is not wrong.
func (k *keypad) recordPIN(p Press, now time.Time) {
	if p.Reason != driver.WrongPIN {
		k.wrong = 0
		return
	}
	k.wrong++
	if k.lockout.Attempts > 0 && k.wrong >= k.lockout.Attempts {
		k.wrong, k.closedUntil = 0, now.Add(k.lockout.Pause)
	}
}

// Lockout returns the lockout that is set on a lock.
func (h *House) Lockout(address string) (out slot.Lockout) {
	_ = h.withLock(address, func(l *lock) { out = l.keypad.lockout })
	return out
}

// SetLockoutByHand changes a lock's lockout at the lock itself, without the bridge.
func (h *House) SetLockoutByHand(address string, to slot.Lockout) error {
	return h.withLock(address, func(l *lock) { l.keypad.lockout = to })
}
