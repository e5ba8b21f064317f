package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// A verification that finds nothing to read does not delay the next wake-up.
func TestEmptyVerificationKeepsTheNextWakeUp(t *testing.T) {
	for name, look := range map[string]func(o *lockWorker) chan struct{}{
		"a session begins":            func(o *lockWorker) chan struct{} { return o.sessionOpened },
		"the lock is in reach again":  func(o *lockWorker) chan struct{} { return o.reconnected },
		"the clock of the lock moved": func(o *lockWorker) chan struct{} { return o.clock.moved },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
				from := time.Now().Add(time.Hour)
				s.want("front", 1, slot.Desired{Intent: slot.Present, PIN: "345671", NotBefore: from, NotAfter: from.Add(time.Hour)})
				s.pass(time.Minute)
				signal(look(s.bridge.workers["front"]))
				s.pass(time.Hour)
				if !s.opens("front", "345671") {
					t.Error("the window does not open")
				}
			})
		})
	}
}
