package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
)

// A lock that stores a code and reports a failure holds no code after the stay.
func TestWriteWronglyReportedAsDuplicateIsCleanedUp(t *testing.T) {
	for _, profile := range []string{sim.ZWave, sim.ZWaveUser, sim.Matter, sim.TTLock} {
		for _, kind := range []sim.FaultKind{sim.FalseDuplicate, sim.LostAck, sim.Unconfirmed} {
			t.Run(profile+" "+string(kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t, sim.Spec{Address: "front", Profile: profile})
					s.pass(10 * time.Second)
					if err := s.house.Inject("front", sim.Fault{Kind: kind}); err != nil {
						t.Fatal(err)
					}
					s.want("front", 1, stay("345678", 0, time.Hour))
					s.pass(time.Minute)
					if o := s.observed("front", 1); o.Present != s.opens("front", "345678") {
						t.Errorf("observed %+v, opens %v", o, !o.Present)
					}
					s.want("front", 1, gone)
					s.pass(10 * time.Minute)
					if o := s.observed("front", 1); o.Present || !o.Evidence.Confirmed() || len(s.house.Slots("front")) != 0 {
						t.Errorf("observed %+v, %d codes on the lock", o, len(s.house.Slots("front")))
					}
				})
			})
		}
	}
}
