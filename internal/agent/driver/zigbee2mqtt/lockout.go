package zigbee2mqtt

import (
	"context"
	"encoding/json"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// Zigbee2MQTT does not expose a lockout. But its read and write commands access any attribute of a device, and two attributes of Zigbee's
// Door Lock cluster are the lockout. Both are bytes; not every lock has them.
const (
	doorLockCluster = "closuresDoorLock"
	// lockoutProperty is the property under which Zigbee2MQTT publishes the lockout that was read. attributeRead sets this name.
	lockoutProperty = "latchkey_lockout"
)

// lockoutAttributes are the two Zigbee attributes of the lockout, with Zigbee2MQTT's names.
type lockoutAttributes struct {
	Limit   uint8 `json:"wrongCodeEntryLimit"`
	Seconds uint8 `json:"userCodeTemporaryDisableTime"`
}

// attributeRead is Zigbee2MQTT's command read, which reads attributes of a device and publishes them as one property.
type attributeRead struct {
	Cluster    string   `json:"cluster"`
	Attributes []string `json:"attributes"`
	Property   string   `json:"state_property"`
}

// attributeWrite is Zigbee2MQTT's command write, which writes attributes of a device.
type attributeWrite struct {
	Cluster string            `json:"cluster"`
	Payload lockoutAttributes `json:"payload"`
}

// parseLockout decodes raw, the lockout setting in a state message. It returns nil if raw is missing or malformed.
func parseLockout(raw json.RawMessage) *slot.Lockout {
	var in *lockoutAttributes
	if json.Unmarshal(raw, &in) != nil || in == nil {
		return nil
	}
	return &slot.Lockout{Attempts: int(in.Limit), Pause: time.Duration(in.Seconds) * time.Second}
}

// SetLockout reads the lock's lockout setting, writes it if it differs from want, and returns it as read back. OK means only that it was
// read: the caller must compare it with want. The result is Unsupported if the attempts or seconds in want are not 1 to maxAttribute.
func (l *lock) SetLockout(ctx context.Context, want slot.Lockout) (slot.Lockout, driver.Answer) {
	if l.caps.Lockout != slot.LockoutSettable {
		return slot.Lockout{}, driver.Answer{Result: slot.Unsupported}
	}
	if want.Attempts < 1 || want.Attempts > maxAttribute || want.Pause < time.Second || want.Pause > maxAttribute*time.Second {
		return slot.Lockout{}, driver.Answer{Result: slot.Unsupported}
	}
	c, end := l.beginOperation()
	defer end()
	got, a := c.readLockout(ctx, nil)
	if a.Result != slot.OK || got == want {
		return got, a
	}
	set := attributeWrite{doorLockCluster, lockoutAttributes{uint8(want.Attempts), uint8(want.Pause / time.Second)}} // attempts and pause were limited to a byte above
	if a, sent := c.send(ctx, "set", "write", set, l.driver.timings.expiry); !sent {
		return got, a
	}
	return c.readLockout(ctx, &want)
}

// maxAttribute is the largest value of a Zigbee byte attribute. 255 means that there is no value.
const maxAttribute = 254

// readLockout reads the lock's lockout setting. written is the setting that this operation has just written, or nil. Zigbee2MQTT repeats
// the last value in every message. So a value that differs from written may be older than the write: readLockout then reads again, at most
// lockoutReads times in all, and returns the last value.
func (c *operation) readLockout(ctx context.Context, written *slot.Lockout) (got slot.Lockout, a driver.Answer) {
	ask := attributeRead{doorLockCluster, []string{"wrongCodeEntryLimit", "userCodeTemporaryDisableTime"}, lockoutProperty}
	for range lockoutReads {
		var sent, ok bool
		if a, sent = c.send(ctx, "set", "read", ask, c.lock.driver.timings.expiry); !sent {
			return got, a
		}
		a, ok = c.await(ctx, c.lock.driver.timings.read, func(h update) bool {
			if h.now.lockout != nil {
				got = *h.now.lockout
			}
			return h.now.lockout != nil
		})
		if !ok || written == nil || got == *written {
			break
		}
	}
	return got, a
}

// lockoutReads is the maximum number of reads after one write, until a read shows what was written. Without success the last value counts.
const lockoutReads = 3

// PauseKeypad is unsupported, because Zigbee has no pause that the lock ends by itself. A disabled keypad would stay disabled if the
// bridge, the broker or Zigbee2MQTT crashed.
func (l *lock) PauseKeypad(context.Context, time.Duration) driver.Answer {
	return driver.Answer{Result: slot.Unsupported}
}
