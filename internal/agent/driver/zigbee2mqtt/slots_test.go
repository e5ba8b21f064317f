package zigbee2mqtt

import (
	"testing"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/z2mtest"
)

// A lock may hold codes above its slots: the setting of its slots was lost, or Zigbee2MQTT now reports fewer.
func TestSlotAboveTheLastIsReadAndCleared(t *testing.T) {
	const above, missing = 45, 60
	lk := frontLock()
	lk.Users = above + 1
	r := newRig(t, defaultTimings, lk)
	l := r.lock(front)
	if l.Capabilities().Slots >= above {
		t.Fatal("the lock has the slot")
	}
	r.z2m.Program(front, above, "345678")
	if c, a := l.Read(r.within(), above); a.Result != slot.OK || !c.Present || c.PIN != "345678" {
		t.Errorf("read: present %v, %s", c.Present, a.Result)
	}
	if a := r.set(l, above, "456789", true); a.Result != slot.SlotsFull || !a.Unsent {
		t.Errorf("set: %+v", a)
	}
	r.z2m.FailNextCommand(front, "Error: ZCL command failed (Status 'FAILURE')")
	if a := l.Clear(r.within(), above); a.Result != slot.NotConfirmed {
		t.Errorf("a clear that the lock refused: %s", a.Result)
	}
	if a := l.Clear(r.within(), above); a.Result != slot.OK || len(r.z2m.PINs(front)) != 0 {
		t.Errorf("clear: %s", a.Result)
	}
	if c, a := l.Read(r.within(), missing); a.Result != slot.OK || c.Present {
		t.Errorf("read of a slot out of range: present %v, %s", c.Present, a.Result)
	}
	if a := l.Clear(r.within(), missing); a.Result != slot.OK {
		t.Errorf("clear of a slot out of range: %s", a.Result)
	}
	if !r.online(l) {
		t.Error("the lock is offline after an answer")
	}
}

// A slot must not count as empty only because of its number.
func TestUnreachableSlotAboveTheLastIsNotEmpty(t *testing.T) {
	lk := z2mtest.Lock{Address: front, Name: "front", Users: 51, ReportsSuccessTimes: true}
	r := newRig(t, redialing(), lk)
	l := r.lock(front)
	r.z2m.Stop()
	r.until("the broker has noticed", func() bool { return l.Clear(r.within(), 45) == driver.Answer{Result: slot.LockOffline, Unsent: true} })
	if c, a := l.Read(r.within(), 45); a.Result != slot.Timeout {
		t.Errorf("present %v, %s", c.Present, a.Result)
	}
}
