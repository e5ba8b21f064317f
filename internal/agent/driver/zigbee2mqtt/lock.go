package zigbee2mqtt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// lock is one lock. The driver's mutex guards the fields below the field driver.
type lock struct {
	driver *Driver

	foundLock
	last           report      // last state message
	known          bool        // a state message was received
	seen           time.Time   // when the lock last sent a message; zero: never
	found          time.Time   // when the driver found the lock in the device list; until the lock sends a message, its silence counts from then
	available      string      // availability that Zigbee2MQTT published on this connection to the broker: online or offline; empty: none known
	unreached      bool        // the last command failed without a known reason: the lock counts as offline until its next message
	bolt           string      // last bolt as in driver.Status; empty: none reported
	door           string      // last door_state as Zigbee2MQTT writes it; empty: none reported
	battery        *uint32     // percent; nil: none reported
	batteryAt      time.Time   // when battery was reported
	low            bool        // the last message about it that was not retained says that the battery is low
	lowAt          time.Time   // when the last such message said so, or when the first came if none did; zero: none came
	tampered       bool        // the last message that was not retained has the tamper alarm, and no retained one after it lacks it
	forced         bool        // like tampered, for the alarm that the door was forced open
	batteryOK      bool        // the driver has reported that the battery is not low
	reportsChanges bool        // the lock has at some time reported that it stored or cleared a code
	updates        chan update // updates for the running operation; nil: none runs
	command        string      // last command of the running operation, as Zigbee2MQTT's log names it; empty: none was sent yet
}

// update is something that may end a running operation: a state message, a failure in Zigbee2MQTT's log, or the loss of the broker.
type update struct {
	now, before  report      // a state message and the lock's previous one
	known        bool        // the field named before is valid: now is not the lock's first message
	failed       slot.Result // result of a failure; empty: no failure
	unsent       bool        // a failure before the lock received the command
	disconnected bool
}

// updatesSize is how many updates can wait for a running operation. A further one drops the oldest.
const updatesSize = 16

func (l *lock) Address() string { return l.address }

// Radio is the same for all locks of one Zigbee2MQTT, so that they receive one call at a time.
func (l *lock) Radio() string                   { return "zigbee2mqtt " + l.driver.cfg.Base }
func (l *lock) Model() string                   { return l.model }
func (l *lock) Capabilities() slot.Capabilities { return l.caps }

// Status returns the last reported state, without a command to the lock and never with an error. If the lock is offline, its bolt is
// unknown, unless the last state of the door was a jam. For a lock that has not sent a message yet, the time offlineAfter counts from when
// the driver found it, so that it is not offline after each start.
func (l *lock) Status(context.Context) (driver.Status, error) {
	d := l.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	cause, _ := d.disconnectCause()
	s := driver.Status{
		Bolt: l.bolt, Door: "unknown", BatteryPercent: l.battery, BatteryObservedAt: l.batteryAt,
		LastSeenAt: l.seen, Firmware: l.firmware, Name: l.name, OfflineCause: cause,
		Online: cause == "" && l.available != "offline" && !l.unreached &&
			(l.available == "online" || now.Sub(cmp.Or(l.seen, l.found)) < d.timings.offlineAfter),
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

// deliverUpdate passes an update to the running operation, if there is one. It drops the oldest update if the operation is slow. The caller
// holds the driver's mutex.
func (l *lock) deliverUpdate(h update) {
	for l.updates != nil {
		select {
		case l.updates <- h:
			return
		default:
		}
		select {
		case <-l.updates:
		default:
		}
	}
}

// onLogError ends the running operation if text, an error in Zigbee2MQTT's log, is about it, such as "Publish 'set' 'pin_code' to 'front'
// failed: ...". An error without a known reason marks the lock as unreachable until its next message. The caller holds the driver's mutex.
func (l *lock) onLogError(text string) {
	_, rest, ok := strings.Cut(text, "Publish "+l.command+" to '"+l.name+"' failed: ")
	if !ok {
		return
	}
	h := update{failed: slot.LockOffline}
	switch {
	case strings.Contains(rest, "must be in range"):
		h.failed, h.unsent = slot.SlotsFull, true
	case strings.Contains(rest, "UNSUPPORTED_ATTRIBUTE"):
		h.failed = slot.Unsupported
	case strings.Contains(rest, "Status '"): // the lock refused the command without a reason
		h.failed = slot.NotConfirmed
	default:
		l.unreached = true
	}
	l.deliverUpdate(h)
}

// operation is a running operation on a lock.
type operation struct {
	lock    *lock
	updates <-chan update
	until   time.Time // the operation must send its commands before this time
}

// beginOperation starts an operation, which receives the lock's updates until the caller calls end. The caller runs one operation of a lock
// at a time: a second one takes the updates from the first.
func (l *lock) beginOperation() (c *operation, end func()) {
	d := l.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	ear := make(chan update, updatesSize)
	l.updates, l.command = ear, ""
	return &operation{lock: l, updates: ear, until: time.Now().Add(d.timings.send)}, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if l.updates == ear {
			l.updates = nil
		}
	}
}

// send publishes a command for the lock. verb is "set" or "get", about is the property, and value its value. The broker drops the command
// after expiry. If sent is false, the answer a is the result of the operation: with slot.Timeout the lock may still get the command, with
// any other result it was not sent.
func (c *operation) send(ctx context.Context, verb, about string, value any, expiry time.Duration) (a driver.Answer, sent bool) {
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
	receives := slices.Contains(d.received, d.topics.state(l.name))
	d.mu.Unlock()
	if !receives { // no confirmation could arrive: the lock's topic is not subscribed yet after a new connection or a new name of the lock
		return driver.Answer{Result: slot.LockOffline, Unsent: true}, false
	}
	switch err := d.publish(ctx, d.topics.command(l.address, verb), payload, expiry); {
	case errors.Is(err, errUnsent), errors.Is(err, errNoSubscriber):
		return driver.Answer{Result: slot.LockOffline, Unsent: true}, false
	case err != nil:
		return driver.Answer{Result: slot.Timeout}, false
	}
	return driver.Answer{}, true
}

// await reads the lock's updates until pick accepts one, the operation fails, or the timeout expires. If picked is true, the answer a is
// OK. Otherwise it is the reason: NotConfirmed after the timeout, Timeout if ctx has ended or the broker was lost, otherwise the failure.
func (c *operation) await(ctx context.Context, timeout time.Duration, pick func(update) bool) (a driver.Answer, picked bool) {
	t := time.NewTimer(timeout)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return driver.Answer{Result: slot.Timeout}, false
		case <-t.C:
			return driver.Answer{Result: slot.NotConfirmed}, false
		case h := <-c.updates:
			switch {
			case h.disconnected:
				return driver.Answer{Result: slot.Timeout}, false
			case h.failed != "":
				return driver.Answer{Result: h.failed, Unsent: h.unsent}, false
			case pick(h):
				return driver.Answer{Result: slot.OK}, true
			}
		}
	}
}

// Unlock sends an unlock command that the broker drops before ctx's deadline. It succeeds when the lock reports that it is unlocked.
// Without such a report the result is Timeout, or the failure that Zigbee2MQTT logs. If the command was not sent, it is LockOffline, and
// Unsupported for a lock that cannot be opened remotely.
func (l *lock) Unlock(ctx context.Context) driver.Answer {
	if !l.caps.RemoteUnlock {
		return driver.Answer{Result: slot.Unsupported}
	}
	c, end := l.beginOperation()
	defer end()
	left := l.driver.timings.expiry
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline)-radioTime)
	}
	if a, sent := c.send(ctx, "set", "state", "UNLOCK", left); !sent {
		return a
	}
	a, ok := c.await(ctx, l.driver.timings.lifetime, func(h update) bool { return h.now.bolt == "unlocked" })
	if !ok && a.Result == slot.NotConfirmed {
		a.Result = slot.Timeout
	}
	return a
}

// radioTime is the least time between an unlock command's expiry at the broker and its deadline. It is for the transmission by radio.
const radioTime = 2 * time.Second
