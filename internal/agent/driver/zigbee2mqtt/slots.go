package zigbee2mqtt

import (
	"context"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// Slot n is user n of the lock. User 0 is never used, because many locks keep their master code there.

// pinCode is Zigbee2MQTT's command pin_code. It stores a PIN; without a PIN it clears the user. The PIN is a JSON string, because a number
// would lose its leading zeros. Some locks clear a user only if it is also disabled.
type pinCode struct {
	User    uint32  `json:"user"`
	Type    string  `json:"user_type"`
	Enabled bool    `json:"user_enabled"`
	PIN     *string `json:"pin_code"`
}

// storeCommand returns the command that stores a PIN in a slot.
func storeCommand(number uint32, pin slot.PIN) pinCode {
	digits := string(pin)
	return pinCode{User: number, Type: "unrestricted", Enabled: true, PIN: &digits}
}

// clearCommand returns the command that clears a slot: it has no PIN and disables the user.
func clearCommand(number uint32) pinCode { return pinCode{User: number, Type: "unrestricted"} }

// userQuery is a command that reads one user. Without a user, Zigbee2MQTT would read all users with one radio message each.
type userQuery struct {
	User uint32 `json:"user"`
}

const pinCodeProperty = "pin_code"

// Set stores a PIN in a slot and waits for the lock's confirmation; without one, the result is NotConfirmed or the failure. If
// cannotConfirm is true, it first clears an occupied slot, or without s.Replace answers Occupied. Otherwise it overwrites the slot also
// without s.Replace. A slot that the lock does not have is SlotsFull.
func (l *lock) Set(ctx context.Context, s driver.Setting) driver.Answer {
	if s.Slot == 0 || int(s.Slot) > l.caps.Slots {
		return driver.Answer{Result: slot.SlotsFull, Unsent: true}
	}
	if rule := l.caps.CheckPIN(s.PIN); rule != "" {
		return driver.Answer{Result: slot.InvalidFormat, Rule: rule, Unsent: true}
	}
	c, end := l.beginOperation()
	defer end()
	c.awaitFirstReport(ctx)
	if l.cannotConfirm() {
		if a := c.ensureEmpty(ctx, s); a.Result != slot.OK {
			return a
		}
	}
	return c.storePIN(ctx, s.Slot, s.PIN)
}

// cannotConfirm reports whether the driver could not tell a new code in an occupied slot from the previous one: the lock never reported a
// change, and shows only whether a slot is in use. Set then clears the slot first.
func (l *lock) cannotConfirm() bool {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	return l.caps.Readable == slot.ReadableMasked && !l.reportsChanges
}

// ensureEmpty clears the slot of a setting if it holds a code, so that storePIN can confirm the new one. OK means that storePIN may follow.
// Without Replace it answers Occupied instead. A slot that cannot be read counts as empty.
func (c *operation) ensureEmpty(ctx context.Context, s driver.Setting) driver.Answer {
	u, shown := c.lock.lastReportedUser(s.Slot)
	if !shown {
		var a driver.Answer
		u, a = c.readUser(ctx, s.Slot)
		shown = a.Result == slot.OK
	}
	switch {
	case !shown || !u.isPresent():
		return driver.Answer{Result: slot.OK}
	case !s.Replace:
		return driver.Answer{Result: slot.Occupied}
	}
	return c.clearPIN(ctx, s.Slot)
}

// storePIN stores a PIN in a slot and waits for the lock's report. If none comes, it reads the slot, if the lock has ReadBack, to find out
// whether the PIN was stored. A slot in use without a visible PIN confirms this only if the lock showed the slot as empty before. Without a
// confirmation the result is NotConfirmed or the failure.
func (c *operation) storePIN(ctx context.Context, number uint32, pin slot.PIN) driver.Answer {
	was, shown := c.lock.lastReportedUser(number)
	if a, sent := c.send(ctx, "set", pinCodeProperty, storeCommand(number, pin), c.lock.driver.timings.expiry); !sent {
		return a
	}
	a, ok := c.awaitConfirmation(ctx, number, false)
	if ok || a.Result != slot.NotConfirmed || !c.lock.caps.ReadBack {
		return a
	}
	u, read := c.readUser(ctx, number)
	filled := shown && was.isEmpty()
	if read.Result == slot.OK && u.status == "enabled" && (u.pin == pin || (u.pin == "" && filled)) {
		return driver.Answer{Result: slot.OK}
	}
	return a
}

// Clear empties a slot and waits for the lock's confirmation. A slot that Zigbee2MQTT refuses as out of range counts as empty. A slot above
// caps.Slots is cleared like any other: it may hold a code from a time when the setting or Zigbee2MQTT allowed more slots. The result is
// Unsupported if Zigbee2MQTT has no command for codes of this lock.
func (l *lock) Clear(ctx context.Context, number uint32) driver.Answer {
	if number == 0 {
		return driver.Answer{Result: slot.OK}
	}
	if len(l.caps.Kinds) == 0 {
		return driver.Answer{Result: slot.Unsupported, Unsent: true}
	}
	c, end := l.beginOperation()
	defer end()
	c.awaitFirstReport(ctx)
	a := c.clearPIN(ctx, number)
	if a.Result == slot.SlotsFull {
		return driver.Answer{Result: slot.OK}
	}
	return a
}

// clearPIN clears a slot and waits for the lock's report. If none comes, it reads the slot, if the lock has ReadBack, to find out whether
// it is empty. Without a confirmation the result is NotConfirmed or the failure. A slot with an unknown status confirms nothing: it may
// still hold its code.
func (c *operation) clearPIN(ctx context.Context, number uint32) driver.Answer {
	if a, sent := c.send(ctx, "set", pinCodeProperty, clearCommand(number), c.lock.driver.timings.expiry); !sent {
		return a
	}
	a, ok := c.awaitConfirmation(ctx, number, true)
	if ok || a.Result != slot.NotConfirmed || !c.lock.caps.ReadBack {
		return a
	}
	if u, read := c.readUser(ctx, number); read.Result == slot.OK && u.isEmpty() {
		return driver.Answer{Result: slot.OK}
	}
	return a
}

// awaitConfirmation waits until the lock reports that it stored the code in a slot, or cleared it: by a new time of the last success, or by
// an event with the slot's number. It then returns true and sets the lock's reportsChanges. Otherwise it returns false, and the answer is
// the reason.
func (c *operation) awaitConfirmation(ctx context.Context, number uint32, cleared bool) (driver.Answer, bool) {
	a, ok := c.await(ctx, c.lock.driver.timings.answer, func(h update) bool {
		if p, yes := codeChangeOf(h.now); yes && !p.atLock && p.cleared == cleared && p.user != nil && *p.user == number {
			return true
		}
		was, is := h.before.saved, h.now.saved
		if cleared {
			was, is = h.before.cleared, h.now.cleared
		}
		return h.known && is != "" && is != was
	})
	if ok {
		c.lock.driver.mu.Lock()
		c.lock.reportsChanges = true
		c.lock.driver.mu.Unlock()
	}
	return a, ok
}

// lastReportedUser returns what the last state message shows of a slot; false if it shows nothing.
func (l *lock) lastReportedUser(number uint32) (user, bool) {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	u, ok := l.last.users[number]
	return u, ok
}

// awaitFirstReport requests the state of a lock that has not sent a message yet, and waits for it, up to the timeout firstReport. Without
// it, the first message, which contains the time of an earlier success, would wrongly confirm the next operation.
func (c *operation) awaitFirstReport(ctx context.Context) {
	d := c.lock.driver
	d.mu.Lock()
	known := c.lock.known
	d.mu.Unlock()
	if known {
		return
	}
	if _, sent := c.send(ctx, "get", "state", "", d.timings.expiry); sent {
		c.await(ctx, d.timings.firstReport, func(update) bool { return true })
	}
}

// Read requests from the lock what a slot holds, also of a slot above caps.Slots: see Clear. A slot that Zigbee2MQTT refuses as out of
// range counts as empty. The result is Timeout if the slot cannot be read for another reason, also if the request was not sent, and
// Unsupported if the slot has an unknown status. Slot 0 counts as empty. A lock without ReadBack answers Unsupported.
func (l *lock) Read(ctx context.Context, number uint32) (driver.Content, driver.Answer) {
	if !l.caps.ReadBack {
		return driver.Content{}, driver.Answer{Result: slot.Unsupported}
	}
	if number == 0 {
		return driver.Content{}, driver.Answer{Result: slot.OK}
	}
	c, end := l.beginOperation()
	defer end()
	c.awaitFirstReport(ctx)
	u, a := c.readUser(ctx, number)
	switch {
	case a.Result == slot.SlotsFull:
		return driver.Content{}, driver.Answer{Result: slot.OK}
	case a.Result != slot.OK:
		return driver.Content{}, driver.Answer{Result: slot.Timeout}
	case !u.isKnown():
		return driver.Content{}, driver.Answer{Result: slot.Unsupported}
	}
	return slotContent(u, l.caps.Readable), driver.Answer{Result: slot.OK}
}

// disabledPIN represents a code that is present but disabled. It cannot be typed at a keypad, so it never equals a desired code.
const disabledPIN slot.PIN = "disabled"

// slotContent converts what a lock shows of a slot. It has a PIN only if readable is ReadableClear; a disabled code has disabledPIN.
func slotContent(u user, readable slot.Readable) driver.Content {
	c := driver.Content{Present: u.isPresent()}
	switch {
	case u.status == "disabled":
		c.PIN = disabledPIN
	case c.Present && readable == slot.ReadableClear:
		c.PIN = u.pin
	}
	return c
}

// readUser requests a slot from the lock and waits for a message that shows it. u is valid only if the answer is OK; otherwise the answer
// is the reason. Zigbee2MQTT repeats known slots in unrelated messages, so a value that equals the previous one is accepted only after a
// second request.
func (c *operation) readUser(ctx context.Context, number uint32) (u user, a driver.Answer) {
	for range 2 {
		var sent, ok, news bool
		if a, sent = c.send(ctx, "get", pinCodeProperty, userQuery{number}, c.lock.driver.timings.expiry); !sent {
			return user{}, a
		}
		a, ok = c.await(ctx, c.lock.driver.timings.read, func(h update) bool {
			is, shown := h.now.users[number]
			if !shown || isUnrelated(h) {
				return false
			}
			was, before := h.before.users[number]
			u, news = is, h.known && (!before || was != is)
			return true
		})
		if !ok || news {
			return u, a
		}
	}
	return u, a
}

// isUnrelated reports whether an update is clearly about something other than the answer to a read of one slot.
func isUnrelated(h update) bool {
	if !h.known {
		return false
	}
	now, before := h.now, h.before
	return now.action != "" || (now.bolt != "" && now.bolt != before.bolt) || (now.door != "" && now.door != before.door) ||
		(now.battery != nil && (before.battery == nil || *now.battery != *before.battery)) ||
		(now.saved != "" && now.saved != before.saved) || (now.cleared != "" && now.cleared != before.cleared) ||
		countChanges(now.users, before.users) > 1
}

// countChanges counts the slots in the message now that differ from the message before or are new.
func countChanges(now, before map[uint32]user) (n int) {
	for number, u := range now {
		if was, ok := before[number]; !ok || was != u {
			n++
		}
	}
	return n
}
