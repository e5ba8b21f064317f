package zigbee2mqtt

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"latchkey.dev/internal/agent/driver"
)

const maxWarnings = 64

// attend takes in what arrives, one message after the other.
func (d *Driver) attend(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-d.inbox:
			d.take(m)
		}
	}
}

func (d *Driver) take(m message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.update()
	if what, ours := d.place.under(m.topic); ours {
		switch what {
		case "state":
			d.bridge = availability(m.payload)
		case "info":
			d.learnShown(m.payload)
		case "devices":
			d.learnDevices(m.payload)
		case "logging":
			d.overhear(m)
		}
		return
	}
	for _, l := range d.locks {
		switch m.topic {
		case d.place.state(l.name):
			l.report(m)
			return
		case d.place.availability(l.name):
			l.available = availability(m.payload)
			return
		}
	}
}

// availability reads "online" or {"state": "online"}: both are in use.
func availability(payload []byte) string {
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

func (d *Driver) learnShown(payload []byte) {
	shown, err := shownPINs(payload)
	if err != nil {
		d.log.Warn("Zigbee2MQTT", "error", err)
		return
	}
	d.shown = shown
	if d.devices != nil {
		d.learn()
	}
}

func (d *Driver) learnDevices(payload []byte) {
	if !bytes.Equal(payload, d.devices) {
		d.devices = payload
		d.learn()
	}
}

// learn takes in which locks there are. Those that Locks returned stay as they were described, with
// the names that they have now.
func (d *Driver) learn() {
	now, err := discover(d.devices, d.cfg.Tunings, d.shown, d.pace.lifetime)
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
	if d.settled && !same(d.found, now.locks) {
		signal(d.changes)
	}
	if !d.settled {
		d.found = now.locks
		maps.DeleteFunc(d.locks, func(a string, _ *lock) bool { return now.locks[a].address == "" })
	}
	for a, f := range now.locks {
		switch l := d.locks[a]; {
		case l != nil && d.settled:
			l.name, l.firmware = f.name, f.firmware
		case l != nil:
			l.found = f
		case !d.settled:
			d.locks[a] = &lock{driver: d, found: f}
		}
	}
	signal(d.resub)
	if !d.isReady {
		d.isReady = true
		close(d.ready)
	}
}

// same ignores what may change without anybody having to know.
func same(a, b map[string]found) bool {
	return maps.EqualFunc(a, b, func(f, g found) bool {
		return f.model == g.model && reflect.DeepEqual(f.caps, g.caps)
	})
}

// overhear reads Zigbee2MQTT's log for a failure of the operation that some lock is waiting for: it
// is told nowhere else. The text may hold a PIN: it goes nowhere.
func (d *Driver) overhear(m message) {
	var line struct {
		Level   string `json:"level"`
		Message string `json:"message"`
	}
	if m.retained || json.Unmarshal(m.payload, &line) != nil || line.Level != "error" {
		return
	}
	for _, l := range d.locks {
		if l.ear != nil {
			l.overhear(line.Message)
		}
	}
}

// wanted are the topics of the locks.
func (d *Driver) wanted() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, l := range d.locks {
		out = append(out, d.place.state(l.name), d.place.availability(l.name))
	}
	return out
}

func (d *Driver) connected(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conn, d.trouble = c, ""
	d.update()
}

// lost tells everybody who waits for an answer that none will come.
func (d *Driver) lost(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conn, d.bridge = nil, ""
	if err != nil {
		d.trouble = err.Error()
	}
	for _, l := range d.locks {
		l.available = ""
		l.hear(heard{cut: true})
	}
	d.update()
}

// report takes in a lock's state message. The caller holds the driver's mutex.
func (l *lock) report(m message) {
	now, ok := parse(m.payload)
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
	l.remember(now, m.retained)
	if m.retained { // of the past: no event, and no answer
		return
	}
	for _, e := range l.events(before, now, known) {
		e.Address, e.At = l.address, at
		l.driver.tell(e)
	}
	l.hear(heard{now: now, before: before, known: known})
}

// remember keeps what a message says beyond itself.
func (l *lock) remember(r report, retained bool) {
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

// events are what a message tells beyond the one before it.
func (l *lock) events(before, now report, known bool) (out []driver.Event) {
	if e, ok := happened(now, l.caps.Slots); ok {
		out = append(out, e)
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
		case "error_forced_open":
			out = append(out, driver.Event{Kind: driver.Tampered, Reason: "forcedOpen"})
		}
	}
	if became(before.tamper, now.tamper) {
		out = append(out, driver.Event{Kind: driver.Tampered, Reason: "tamper"})
	}
	if became(before.low, now.low) {
		out = append(out, driver.Event{Kind: driver.BatteryLow})
	}
	return out
}

func became(before, now *bool) bool { return before != nil && !*before && now != nil && *now }
