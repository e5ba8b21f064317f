package zigbee2mqtt

import (
	"context"
	"encoding/json"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
)

// Zigbee2MQTT exposes no lockout. Its commands read and write reach any attribute of a device, and the Door Lock cluster has two
// for it: both are a byte and not every lock has them.
const (
	doorLockCluster = "closuresDoorLock"
	// lockoutProperty is where Zigbee2MQTT publishes what it read.
	lockoutProperty = "latchkey_lockout"
)

// lockoutAttributes are the two, in Zigbee2MQTT's words.
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

// lockoutOf reads what a state message says of a lock's lockout; nil: nothing.
func lockoutOf(raw json.RawMessage) *slot.Lockout {
	var in *lockoutAttributes
	if json.Unmarshal(raw, &in) != nil || in == nil {
		return nil
	}
	return &slot.Lockout{Attempts: int(in.Limit), Pause: time.Duration(in.Seconds) * time.Second}
}

// SetLockout reads the lock's lockout, and writes it only if it is another one.
func (l *lock) SetLockout(ctx context.Context, want slot.Lockout) (slot.Lockout, driver.Answer) {
	if l.caps.Lockout != slot.LockoutSettable {
		return slot.Lockout{}, driver.Answer{Result: slot.Unsupported}
	}
	if want.Attempts < 1 || want.Attempts > maxAttribute || want.Pause < time.Second || want.Pause > maxAttribute*time.Second {
		return slot.Lockout{}, driver.Answer{Result: slot.Unsupported}
	}
	c, end := l.begin()
	defer end()
	got, a := c.readLockout(ctx, nil)
	if a.Result != slot.OK || got == want {
		return got, a
	}
	set := attributeWrite{doorLockCluster, lockoutAttributes{uint8(want.Attempts), uint8(want.Pause / time.Second)}} // bounded above
	if a, sent := c.send(ctx, "set", "write", set, l.driver.pace.expiry); !sent {
		return got, a
	}
	return c.readLockout(ctx, &want)
}

// maxAttribute is the largest value of a byte in Zigbee: 255 stands for no value.
const maxAttribute = 254

// readLockout asks the lock for its lockout. A reading that does not show what was just written may have overtaken the writing:
// the next one counts. Zigbee2MQTT repeats what was read before in each message, so a message that was on its way may answer
// with that.
func (c *call) readLockout(ctx context.Context, written *slot.Lockout) (got slot.Lockout, a driver.Answer) {
	ask := attributeRead{doorLockCluster, []string{"wrongCodeEntryLimit", "userCodeTemporaryDisableTime"}, lockoutProperty}
	for range lockoutReads {
		var sent, ok bool
		if a, sent = c.send(ctx, "set", "read", ask, c.lock.driver.pace.expiry); !sent {
			return got, a
		}
		a, ok = c.wait(ctx, c.lock.driver.pace.read, func(h heard) bool {
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

// lockoutReads is how often a lock is read after it was written.
const lockoutReads = 3

// PauseKeypad is not offered: Zigbee has no command that a lock ends by itself, and a keypad that was disabled would stay so when
// the bridge, the broker or Zigbee2MQTT dies.
func (l *lock) PauseKeypad(context.Context, time.Duration) driver.Answer {
	return driver.Answer{Result: slot.Unsupported}
}
