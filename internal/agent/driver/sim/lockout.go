package sim

import (
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// keypadPaused is why a keypad refuses a PIN without reading it: the lock's own lockout, or a pause by its bridge.
const keypadPaused = "keypadPaused"

// keypad is a lock's protection against wrong PINs. Its house's mutex guards it.
type keypad struct {
	lockout     slot.Lockout
	wrong       int // in a row
	closedUntil time.Time
}

// open reports whether the keypad reads PINs.
func (k *keypad) open(now time.Time) bool { return !now.Before(k.closedUntil) }

// count counts a PIN that the keypad read. A PIN outside its window is not a wrong one.
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

// Lockout is the lockout that is set on a lock.
func (h *House) Lockout(address string) (out slot.Lockout) {
	_ = h.withLock(address, func(l *lock) { out = l.keypad.lockout })
	return out
}

// WeakenLockout changes the lockout at the lock itself, without the bridge.
func (h *House) WeakenLockout(address string, to slot.Lockout) error {
	return h.withLock(address, func(l *lock) { l.keypad.lockout = to })
}
