package bridge

import (
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/bridge/driver"
	"latchkey.dev/internal/bridge/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// plumber is a code for one use, on two locks of a bridge that has no service.
var plumber = slot.Desired{Intent: slot.Present, PIN: "345671", Once: "cod_plumber"}

func TestACodeForOneUseEndsWithoutTheService(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(s *site) // after it was used at front
		late bool          // back hears of the code only then
	}{
		{name: "nothing else happens", then: func(*site) {}},
		{name: "the power goes at once", then: func(s *site) { s.kill(); s.start() }},
		{name: "the power goes before the other lock is rid of it", then: func(s *site) {
			s.house.SetOffline("back", true)
			s.pass(time.Second)
			s.kill()
			s.start()
			s.pass(time.Minute)
			s.house.SetOffline("back", false)
		}},
		{name: "the lock is out of reach for a day", then: func(s *site) {
			s.house.SetOffline("front", true)
			s.pass(24 * time.Hour)
			s.house.SetOffline("front", false)
		}},
		{name: "it is wanted again under another generation", then: func(s *site) {
			s.want("front", 1, plumber)
			s.want("back", 1, plumber)
		}},
		{name: "the other lock hears of it afterwards", then: func(s *site) { s.want("back", 1, plumber) }, late: true},
	} {
		for profile := range sim.Profiles() {
			t.Run(tt.name+"/"+profile, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t, sim.Spec{Address: "front", Profile: profile}, sim.Spec{Address: "back", Profile: profile})
					s.want("front", 1, plumber)
					if !tt.late {
						s.want("back", 1, plumber)
					}
					s.pass(time.Minute)
					if !s.opens("front", plumber.PIN) {
						t.Fatal("the first use does not open")
					}
					tt.then(s)
					s.pass(10 * time.Minute)
					for _, at := range []string{"front", "back"} {
						if s.opens(at, plumber.PIN) {
							t.Errorf("it opens %s again", at)
						}
						o := s.observed(at, 1)
						if o.Present || !o.Used || !o.Evidence.Settled() {
							t.Errorf("%s: %+v, want it used and gone", at, o)
						}
					}
					opened := 0
					for _, e := range s.journal() {
						if e.Kind == driver.Opened {
							opened++
							if e.Slot != 1 || e.Generation == 0 {
								t.Errorf("journaled as %+v", e)
							}
						}
					}
					if opened != 1 {
						t.Errorf("%d openings journaled, want 1", opened)
					}
				})
			})
		}
	}
}

func TestWhatASlotHoldsNextIsNotSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		s.want("front", 1, plumber)
		s.pass(time.Minute)
		s.opens("front", plumber.PIN)
		s.pass(time.Minute)
		next := slot.Desired{Intent: slot.Present, PIN: "456782", Once: "cod_painter"}
		for _, d := range []slot.Desired{next, {Intent: slot.Present, PIN: "567893"}} {
			s.want("front", 1, slot.Desired{Intent: slot.Absent})
			s.pass(time.Minute)
			s.want("front", 1, d)
			s.pass(time.Minute)
			if !s.opens("front", d.PIN) {
				t.Errorf("the code after one that was used does not open")
			}
			s.pass(time.Minute)
			if again := s.opens("front", d.PIN); again != (d.Once == "") {
				t.Errorf("opens a second time: %v", again)
			}
		}
	})
}
