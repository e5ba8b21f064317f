package zigbee2mqtt

import (
	"sync/atomic"
	"testing"
	"time"

	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/drivertest"
	"latchkey.dev/internal/test/z2mtest"
)

func TestConformance(t *testing.T) {
	broker := z2mtest.StartBroker(t)
	var n atomic.Int32
	for name, l := range map[string]z2mtest.Lock{
		"tells and shows":                 {ReportsSuccessTimes: true, ExposePIN: true},
		"tells and shows only occupancy":  {ReportsSuccessTimes: true},
		"tells by actions":                {ReportsCodeChanges: true, Unreadable: true},
		"tells and cannot be read":        {ReportsSuccessTimes: true, Unreadable: true},
		"is silent and shows":             {ExposePIN: true},
		"is silent, shows only occupancy": {},
		"is retained":                     {ReportsSuccessTimes: true, Retain: true},
		"has a lockout":                   {ReportsSuccessTimes: true, Lockout: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.Run(t, func(t *testing.T) drivertest.Bench {
				l := l
				l.Address, l.Name, l.Users = front, "ground floor/front", 21
				p := defaultTimings
				if !l.ReportsSuccessTimes && !l.ReportsCodeChanges {
					p = hasty(100 * time.Millisecond)
				}
				r := rigAt(t, broker, base(int(n.Add(1))), p, l)
				return drivertest.Bench{Lock: r.lock(front), NoLockout: !l.Lockout, TypePIN: func(pin slot.PIN) bool { return r.z2m.TypePIN(front, string(pin)) }}
			})
		})
	}
}
