package zigbee2mqtt

import (
	"testing"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/test/z2mtest"
)

// A lock whose battery is dead when the bridge starts sends no message at all.
func TestLockThatNeverReportsBecomesOffline(t *testing.T) {
	c := clock.At(time.Now())
	broker := z2mtest.StartBroker(t)
	r := &rig{t: t, broker: broker, z2m: z2mtest.Start(t, broker, "zigbee2mqtt", frontLock())}
	r.driver = r.drive(Config{URL: "mqtt://" + broker.Addr, Clock: c}, redialing())
	locks, err := r.driver.Locks(t.Context())
	if err != nil || len(locks) != 1 {
		t.Fatal(len(locks), err)
	}
	l := locks[0].(*lock)
	r.until("online after the start", func() bool { return r.online(l) })
	c.Advance(defaultTimings.offlineAfter - time.Minute)
	if !r.online(l) {
		t.Error("offline too early")
	}
	c.Advance(time.Minute)
	if r.online(l) {
		t.Error("online without a message")
	}
	if s, _ := l.Status(t.Context()); !s.LastSeenAt.IsZero() {
		t.Errorf("last seen at %v, but it was never seen", s.LastSeenAt)
	}
	r.until("a lock that reports is online", func() bool { return r.reported(l) && r.online(l) })
	c.Advance(defaultTimings.offlineAfter)
	if r.online(l) {
		t.Error("online without another message")
	}
	r.z2m.SetAvailability(front, "online")
	r.until("Zigbee2MQTT reports that the lock is available", func() bool { return r.online(l) })
}
