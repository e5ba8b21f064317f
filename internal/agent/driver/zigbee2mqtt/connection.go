package zigbee2mqtt

import (
	"fmt"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// Connection returns the state of the connection to the broker, and through it to Zigbee2MQTT.
func (d *Driver) Connection() driver.Connection {
	d.mu.Lock()
	defer d.mu.Unlock()
	cause, detail := d.disconnectCause()
	return driver.Connection{Peer: "MQTT broker " + d.host, Cause: cause, Detail: detail, Since: d.since}
}

// Updates signals that the connection, or the status of a lock, may have changed. One signal may be for several changes.
func (d *Driver) Updates() <-chan struct{} { return d.updates }

// disconnectCause returns why no lock can be reached: the cause for programs, and the detail for people. Both are empty if the driver is
// connected. The caller holds the driver's mutex.
func (d *Driver) disconnectCause() (cause, detail string) {
	switch {
	case d.conn == nil:
		return slot.BrokerUnreachable, fmt.Sprintf("no connection to the MQTT broker %s: %s", d.host, d.connError)
	case d.bridge == "offline":
		return slot.GatewayOffline, fmt.Sprintf("Zigbee2MQTT is offline, says %s on the MQTT broker %s", d.topics.bridge("state"), d.host)
	case !d.isReady:
		return slot.GatewayOffline, fmt.Sprintf("the MQTT broker %s has nothing on %s: is Zigbee2MQTT running, and is %q its base topic?",
			d.host, d.topics.bridge("devices"), d.cfg.Base)
	}
	return "", ""
}

// noteConnectionChange must be called after each change that may affect the connection or a status. It records when the cause of a
// disconnection began or ended, and signals Updates. The caller holds the driver's mutex.
func (d *Driver) noteConnectionChange() {
	if cause, _ := d.disconnectCause(); cause != d.cause {
		d.cause, d.since = cause, d.clock.Now()
	}
	driver.Signal(d.updates)
}
