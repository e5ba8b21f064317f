package zigbee2mqtt

import (
	"context"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// Slot n is the lock's user n. User 0 is left alone: many locks keep their master code there.

// pinCode is the command of that name. It stores a PIN, or without one clears the user. The PIN is a
// JSON string: as a number it would lose its leading zeros. Some locks clear only a user that is
// disabled as well.
type pinCode struct {
	User    uint32  `json:"user"`
	Type    string  `json:"user_type"`
	Enabled bool    `json:"user_enabled"`
	PIN     *string `json:"pin_code"`
}

func storing(number uint32, pin slot.PIN) pinCode {
	digits := string(pin)
	return pinCode{User: number, Type: "unrestricted", Enabled: true, PIN: &digits}
}

func clearing(number uint32) pinCode { return pinCode{User: number, Type: "unrestricted"} }

// reading asks for one user. Without a user Zigbee2MQTT would ask for all, a frame each.
type reading struct {
	User uint32 `json:"user"`
}

const aboutPIN = "pin_code"

// Set stores a PIN.
func (l *lock) Set(ctx context.Context, s driver.Setting) driver.Answer {
	if s.Slot == 0 || int(s.Slot) > l.caps.Slots {
		return driver.Answer{Result: slot.SlotsFull, Unsent: true}
	}
	if rule := l.caps.CheckPIN(s.PIN); rule != "" {
		return driver.Answer{Result: slot.InvalidFormat, Rule: rule, Unsent: true}
	}
	c, end := l.begin()
	defer end()
	c.acquaint(ctx)
	if l.mute() {
		if a := c.empty(ctx, s); a.Result != slot.OK {
			return a
		}
	}
	return c.store(ctx, s.Slot, s.PIN)
}

// mute says whether nothing would tell a new code in a slot from the one before: the lock never told
// of one, and shows no more than that there is one. Only an empty slot that fills can be told then.
func (l *lock) mute() bool {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	return l.caps.Readable == slot.ReadableMasked && !l.answers
}

// empty makes sure that a slot is empty and was seen so.
func (c *call) empty(ctx context.Context, s driver.Setting) driver.Answer {
	u, shown := c.lock.shows(s.Slot)
	if !shown {
		u, shown = c.look(ctx, s.Slot)
	}
	switch {
	case !shown || !u.present():
		return driver.Answer{Result: slot.OK}
	case !s.Replace:
		return driver.Answer{Result: slot.Occupied}
	}
	return c.clear(ctx, s.Slot)
}

func (c *call) store(ctx context.Context, number uint32, pin slot.PIN) driver.Answer {
	was, shown := c.lock.shows(number)
	if a, sent := c.send(ctx, "set", aboutPIN, storing(number, pin), c.lock.driver.pace.expiry); !sent {
		return a
	}
	a, ok := c.told(ctx, number, false)
	if ok || a.Result != slot.NotConfirmed || !c.lock.caps.ReadBack {
		return a
	}
	u, read := c.look(ctx, number)
	filled := shown && was.known() && !was.present()
	if read && u.status == "enabled" && (u.pin == pin || (u.pin == "" && filled)) {
		return driver.Answer{Result: slot.OK}
	}
	return a
}

// Clear empties a slot.
func (l *lock) Clear(ctx context.Context, number uint32) driver.Answer {
	if number == 0 || int(number) > l.caps.Slots {
		return driver.Answer{Result: slot.OK}
	}
	c, end := l.begin()
	defer end()
	c.acquaint(ctx)
	return c.clear(ctx, number)
}

func (c *call) clear(ctx context.Context, number uint32) driver.Answer {
	if a, sent := c.send(ctx, "set", aboutPIN, clearing(number), c.lock.driver.pace.expiry); !sent {
		return a
	}
	a, ok := c.told(ctx, number, true)
	if ok || a.Result != slot.NotConfirmed || !c.lock.caps.ReadBack {
		return a
	}
	if u, read := c.look(ctx, number); read && !u.present() {
		return driver.Answer{Result: slot.OK}
	}
	return a
}

// told waits for the lock's own word that it stored or cleared a code: a new time of its last
// success, or an event that names the user.
func (c *call) told(ctx context.Context, number uint32, cleared bool) (driver.Answer, bool) {
	a, ok := c.wait(ctx, c.lock.driver.pace.answer, func(h heard) bool {
		if p, yes := programmed(h.now); yes && !p.foreign && p.gone == cleared && p.user != nil && *p.user == number {
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
		c.lock.answers = true
		c.lock.driver.mu.Unlock()
	}
	return a, ok
}

// shows is what the last message says of a slot.
func (l *lock) shows(number uint32) (user, bool) {
	l.driver.mu.Lock()
	defer l.driver.mu.Unlock()
	u, ok := l.last.users[number]
	return u, ok
}

// acquaint has a lock say something if it never did: a time of success in its very first message
// might be of long ago.
func (c *call) acquaint(ctx context.Context) {
	d := c.lock.driver
	d.mu.Lock()
	known := c.lock.known
	d.mu.Unlock()
	if known {
		return
	}
	if _, sent := c.send(ctx, "get", "state", "", d.pace.expiry); sent {
		c.wait(ctx, d.pace.acquaint, func(heard) bool { return true })
	}
}

// Read looks into a slot.
func (l *lock) Read(ctx context.Context, number uint32) (driver.Content, driver.Answer) {
	if !l.caps.ReadBack {
		return driver.Content{}, driver.Answer{Result: slot.Unsupported}
	}
	if number == 0 || int(number) > l.caps.Slots {
		return driver.Content{}, driver.Answer{Result: slot.OK}
	}
	c, end := l.begin()
	defer end()
	c.acquaint(ctx)
	u, ok := c.look(ctx, number)
	switch {
	case !ok:
		return driver.Content{}, driver.Answer{Result: slot.Timeout}
	case !u.known():
		return driver.Content{}, driver.Answer{Result: slot.Unsupported}
	}
	return content(u, l.caps.Readable), driver.Answer{Result: slot.OK}
}

// disabled is shown for a code that is there and does not open: no keypad types it, so it is never
// taken for the code that should be there.
const disabled slot.PIN = "disabled"

func content(u user, readable slot.Readable) driver.Content {
	c := driver.Content{Present: u.present()}
	switch {
	case u.status == "disabled":
		c.PIN = disabled
	case c.Present && readable == slot.ReadableClear:
		c.PIN = u.pin
	}
	return c
}

// look reads a slot. Zigbee2MQTT repeats what it remembers of a slot in messages about other things.
// What differs from the message before is news from the lock; what does not is believed only when it
// came twice, each time after a question.
func (c *call) look(ctx context.Context, number uint32) (u user, ok bool) {
	for range 2 {
		if _, sent := c.send(ctx, "get", aboutPIN, reading{number}, c.lock.driver.pace.expiry); !sent {
			return user{}, false
		}
		news := false
		_, ok = c.wait(ctx, c.lock.driver.pace.read, func(h heard) bool {
			is, shown := h.now.users[number]
			if !shown || beside(h) {
				return false
			}
			was, before := h.before.users[number]
			u, news = is, h.known && (!before || was != is)
			return true
		})
		if !ok || news {
			return u, ok
		}
	}
	return u, ok
}

// beside says whether a message plainly is about something else than one slot.
func beside(h heard) bool {
	if !h.known {
		return false
	}
	now, before := h.now, h.before
	return now.action != "" || (now.bolt != "" && now.bolt != before.bolt) || (now.door != "" && now.door != before.door) ||
		(now.battery != nil && (before.battery == nil || *now.battery != *before.battery)) ||
		(now.saved != "" && now.saved != before.saved) || (now.cleared != "" && now.cleared != before.cleared) ||
		changed(now.users, before.users) > 1
}

// changed counts the slots that a message shows otherwise than the one before.
func changed(now, before map[uint32]user) (n int) {
	for number, u := range now {
		if was, ok := before[number]; !ok || was != u {
			n++
		}
	}
	return n
}
