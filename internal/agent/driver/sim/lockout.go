package sim

import (
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// keypadPaused is the reason why a keypad refuses all PINs: the lock's own lockout, or a pause that the bridge set.
const keypadPaused = "keypadPaused"

// keypad simulates a lock's protection against wrong PINs. Its site's mutex guards it.
type keypad struct {
	lockout     slot.Lockout
	wrong       int       // number of wrong PINs since the last correct PIN or lockout; a pause by the bridge does not reset it
	closedUntil time.Time // end of the keypad's last pause; until then it refuses all PINs
}

// acceptsPINs reports whether the keypad is not paused.
func (k *keypad) acceptsPINs(now time.Time) bool { return !now.Before(k.closedUntil) }

// recordPIN counts wrong PINs in a row and pauses the keypad at the limit of the lockout; without a limit (Attempts is 0), it never pauses
// it. p is the lock's reaction to a PIN at the time now. A correct PIN resets the count, even outside its validity window.
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

// Lockout returns the lockout setting of a lock; zero for an unknown address.
func (h *Site) Lockout(address string) (out slot.Lockout) {
	_ = h.withLock(address, func(l *lock) { out = l.keypad.lockout })
	return out
}

// SetLockoutByHand changes a lock's lockout setting at the lock itself, without the bridge. It fails only for an unknown address.
func (h *Site) SetLockoutByHand(address string, to slot.Lockout) error {
	return h.withLock(address, func(l *lock) { l.keypad.lockout = to })
}
