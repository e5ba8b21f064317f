package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// waiting counts the calls that wait for the radio.
func (r *radio) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.first) + len(r.others)
}

// A script names the calls in the order in which they arrive while another call runs: U is an unlock command, c another call, and a small x
// after it means that it gives up before its turn.
func TestOrderAtTheRadio(t *testing.T) {
	for script, want := range map[string]string{
		"c1 c2 c3":          "c1 c2 c3",
		"c1 U2 c3 U4":       "U2 U4 c1 c3",
		"c1x c2 U3x U4 c5x": "U4 c2",
		"U1x c2x":           "",
	} {
		t.Run(script, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r radio
				if !r.acquire(t.Context()) {
					t.Fatal("the radio is taken")
				}
				var order []string
				for name := range strings.FieldsSeq(script) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					acquire := r.acquire
					if name[0] == 'U' {
						acquire = r.acquireFirst
					}
					go func() {
						if acquire(ctx) {
							order = append(order, name) // one at a time: the calls hold the radio
							r.release()
						}
					}()
					synctest.Wait()
					if strings.HasSuffix(name, "x") {
						cancel()
						synctest.Wait()
					}
				}
				r.release()
				synctest.Wait()
				if got := strings.Join(order, " "); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				if n := r.waiting(); r.busy || n > 0 {
					t.Errorf("busy %v, %d calls wait", r.busy, n)
				}
			})
		})
	}
}

// A call gives up in the moment in which its turn comes. Whatever it sees first, the radio is not lost.
func TestRadioIsNotLostToACallThatGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r radio
		for range 200 { // repeated, because select chooses at random between two ready channels
			if !r.acquire(t.Context()) {
				t.Fatal("the radio is taken")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			time.AfterFunc(time.Second, r.release)
			if r.acquire(ctx) {
				r.release()
			}
			cancel()
			synctest.Wait()
			if r.busy {
				t.Fatal("the radio is lost")
			}
		}
	})
}

// patient has locks whose operations may take long, like those behind Zigbee2MQTT.
type patient struct{ driver.Driver }

func (d patient) Locks(ctx context.Context) ([]driver.Lock, error) {
	locks, err := d.Driver.Locks(ctx)
	for i := range locks {
		locks[i] = patientLock{locks[i]}
	}
	return locks, err
}

type patientLock struct{ driver.Lock }

func (l patientLock) Capabilities() slot.Capabilities {
	c := l.Lock.Capabilities()
	c.OpLifetime = 45 * time.Second
	return c
}

// At the hour of check-out the codes of all locks end together, and the calls to them take half a minute.
func TestUnlockGoesBeforeTheCodesOfAllLocks(t *testing.T) {
	const locks, latency = 20, 1500 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		var specs []sim.Spec
		for i := range locks {
			specs = append(specs, sim.Spec{Address: fmt.Sprint(i), Profile: sim.ZWave, Latency: latency, Radio: "stick"})
		}
		s := newSite(t, specs...)
		s.restartWith(patient{s.locks.Driver()})
		s.pass(3 * time.Minute)
		for i := range locks {
			s.want(fmt.Sprint(i), 1, stay("345678", 0, 20*time.Hour))
		}
		s.pass(20*time.Hour + 100*time.Millisecond)
		for n := range 4 {
			began := time.Now()
			if rec := s.act(fmt.Sprint("act_", n), "7", maxDeadline); rec.Outcome != outcomeDone {
				t.Errorf("unlock %d: %s %s", n, rec.Outcome, rec.Result)
			}
			if d := time.Since(began); d > 2*latency {
				t.Errorf("unlock %d took %v, longer than the running call and itself", n, d)
			}
			if s.bridge.workers["7"].radio.waiting() == 0 {
				t.Errorf("unlock %d: no call for a code waits", n)
			}
		}
		s.pass(5 * time.Minute)
		for i := range locks {
			if s.opens(fmt.Sprint(i), "345678") {
				t.Errorf("lock %d still opens", i)
			}
		}
	})
}
