package z2mtest

import (
	"slices"
	"time"
)

func (z *Z2M) with(address string, do func(*virtual)) {
	z.t.Helper()
	z.mu.Lock()
	defer z.mu.Unlock()
	v := z.all[address]
	if v == nil {
		z.t.Fatalf("no lock %s", address)
	}
	do(v)
}

func (z *Z2M) next(address string, f fault) {
	z.t.Helper()
	z.with(address, func(v *virtual) { v.faults = append(v.faults, f) })
}

// Lose has the next command to a lock vanish.
func (z *Z2M) Lose(address string) { z.t.Helper(); z.next(address, fault{lost: true}) }

// Mute has the next command to a lock take effect without a word.
func (z *Z2M) Mute(address string) { z.t.Helper(); z.next(address, fault{mute: true}) }

// Fail has the next command to a lock fail with an error in Zigbee2MQTT's log.
func (z *Z2M) Fail(address, why string) { z.t.Helper(); z.next(address, fault{logged: why}) }

// LoseWrites has a lock not hear attributes that are written, from now on.
func (z *Z2M) LoseWrites(address string) {
	z.t.Helper()
	z.with(address, func(v *virtual) { v.limit.fixed = true })
}

// Type types a PIN at a lock's keypad and tells whether it opened.
func (z *Z2M) Type(address, pin string) (opened bool) {
	z.t.Helper()
	z.with(address, func(v *virtual) {
		if time.Now().Before(v.limit.closedUntil) {
			return
		}
		defer func() { v.limit.typed(opened, time.Now()) }()
		for user, c := range v.codes {
			if c.pin == pin && !c.disabled {
				opened = true
				z.emit(v, map[string]any{"action": "unlock", "action_user": user, "action_source_name": "keypad", "state": "UNLOCK", "lock_state": "unlocked"})
				return
			}
		}
		z.emit(v, map[string]any{"action": "unlock_failure_invalid_pin_or_id", "action_source_name": "keypad"})
	})
	return opened
}

// Report has a lock report something.
func (z *Z2M) Report(address string, reported map[string]any) {
	z.t.Helper()
	z.with(address, func(v *virtual) { z.emit(v, reported) })
}

// Program puts a code into a slot at the lock itself, which tells of it; an empty PIN clears the slot.
func (z *Z2M) Program(address string, user int, pin string) {
	z.t.Helper()
	z.with(address, func(v *virtual) {
		action := "pin_code_added"
		v.codes[user] = code{pin: pin}
		if pin == "" {
			delete(v.codes, user)
			action = "pin_code_deleted"
		}
		z.emit(v, map[string]any{"action": action, "action_user": user, "action_source_name": "keypad"})
	})
}

// Deaf has a lock answer no question from now on, or answer again.
func (z *Z2M) Deaf(address string, deaf bool) {
	z.t.Helper()
	z.with(address, func(v *virtual) { v.deaf = deaf })
}

// Reset empties a lock without a word, as taking it apart does.
func (z *Z2M) Reset(address string) {
	z.t.Helper()
	z.with(address, func(v *virtual) { v.codes = map[int]code{} })
}

// Disable has a code stay and no longer open, without a word.
func (z *Z2M) Disable(address string, user int) {
	z.t.Helper()
	z.with(address, func(v *virtual) {
		c := v.codes[user]
		c.disabled = true
		v.codes[user] = c
	})
}

// Available publishes a lock's availability.
func (z *Z2M) Available(address, state string) {
	z.t.Helper()
	z.with(address, func(v *virtual) { z.publish(v.Name+"/availability", map[string]string{"state": state}, true) })
}

// Rename gives a lock another friendly name.
func (z *Z2M) Rename(address, name string) {
	z.t.Helper()
	z.with(address, func(v *virtual) { v.Name = name; z.describe() })
}

// Pair adds a lock.
func (z *Z2M) Pair(l Lock) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.all[l.Address] = newVirtual(l)
	z.describe()
}

// PINs are the codes on a lock, by user.
func (z *Z2M) PINs(address string) map[int]string {
	z.t.Helper()
	out := map[int]string{}
	z.with(address, func(v *virtual) {
		for user, c := range v.codes {
			out[user] = c.pin
		}
	})
	return out
}

// Opened counts how often a lock was opened over the radio.
func (z *Z2M) Opened(address string) (n int) {
	z.t.Helper()
	z.with(address, func(v *virtual) { n = v.opened })
	return n
}

// Commands are the commands that arrived, in order.
func (z *Z2M) Commands() []Command {
	z.mu.Lock()
	defer z.mu.Unlock()
	return slices.Clone(z.commands)
}
