package zigbee2mqtt

import (
	"context"
	"encoding/json"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// Zigbee2MQTT exposes no lockout. Its commands read and write access any attribute of a device, and the Door Lock cluster has two
// attributes for it: each is a byte, and not every lock has them.
const (
	doorLockCluster = "closuresDoorLock"
	// lockoutProperty is where Zigbee2MQTT publishes the result.
	lockoutProperty = "latchkey_lockout"
)

// lockoutAttributes are the two attributes, by their names in Zigbee2MQTT.
type lockoutAttributes struct {
	Limit   uint8 `json:"wrongCodeEntryLimit"`
	Seconds uint8 `json:"userCodeTemporaryDisableTime"`
}

type attributeRead struct {
	Cluster    string   `json:"cluster"`
	Attributes []string `json:"attributes"`
	Property   string   `json:"state_property"`
}

type attributeWrite struct {
	Cluster string            `json:"cluster"`
	Payload lockoutAttributes `json:"payload"`
}

// parseLockout decodes the lockout in a state message; nil: none.
func parseLockout(raw json.RawMessage) *slot.Lockout {
	var in *lockoutAttributes
	if json.Unmarshal(raw, &in) != nil || in == nil {
		return nil
	}
	return &slot.Lockout{Attempts: int(in.Limit), Pause: time.Duration(in.Seconds) * time.Second}
}

// SetLockout reads the lock's lockout, and writes it only if it differs.
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
	set := attributeWrite{doorLockCluster, lockoutAttributes{uint8(want.Attempts), uint8(want.Pause / time.Second)}} // bounded above
	if a, sent := c.send(ctx, "set", "write", set, l.driver.timings.expiry); !sent {
		return got, a
	}
	return c.readLockout(ctx, &want)
}

// maxAttribute is the largest value of a byte in Zigbee: 255 means no value.
const maxAttribute = 254

// readLockout reads the lock's lockout. A result that differs from what was just written may be older than the write, so it is read
// again. Zigbee2MQTT repeats the last value in each message, so any message may carry the old one.
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

// lockoutReads is how often a lock is read after a write.
const lockoutReads = 3

// PauseKeypad is unsupported: Zigbee has no pause that the lock ends by itself, and a disabled keypad would stay disabled if the
// bridge, the broker or Zigbee2MQTT crashed.
func (l *lock) PauseKeypad(context.Context, time.Duration) driver.Answer {
	return driver.Answer{Result: slot.Unsupported}
}
