package zigbee2mqtt

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// lock is one lock. The driver's mutex guards what is below driver.
type lock struct {
	driver *Driver

	found
	last      report // the last message
	known     bool   // there was one
	seen      time.Time
	available string // online, offline, or empty: Zigbee2MQTT does not say
	unreached bool   // the last command failed on the way
	bolt      string
	door      string
	battery   *uint32
	batteryAt time.Time
	answers   bool       // it has told of a code that it stored or cleared
	ear       chan heard // of the operation under way
	command   string     // the last one of that operation, as Zigbee2MQTT's log names it
}

// heard is what may end an operation: a message, a failure told in Zigbee2MQTT's log, or the loss of
// the broker.
type heard struct {
	now, before report
	known       bool // before is a message
	failed      slot.Result
	unsent      bool // with failed: the lock never heard of it
	cut         bool
}

const earLen = 16

func (l *lock) Address() string                 { return l.address }
func (l *lock) Radio() string                   { return "zigbee2mqtt " + l.driver.cfg.Base }
func (l *lock) Model() string                   { return l.model }
func (l *lock) Capabilities() slot.Capabilities { return l.caps }

// Status tells what was last heard. A lock that cannot be reached is not said to be locked.
func (l *lock) Status(context.Context) (driver.Status, error) {
	d := l.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	cause, _ := d.disconnected()
	s := driver.Status{
		Bolt: l.bolt, Door: "unknown", BatteryPercent: l.battery, BatteryObservedAt: l.batteryAt,
		LastSeenAt: l.seen, Firmware: l.firmware, Name: l.name, OfflineCause: cause,
		Online: cause == "" && l.available != "offline" && !l.unreached &&
			(l.available == "online" || l.seen.IsZero() || now.Sub(l.seen) < d.pace.quiet),
	}
	if l.door == "open" || l.door == "closed" {
		s.Door = l.door
	}
	switch {
	case l.door == "error_jammed":
		s.Bolt = "jammed"
	case s.Bolt == "" || !s.Online:
		s.Bolt = "unknown"
	}
	return s, nil
}

// hear needs the driver's mutex. An operation that does not keep up misses the oldest.
func (l *lock) hear(h heard) {
	for l.ear != nil {
		select {
		case l.ear <- h:
			return
		default:
		}
		select {
		case <-l.ear:
		default:
		}
	}
}

// overhear needs the driver's mutex. Text is an error in Zigbee2MQTT's log: "Publish 'set' 'pin_code'
// to 'front' failed: ...".
func (l *lock) overhear(text string) {
	_, rest, ok := strings.Cut(text, "Publish "+l.command+" to '"+l.name+"' failed: ")
	if !ok {
		return
	}
	h := heard{failed: slot.LockOffline}
	switch {
	case strings.Contains(rest, "must be in range"):
		h.failed, h.unsent = slot.SlotsFull, true
	case strings.Contains(rest, "UNSUPPORTED_ATTRIBUTE"):
		h.failed = slot.Unsupported
	case strings.Contains(rest, "Status '"): // the lock's own, which does not say why
		h.failed = slot.NotConfirmed
	default:
		l.unreached = true
	}
	l.hear(h)
}

// call is one operation under way.
type call struct {
	lock  *lock
	ear   <-chan heard
	until time.Time // commands of the operation leave before
}

// begin makes the lock's messages audible to one operation, until end.
func (l *lock) begin() (c *call, end func()) {
	d := l.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	ear := make(chan heard, earLen)
	l.ear, l.command = ear, ""
	return &call{lock: l, ear: ear, until: time.Now().Add(d.pace.send)}, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if l.ear == ear {
			l.ear = nil
		}
	}
}

// send publishes a command to the lock: verb is set or get, and what it is about. Its answer counts
// only if sent is false.
func (c *call) send(ctx context.Context, verb, about string, value any, expiry time.Duration) (a driver.Answer, sent bool) {
	l, d := c.lock, c.lock.driver
	if time.Now().After(c.until) {
		return driver.Answer{Result: slot.NotConfirmed}, false
	}
	payload, err := json.Marshal(map[string]any{about: value})
	if err != nil {
		return driver.Answer{Result: slot.Unsupported}, false
	}
	d.mu.Lock()
	l.command = "'" + verb + "' '" + about + "'"
	d.mu.Unlock()
	switch err := d.publish(ctx, d.place.command(l.address, verb), payload, expiry); {
	case errors.Is(err, errUnsent), errors.Is(err, errNobody):
		return driver.Answer{Result: slot.LockOffline, Unsent: true}, false
	case err != nil:
		return driver.Answer{Result: slot.Timeout}, false
	}
	return driver.Answer{}, true
}

// wait hears until pick is content, the operation failed, or time is up; timeout then is the answer.
func (c *call) wait(ctx context.Context, most time.Duration, pick func(heard) bool) (a driver.Answer, picked bool) {
	t := time.NewTimer(most)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return driver.Answer{Result: slot.Timeout}, false
		case <-t.C:
			return driver.Answer{Result: slot.NotConfirmed}, false
		case h := <-c.ear:
			switch {
			case h.cut:
				return driver.Answer{Result: slot.Timeout}, false
			case h.failed != "":
				return driver.Answer{Result: h.failed, Unsent: h.unsent}, false
			case pick(h):
				return driver.Answer{Result: slot.OK}, true
			}
		}
	}
}

// Unlock sends the command with what is left of its time: the broker drops it after. It succeeds
// when the lock is heard to be unlocked.
func (l *lock) Unlock(ctx context.Context) driver.Answer {
	if !l.caps.RemoteUnlock {
		return driver.Answer{Result: slot.Unsupported}
	}
	c, end := l.begin()
	defer end()
	left := l.driver.pace.expiry
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline)-radioTime)
	}
	if a, sent := c.send(ctx, "set", "state", "UNLOCK", left); !sent {
		return a
	}
	a, ok := c.wait(ctx, l.driver.pace.lifetime, func(h heard) bool { return h.now.bolt == "unlocked" })
	if !ok && a.Result == slot.NotConfirmed {
		a.Result = slot.Timeout
	}
	return a
}

// radioTime is kept free between the end of a command's time at the broker and the deadline.
const radioTime = 2 * time.Second
