package zigbee2mqtt

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"time"

	"latchkey.dev/internal/agent/driver"
)

const maxWarnings = 64 // maximum number of left-out locks that are logged

// processMessages handles the messages from the broker in their order, until ctx ends.
func (d *Driver) processMessages(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-d.inbox:
			d.onMessage(m)
		}
	}
}

// onMessage handles one message from the broker: about Zigbee2MQTT itself, or about a lock. It ignores other topics.
func (d *Driver) onMessage(m message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.noteConnectionChange()
	if what, ours := d.topics.bridgeTopic(m.topic); ours {
		switch what {
		case "state":
			d.bridge = parseAvailability(m.payload)
		case "info":
			d.onInfo(m.payload)
		case "devices":
			d.onDevices(m.payload)
		case "logging":
			d.onLogLine(m)
		}
		return
	}
	for _, l := range d.locks {
		switch m.topic {
		case d.topics.state(l.name):
			l.onStateMessage(m)
			return
		case d.topics.availability(l.name):
			l.available = parseAvailability(m.payload)
			return
		}
	}
}

// parseAvailability decodes whether a device or Zigbee2MQTT is available: online, offline, or "" if unknown. Zigbee2MQTT can be set to
// publish "online" or {"state": "online"}.
func parseAvailability(payload []byte) string {
	var object struct {
		State string `json:"state"`
	}
	word := strings.Trim(string(payload), `" `)
	if json.Unmarshal(payload, &object) == nil {
		word = object.State
	}
	if word == "online" || word == "offline" {
		return word
	}
	return ""
}

// onInfo handles Zigbee2MQTT's own settings, bridge/info: they decide which locks show PINs. A malformed message changes nothing. The
// caller holds d.mu.
func (d *Driver) onInfo(payload []byte) {
	shown, err := shownPINs(payload)
	if err != nil {
		d.log.Warn("Zigbee2MQTT", "error", err)
		return
	}
	d.showsPINs = shown
	if d.devices != nil {
		d.updateLocks()
	}
}

// onDevices handles the device list, bridge/devices, if it has changed. The caller holds d.mu.
func (d *Driver) onDevices(payload []byte) {
	if !bytes.Equal(payload, d.devices) {
		d.devices = payload
		d.updateLocks()
	}
}

// updateLocks finds the locks in the last device list. Once the method Locks has succeeded, also without locks, it adds and removes none
// and updates only names and firmware; it signals Changes if the list differs. An invalid list changes nothing. The caller holds d.mu.
func (d *Driver) updateLocks() {
	now, err := discover(d.devices, d.cfg.Tunings, d.showsPINs, d.timings.lifetime)
	if err != nil {
		d.log.Warn("Zigbee2MQTT", "error", err)
		return
	}
	for _, why := range now.refused {
		if !d.warnings[why] && len(d.warnings) < maxWarnings {
			d.warnings[why] = true
			d.log.Warn("a lock is left out", "reason", why)
		}
	}
	if d.locksReturned && !sameLocks(d.found, now.locks) {
		driver.Signal(d.changes)
	}
	if !d.locksReturned {
		d.found = now.locks
		maps.DeleteFunc(d.locks, func(a string, _ *lock) bool { return now.locks[a].address == "" })
	}
	for a, f := range now.locks {
		switch l := d.locks[a]; {
		case l != nil && d.locksReturned:
			l.name, l.firmware = f.name, f.firmware
		case l != nil:
			l.foundLock = f
		case !d.locksReturned:
			d.locks[a] = &lock{driver: d, foundLock: f, found: d.clock.Now()}
		}
	}
	driver.Signal(d.resubscribe)
}

// sameLocks reports whether two lists of locks have the same addresses, models and capabilities.
func sameLocks(a, b map[string]foundLock) bool {
	return maps.EqualFunc(a, b, func(f, g foundLock) bool {
		return f.model == g.model && reflect.DeepEqual(f.caps, g.caps)
	})
}

// onLogLine searches a line of Zigbee2MQTT's log for the failure of a running operation, because failures are published nowhere else. The
// line may contain a PIN and must not be stored or logged. The caller holds d.mu.
func (d *Driver) onLogLine(m message) {
	var line struct {
		Level   string `json:"level"`
		Message string `json:"message"`
	}
	if m.retained || json.Unmarshal(m.payload, &line) != nil || line.Level != "error" {
		return
	}
	for _, l := range d.locks {
		if l.updates != nil {
			l.onLogError(line.Message)
		}
	}
}

// lockTopics returns the topics to which the driver must subscribe for its locks. discovered is true if a valid device list was received.
func (d *Driver) lockTopics() (out []string, discovered bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.locks {
		out = append(out, d.topics.state(l.name), d.topics.availability(l.name))
	}
	return out, d.found != nil
}

// setSubscribed makes c the connection for commands. c is subscribed to topics, those of the locks: without that, a command to a lock could
// lose its confirmation. If discovered is true, the locks are known, and the method Locks returns them.
func (d *Driver) setSubscribed(c *conn, topics []string, discovered bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conn, d.connError, d.received = c, "", topics
	if discovered && !d.isReady {
		d.isReady = true
		close(d.ready)
	}
	d.noteConnectionChange()
}

// setDisconnected records that the connection to the broker has ended because of err, and ends all running operations with the result
// Timeout.
func (d *Driver) setDisconnected(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conn, d.bridge, d.received = nil, "", nil
	if err != nil {
		d.connError = err.Error()
	}
	for _, l := range d.locks {
		l.available = ""
		l.deliverUpdate(update{disconnected: true})
	}
	d.noteConnectionChange()
}

// onStateMessage processes a lock's state message: it records the state, emits events and informs the running operation. A retained
// message, which is old, only updates the state. The caller holds the driver's mutex.
func (l *lock) onStateMessage(m message) {
	now, ok := parseState(m.payload)
	if !ok {
		return
	}
	before, known := l.last, l.known
	l.last, l.known = now, true
	at := l.driver.clock.Now()
	switch {
	case !m.retained:
		l.seen, l.unreached = at, false
	case !now.lastSeen.IsZero() && now.lastSeen.Before(at):
		l.seen = now.lastSeen
	}
	l.updateState(now, m.retained)
	if m.retained { // a retained message is old: it causes no event and answers no operation
		l.endAlarms(now)
		return
	}
	for _, e := range l.eventsOf(before, now, known) {
		e.Address, e.At = l.address, at
		l.driver.emit(e)
	}
	l.deliverUpdate(update{now: now, before: before, known: known})
}

// updateState stores the fields of a message that stay valid until a message changes them. retained means that the broker stored the
// message earlier; then a new battery level is as old as last_seen. A level that did not change keeps its time.
func (l *lock) updateState(r report, retained bool) {
	if r.bolt != "" {
		l.bolt = r.bolt
	}
	if r.door != "" {
		l.door = r.door
	}
	if r.battery != nil && (l.battery == nil || *l.battery != *r.battery) {
		l.battery, l.batteryAt = r.battery, r.lastSeen
		if !retained {
			l.batteryAt = l.seen
		}
	}
}

// eventsOf returns the lock events in the message now: its action, the alarms of its battery, its cover and its door, and, if known is
// true, what changed since the message before.
func (l *lock) eventsOf(before, now report, known bool) (out []driver.Event) {
	if e, ok := eventOf(now, l.caps.Slots); ok {
		out = append(out, e)
	}
	if kind := l.batteryEvent(before, now); kind != "" {
		out = append(out, driver.Event{Kind: kind})
	}
	if l.becameTampered(now) {
		out = append(out, driver.Event{Kind: driver.Tampered, Reason: "tamper"})
	}
	if l.becameForced(now) {
		out = append(out, driver.Event{Kind: driver.Tampered, Reason: "forcedOpen"})
	}
	if !known {
		return out
	}
	if now.door != "" && before.door != "" && now.door != before.door {
		switch now.door {
		case "open":
			out = append(out, driver.Event{Kind: driver.DoorOpened})
		case "closed":
			out = append(out, driver.Event{Kind: driver.DoorClosed})
		case "error_jammed":
			out = append(out, driver.Event{Kind: driver.Jammed})
		}
	}
	return out
}

// forcedOpen is the door_state of a door that was forced open.
const forcedOpen = "error_forced_open"

// becameTampered reports whether the tamper alarm has begun. It also counts if the first message that the driver knows has it: it may have
// begun while the bridge was off.
func (l *lock) becameTampered(now report) bool {
	if now.tamper == nil {
		return false
	}
	was := l.tampered
	l.tampered = *now.tamper
	return l.tampered && !was
}

// endAlarms notes the alarms that a retained message does not have any more, which ended while the driver had no connection to the broker:
// the next one is new. It does not note new alarms, which the next message reports.
func (l *lock) endAlarms(now report) {
	l.tampered = l.tampered && (now.tamper == nil || *now.tamper)
	l.forced = l.forced && (now.door == "" || now.door == forcedOpen)
}

// becameForced reports whether the lock has begun to say that its door was forced open. It also counts if the first message that the driver
// knows says so: see becameTampered.
func (l *lock) becameForced(now report) bool {
	if now.door == "" {
		return false
	}
	was := l.forced
	l.forced = now.door == forcedOpen
	return l.forced && !was
}

// batteryOKAfter is how long a battery must not be low, as far as the driver knows, before its alarm counts as ended. A weak battery alarms
// only while the motor runs.
const batteryOKAfter = 24 * time.Hour

// batteryEvent returns the kind of event that a message is about the battery: BatteryLow, BatteryOK or "". A lock that reports no charge has
// only this alarm. So the first message that the driver knows counts for such a lock: the battery may have become low, or may have been
// replaced, while the bridge was off.
func (l *lock) batteryEvent(before, now report) string {
	if now.low != nil && l.lowAt.IsZero() {
		l.lowAt = l.seen // it may have been low until then
	}
	switch {
	case now.low == nil:
		return ""
	case *now.low:
		first := !l.low && l.battery == nil
		l.low, l.lowAt, l.batteryOK = true, l.seen, false
		if first || becameTrue(before.low, now.low) {
			return driver.BatteryLow
		}
		return ""
	}
	l.low = false
	if l.battery != nil || l.batteryOK || l.seen.Sub(l.lowAt) < batteryOKAfter {
		return ""
	}
	l.batteryOK = true
	return driver.BatteryOK
}

// becameTrue reports whether a value has changed from false to true. nil means that a message does not have it; the result is then false.
func becameTrue(before, now *bool) bool { return before != nil && !*before && now != nil && *now }
