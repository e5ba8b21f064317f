package agent

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// plumber sets a one-time code on two locks of a bridge without a service.
var plumber = slot.Desired{Intent: slot.Present, PIN: "345671", OneTimeID: "cod_plumber"}

func TestOneTimeCodeEndsWithoutTheService(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(s *site) // after it was used at front
		late bool          // back receives the code only then
	}{
		{name: "nothing else happens", then: func(*site) {}},
		{name: "the power goes at once", then: func(s *site) { s.kill(); s.start() }},
		{name: "the power goes before the other lock is rid of it", then: func(s *site) {
			s.locks.SetOffline("back", true)
			s.pass(time.Second)
			s.kill()
			s.start()
			s.pass(time.Minute)
			s.locks.SetOffline("back", false)
		}},
		{name: "the lock is out of reach for a day", then: func(s *site) {
			s.locks.SetOffline("front", true)
			s.pass(24 * time.Hour)
			s.locks.SetOffline("front", false)
		}},
		{name: "it is wanted again under another generation", then: func(s *site) {
			s.want("front", 1, plumber)
			s.want("back", 1, plumber)
		}},
		{name: "the other lock gets the change afterwards", then: func(s *site) { s.want("back", 1, plumber) }, late: true},
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
						if o.Present || !o.Used || !o.Evidence.ConfirmedByLock() {
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

func TestNextCodeInASlotIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		s.want("front", 1, plumber)
		s.pass(time.Minute)
		s.opens("front", plumber.PIN)
		s.pass(time.Minute)
		next := slot.Desired{Intent: slot.Present, PIN: "456782", OneTimeID: "cod_painter"}
		for _, d := range []slot.Desired{next, {Intent: slot.Present, PIN: "567893"}} {
			s.want("front", 1, slot.Desired{Intent: slot.Absent})
			s.pass(time.Minute)
			s.want("front", 1, d)
			s.pass(time.Minute)
			if !s.opens("front", d.PIN) {
				t.Errorf("the code after one that was used does not open")
			}
			s.pass(time.Minute)
			if again := s.opens("front", d.PIN); again != (d.OneTimeID == "") {
				t.Errorf("opens a second time: %v", again)
			}
		}
	})
}

// setter counts how often each lock gets a code.
type setter struct {
	driver.Driver
	mu   sync.Mutex
	sets map[string]int
}

func (c *setter) Locks(ctx context.Context) ([]driver.Lock, error) {
	locks, err := c.Driver.Locks(ctx)
	for i := range locks {
		locks[i] = setCounted{locks[i], c}
	}
	return locks, err
}

func (c *setter) of(address string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sets[address]
}

type setCounted struct {
	driver.Lock
	by *setter
}

func (l setCounted) Set(ctx context.Context, s driver.Setting) driver.Answer {
	l.by.mu.Lock()
	l.by.sets[l.Address()]++
	l.by.mu.Unlock()
	return l.Lock.Set(ctx, s)
}

// forget removes from the stored state of a lock that a code was used elsewhere, as after a power cut before that write.
func (s *site) forget(address string, number uint32) {
	s.t.Helper()
	st, err := openStore(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	l, offset, _, err := st.loadLock(address, slot.Capabilities{})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range l.Slots {
		if row := &l.Slots[i]; row.Number == number {
			row.UsedOneTimeID, row.Observed = "", slot.Observed{Generation: row.Desired.Generation, Evidence: slot.Sent}
		}
	}
	if err := st.writeLock(address, l, l.Slots, offset); err != nil {
		s.t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func TestUsedCodeIsSetOnNoOtherLock(t *testing.T) {
	later := plumber
	later.NotBefore = time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC) // two hours into the bubble's time
	for _, tt := range []struct {
		name   string
		before func(s *site)
		then   func(s *site) // after it was used at front
	}{
		{
			name:   "the other lock is added",
			before: func(*site) {},
			then:   func(s *site) { s.want("back", 1, plumber) },
		},
		{
			name:   "its dates change",
			before: func(s *site) { s.want("back", 1, plumber); s.pass(time.Minute) },
			then: func(s *site) {
				changed := plumber
				changed.NotAfter = time.Now().Add(time.Hour)
				s.want("back", 1, changed)
			},
		},
		{
			name:   "its dates change while the other lock is out of reach",
			before: func(s *site) { s.want("back", 1, plumber); s.pass(time.Minute); s.locks.SetOffline("back", true) },
			then: func(s *site) {
				changed := plumber
				changed.NotAfter = time.Now().Add(time.Hour)
				s.want("back", 1, changed)
				s.pass(time.Minute)
				s.locks.SetOffline("back", false)
			},
		},
		{
			name:   "an older code of another bridge may be there",
			before: func(*site) {},
			then: func(s *site) {
				claimed := plumber
				claimed.MayHoldOwn = true
				s.want("back", 1, claimed)
			},
		},
		{
			name:   "the power goes before the other lock has the change",
			before: func(s *site) { s.want("back", 1, later); s.pass(time.Minute) },
			then: func(s *site) {
				s.kill()
				s.forget("back", 1)
				s.pass(3 * time.Hour)
				s.start()
			},
		},
		{
			name:   "the power goes, and the first lock holds another code by then",
			before: func(s *site) { s.want("back", 1, later); s.pass(time.Minute) },
			then: func(s *site) {
				s.want("front", 1, gone)
				s.pass(time.Minute)
				s.kill()
				s.forget("back", 1)
				s.pass(3 * time.Hour)
				s.start()
			},
		},
	} {
		for profile := range sim.Profiles() {
			t.Run(tt.name+"/"+profile, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t, sim.Spec{Address: "front", Profile: profile}, sim.Spec{Address: "back", Profile: profile})
					s.kill()
					count := &setter{Driver: s.locks.Driver(), sets: map[string]int{}}
					s.drv = count
					s.start()
					s.want("front", 1, plumber)
					s.pass(time.Minute)
					tt.before(s)
					sets := count.of("back")
					if !s.opens("front", plumber.PIN) {
						t.Fatal("the first use does not open")
					}
					s.pass(time.Second)
					tt.then(s)
					s.pass(10 * time.Minute)
					if n := count.of("back") - sets; n != 0 {
						t.Errorf("set at the other lock %d times after its use", n)
					}
					if s.opens("back", plumber.PIN) {
						t.Error("opens the other lock")
					}
					if o := s.observed("back", 1); o.Present || !o.Used || !o.Evidence.ConfirmedByLock() {
						t.Errorf("back: %+v, want it used and gone", o)
					}
				})
			})
		}
	}
}

// Between storing a use and ending the code at the other locks, none may take the code again.
func TestUseIsKnownBeforeItIsStored(t *testing.T) {
	s := newSite(t, sim.Spec{Address: "front", Profile: sim.TTLock})
	s.kill()
	b, err := New(t.Context(), Config{Dir: s.dir, Driver: s.drv, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	o := b.workers["front"]
	o.state.Slots = []slot.Slot{{Number: 1, Desired: plumber, Content: slot.Content{Kind: slot.Own, PIN: plumber.PIN, Evidence: slot.Accepted}}}
	o.timer = time.NewTimer(never)
	disk, err := b.store.db.Begin(true) // nothing can be stored meanwhile
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- o.advance(t.Context(), []slot.Event{{Kind: slot.CodeUsed, Slot: 1}}, journalEntry{Address: "front", Kind: driver.Opened, Slot: 1})
	}()
	known := func() bool { return slices.Contains(b.usedCodes.list(), plumber.OneTimeID) }
	for late := time.Now().Add(5 * time.Second); !known() && time.Now().Before(late); {
		runtime.Gosched()
	}
	if !known() {
		t.Error("the use is not known while it is being stored")
	}
	if err := disk.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for range o.calls {
		<-o.results
	}
}

// A code that waits for its turn on the radio is not set once it was used elsewhere.
func TestUsedCodeThatWaitsForTheRadioIsNotSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.TTLock}, sim.Spec{Address: "back", Profile: sim.TTLock})
		s.kill()
		count := &setter{Driver: s.locks.Driver(), sets: map[string]int{}}
		s.drv = count
		s.start()
		s.want("front", 1, plumber)
		s.pass(time.Minute)
		radio := s.bridge.workers["back"].radio
		if !radio.acquire(t.Context()) { // another call
			t.Fatal("the radio is taken")
		}
		s.want("back", 1, plumber)
		s.pass(100 * time.Millisecond)
		if !s.opens("front", plumber.PIN) {
			t.Fatal("the first use does not open")
		}
		s.pass(100 * time.Millisecond)
		radio.release()
		s.pass(time.Minute)
		if n := count.of("back"); n != 0 {
			t.Errorf("set at the other lock %d times after its use", n)
		}
		if o := s.observed("back", 1); o.Present || !o.Used || !o.Evidence.ConfirmedByLock() {
			t.Errorf("back: %+v, want it used and gone", o)
		}
	})
}
