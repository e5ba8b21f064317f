package agent

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

func stay(pin slot.PIN, from, to time.Duration) slot.Desired {
	now := time.Now().UTC()
	return slot.Desired{Intent: slot.Present, PIN: pin, NotBefore: now.Add(from), NotAfter: now.Add(to)}
}

var gone = slot.Desired{Intent: slot.Absent}

func TestPINOpensFromItsSettingToItsRemoval(t *testing.T) {
	for profile := range sim.Profiles() {
		t.Run(profile, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, sim.Spec{Address: "front", Profile: profile})
				s.want("front", 3, stay("345678", 0, time.Hour))
				s.pass(10 * time.Second)
				if !s.opens("front", "345678") || s.opens("front", "999999") {
					t.Fatal("the PIN does not open, or another does")
				}
				o := s.observed("front", 3)
				want := slot.Accepted
				if sim.Profiles()[profile].Capabilities.ReadBack {
					want = slot.Verified
				}
				if !o.Present || o.Evidence != want {
					t.Errorf("observed %+v, want %s", o, want)
				}
				s.want("front", 3, gone)
				s.pass(time.Second)
				if s.opens("front", "345678") {
					t.Error("opens after its removal")
				}
				wrong := "wrongPin"
				if diff := cmp.Diff([]journalEntry{
					{Sequence: 1, Address: "front", Kind: "opened", Slot: 3, Generation: 1, Quality: "drifting"},
					{Sequence: 2, Address: "front", Kind: "denied", Reason: wrong, Quality: "drifting"},
					{Sequence: 3, Address: "front", Kind: "denied", Reason: wrong, Quality: "drifting"},
				}, s.journal()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestBridgeEnforcesWindowsWithoutTheService(t *testing.T) {
	for _, profile := range []string{sim.ZWave, sim.Zigbee2MQTT, sim.TTLock, sim.Matter} {
		t.Run(profile, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, sim.Spec{Address: "front", Profile: profile})
				s.want("front", 1, stay("345678", 100*time.Hour, 120*time.Hour))
				s.pass(100*time.Hour - time.Second)
				if s.opens("front", "345678") {
					t.Error("opens before its window")
				}
				s.kill()
				s.start()
				s.pass(10 * time.Second)
				if !s.opens("front", "345678") {
					t.Error("does not open in its window")
				}
				s.pass(20*time.Hour - 11*time.Second)
				if !s.opens("front", "345678") {
					t.Error("does not open up to the end of its window")
				}
				s.pass(3 * time.Second)
				if s.opens("front", "345678") || len(s.locks.Slots("front")) != 0 {
					t.Error("is there after its window")
				}
			})
		})
	}
}

func TestLateOperationRestoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.TTLock})
		s.pass(10 * time.Second)
		if err := s.locks.Inject("front", sim.Fault{Kind: sim.Late, After: 1900 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		s.want("front", 1, stay("345678", 0, time.Hour))
		synctest.Wait()
		s.kill() // while the call that sets the code runs
		s.start()
		s.want("front", 1, gone)
		for range 60 {
			s.pass(time.Second)
			if o := s.observed("front", 1); o.Generation == 2 && o.Evidence.ConfirmedByLock() && len(s.locks.Slots("front")) != 0 {
				t.Fatal("reported as removed while it is there")
			}
		}
		if o := s.observed("front", 1); o.Generation != 2 || o.Present || !o.Evidence.ConfirmedByLock() || len(s.locks.Slots("front")) != 0 {
			t.Errorf("after a minute: observed %+v, %d codes on the lock", o, len(s.locks.Slots("front")))
		}
	})
}

// Random faults, power cuts and changes of desired codes, then none. In the end every lock must hold exactly the desired codes, and at
// every check the slots that were reported as confirmed must be right.
func TestLocksConvergeUnderFaults(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { converge(t, seed) })
		})
	}
}

func converge(t *testing.T, seed uint64) {
	profiles := []string{sim.ZWave, sim.Matter, sim.Zigbee2MQTT, sim.TTLock}
	profile := profiles[seed%4]
	rng := rand.New(rand.NewPCG(seed, 7))
	s := newSite(t, sim.Spec{Address: "front", Profile: profile, Latency: 100 * time.Millisecond})
	s.locks.SetOdds(sim.Odds{Lost: 0.1, LostAck: 0.1, Late: 0.15, Busy: 0.1, Offline: 0.1})
	want := map[uint32]slot.PIN{}
	for i := range 80 {
		n := 1 + rng.Uint32N(4)
		switch {
		case rng.IntN(10) == 0:
			s.kill()
			s.start()
		case rng.IntN(3) == 0:
			s.want("front", n, gone)
			delete(want, n)
		default:
			pin := slot.PIN(fmt.Sprintf("%d%05d", n, 10_000+i))
			s.want("front", n, stay(pin, 0, 1000*time.Hour))
			want[n] = pin
		}
		s.pass(time.Duration(rng.Int64N(int64(6 * time.Second))))
		s.truthful("front", want)
	}
	s.locks.SetOdds(sim.Odds{})
	s.pass(15 * time.Minute)
	s.truthful("front", want)
	got := map[uint32]slot.PIN{}
	for _, c := range s.locks.Slots("front") {
		got[c.Slot] = c.PIN
	}
	if !cmp.Equal(want, got) {
		t.Errorf("slots wanted %d, on the lock %d, or other codes in them", len(want), len(got))
	}
	for n := range s.gen {
		if o := s.observed("front", n); o.Generation != s.gen[n] || !o.Evidence.ConfirmedByLock() {
			t.Errorf("slot %d generation %d: observed %+v", n, s.gen[n], o)
		}
	}
}

// truthful checks that the slots that are reported as confirmed match the lock.
func (s *site) truthful(address string, want map[uint32]slot.PIN) {
	s.t.Helper()
	synctest.Wait()
	in := map[uint32]slot.PIN{}
	for _, c := range s.locks.Slots(address) {
		in[c.Slot] = c.PIN
	}
	for n, gen := range s.gen {
		o := s.observed(address, n)
		if o.Generation == gen && o.Evidence.ConfirmedByLock() && in[n] != want[n] {
			s.t.Fatalf("slot %d generation %d is reported as settled and is not", n, gen)
		}
	}
}

func TestLocksOfOneRadioAreCalledOneAtATime(t *testing.T) {
	for radios, most := range map[int]int{1: 1, 4: 4} {
		synctest.Test(t, func(t *testing.T) {
			var specs []sim.Spec
			for i := range 4 {
				specs = append(specs, sim.Spec{Address: fmt.Sprint(i), Profile: sim.TTLock, Latency: 400 * time.Millisecond, Radio: fmt.Sprint("radio ", i%radios)})
			}
			s := newSite(t, specs...)
			s.kill()
			c := &crowd{Driver: s.locks.Driver()}
			s.drv = c
			s.start()
			s.pass(10 * time.Second)
			for i := range 4 {
				s.want(fmt.Sprint(i), 1, stay("345678", 0, time.Hour))
			}
			s.pass(10 * time.Second)
			if c.most != most {
				t.Errorf("%d radios: %d calls at once, want %d", radios, c.most, most)
			}
			for i := range 4 {
				if !s.opens(fmt.Sprint(i), "345678") {
					t.Errorf("lock %d did not get its code", i)
				}
			}
		})
	}
}

func TestManuallyChangedSlotIsSetAgainAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		s.want("front", 1, stay("345678", 0, 100*time.Hour))
		s.pass(10 * time.Second)
		if err := s.locks.Program("front", 1, ""); err != nil {
			t.Fatal(err)
		}
		s.pass(time.Second)
		if !s.opens("front", "345678") {
			t.Error("was not set again")
		}
		got := s.journal()
		if len(got) != 2 || got[0].Kind != "tampered" || got[0].Slot != 1 {
			t.Errorf("journal: %+v", got)
		}
	})
}

// A lock that cannot be read reports that a code was changed, or was reset: what it holds is not known, and set again.
func TestCodeChangedAtABlindLockIsSetAgain(t *testing.T) {
	for name, change := range map[string]func(h *sim.Site) error{
		"one slot": func(h *sim.Site) error { return h.Program("front", 1, "") },
		"a reset":  func(h *sim.Site) error { return h.Reset("front", true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, sim.Spec{Address: "front", Profile: sim.TTLock, Latency: time.Second})
				s.want("front", 1, stay("345678", 0, 100*time.Hour))
				s.pass(20 * time.Second)
				before := len(s.journal())
				if err := change(s.locks); err != nil {
					t.Fatal(err)
				}
				s.pass(time.Second / 2)
				if o := s.observed("front", 1); o.Evidence != slot.Unconfirmed {
					t.Errorf("after the change: %+v", o)
				}
				s.pass(20 * time.Second)
				if o := s.observed("front", 1); o.Evidence != slot.Accepted || !s.opens("front", "345678") {
					t.Errorf("later: %+v, opens %v", o, s.opens("front", "345678"))
				}
				events := s.journal()[before:]
				if !slices.ContainsFunc(events, func(o journalEntry) bool { return o.Kind == "tampered" && o.Slot == 1 && o.Reason == "slotChanged" }) {
					t.Errorf("journal: %+v", events)
				}
			})
		})
	}
}

// When a lock is reachable again, its codes are not set again.
func TestReconnectedLockKeepsItsCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.TTLock})
		s.want("front", 1, stay("345678", 0, 100*time.Hour))
		s.pass(20 * time.Second)
		writes := s.locks.WriteCount("front")
		driver.Signal(s.bridge.workers["front"].reconnected)
		driver.Signal(s.bridge.workers["front"].sessionOpened)
		s.pass(time.Minute)
		if o := s.observed("front", 1); o.Evidence != slot.Accepted || s.locks.WriteCount("front") != writes {
			t.Errorf("%+v, %d writes more", o, s.locks.WriteCount("front")-writes)
		}
	})
}

func TestForeignCodeIsNotChanged(t *testing.T) {
	for _, profile := range []string{sim.ZWave, sim.Matter} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, sim.Spec{Address: "front", Profile: profile})
			if err := s.locks.Program("front", 1, "777777"); err != nil {
				t.Fatal(err)
			}
			s.want("front", 1, stay("345678", 0, time.Hour))
			s.pass(time.Minute)
			if o := s.observed("front", 1); o.Evidence != slot.Failed || o.Result != slot.Occupied {
				t.Errorf("%s: observed %+v", profile, o)
			}
			s.want("front", 1, gone)
			s.pass(time.Minute)
			if !s.opens("front", "777777") {
				t.Errorf("%s: the code is gone", profile)
			}
		})
	}
}

func TestDuplicateIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.TTLock})
		s.want("front", 1, stay("345678", 0, time.Hour))
		s.want("front", 2, stay("345678", 0, time.Hour))
		s.pass(time.Minute)
		writes := s.locks.WriteCount("front")
		s.pass(time.Hour / 2)
		if o := s.observed("front", 2); o.Evidence != slot.Failed || o.Result != slot.Duplicate {
			t.Errorf("observed %+v", o)
		}
		if n := s.locks.WriteCount("front"); n != writes {
			t.Errorf("%d more writes of a refused code", n-writes)
		}
	})
}

// If a slow disk delays a worker beyond the lifetime of its call, the worker still uses the answer that arrived in time.
func TestWaitingResultCountsBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.TTLock})
		s.pass(time.Minute)
		s.kill()
		b, err := New(t.Context(), Config{Dir: s.dir, Driver: s.drv, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close() }()
		o := b.workers["front"]
		o.timer = time.NewTimer(never)
		advance := func(ev slot.Event) {
			t.Helper()
			if err := o.advance(t.Context(), []slot.Event{ev}); err != nil {
				t.Fatal(err)
			}
		}
		advance(slot.Event{Kind: slot.Restarted})
		s.pass(time.Minute)
		d := stay("345678", 0, time.Hour)
		d.Generation = 1
		advance(slot.Event{Kind: slot.DesiredChanged, Slot: 1, Desired: d})
		if o.state.Op.Kind != slot.OpSet {
			t.Fatalf("under way: %+v", o.state.Op)
		}
		s.pass(time.Until(o.state.Op.ExpiresAt) + time.Second) // the worker is blocked meanwhile
		advance(slot.Event{Kind: slot.TimePassed})
		if row, _ := o.state.Slot(1); row.Observed.Evidence != slot.Accepted || !row.Observed.Present {
			t.Errorf("the lock said yes in time; observed %+v", row.Observed)
		}
	})
}

// A lock that stores a code and reports a failure holds no code after the stay.
func TestWriteWronglyReportedAsDuplicateIsCleanedUp(t *testing.T) {
	for _, profile := range []string{sim.ZWave, sim.ZWaveUser, sim.Matter, sim.TTLock} {
		for _, kind := range []sim.FaultKind{sim.FalseDuplicate, sim.LostAck, sim.Unconfirmed} {
			t.Run(profile+" "+string(kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t, sim.Spec{Address: "front", Profile: profile})
					s.pass(10 * time.Second)
					if err := s.locks.Inject("front", sim.Fault{Kind: kind}); err != nil {
						t.Fatal(err)
					}
					s.want("front", 1, stay("345678", 0, time.Hour))
					s.pass(time.Minute)
					if o := s.observed("front", 1); o.Present != s.opens("front", "345678") {
						t.Errorf("observed %+v, opens %v", o, !o.Present)
					}
					s.want("front", 1, gone)
					s.pass(10 * time.Minute)
					if o := s.observed("front", 1); o.Present || !o.Evidence.ConfirmedByLock() || len(s.locks.Slots("front")) != 0 {
						t.Errorf("observed %+v, %d codes on the lock", o, len(s.locks.Slots("front")))
					}
				})
			})
		}
	}
}

// The answer of a call that has outlived its operation says nothing about the operation that runs now, and that one's call still runs.
func TestAnswerOfAnEarlierOperation(t *testing.T) {
	w := &lockWorker{bridge: &Bridge{clock: clock.At(time.Unix(1_800_000_000, 0))}, calls: 2, read: map[uint32]time.Time{}, backoff: backoff{}}
	running := slot.Lock{Op: slot.Op{Kind: slot.OpRead, Slot: 3, Seq: 8}}
	late := slot.Event{Kind: slot.Answered, Seq: 7, Result: slot.OK}
	w.onAnswer(running, late)
	if _, read := w.read[3]; read || w.calls != 1 {
		t.Errorf("the slot counts as read: %v; %d calls run, want 1", read, w.calls)
	}
	late.Seq = 8
	w.onAnswer(running, late)
	if _, read := w.read[3]; !read || w.calls != 0 {
		t.Errorf("the slot counts as read: %v; %d calls run, want 0", read, w.calls)
	}
}
