package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

func TestBackoffOfAnOperation(t *testing.T) {
	set, remove := slot.Op{Kind: slot.OpSet, Slot: 1, Generation: 7}, slot.Op{Kind: slot.OpClear, Slot: 1, Generation: 7}
	b := backoff{}
	fail := func(op slot.Op, times int) (wait time.Duration) {
		for range times {
			wait = b.recordResult(op, slot.NotConfirmed, false)
		}
		return wait
	}
	for _, step := range []struct {
		what string
		got  time.Duration
		want time.Duration
	}{
		{"the first failures", fail(set, freeTries), 0},
		{"the next failure", fail(set, 1), backoffMin},
		{"many failures", fail(set, 20), backoffMaxWrite},
		{"the first failures of the removal", fail(remove, freeTries), 0},
		{"the next failure of the removal", fail(remove, 1), backoffMin},
		{"a success", b.recordResult(remove, slot.OK, false), 0},
		{"the first failures of the removal after a success", fail(remove, freeTries), 0},
		{"the first failures after a success", fail(set, freeTries), 0},
	} {
		if step.got != step.want {
			t.Errorf("%s: wait %v, want %v", step.what, step.got, step.want)
		}
	}
}

// silent is a lock that stores codes and does not confirm them, like a Zigbee lock whose reports get lost.
type silent struct{ driver.Lock }

func (l silent) Set(ctx context.Context, s driver.Setting) driver.Answer {
	if a := l.Lock.Set(ctx, s); a.Result != slot.OK {
		return a
	}
	return driver.Answer{Result: slot.NotConfirmed}
}

func TestCodeAtASilentLockEndsInTime(t *testing.T) {
	for name, once := range map[string]string{"window": "", "one-time code": "otc"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, sim.Spec{Address: "front", Profile: sim.Zigbee2MQTT})
				s.restart(wrapped{s.locks.Driver(), func(l driver.Lock) driver.Lock { return silent{l} }}, nil)
				s.pass(10 * time.Minute)
				d := stay("345678", 0, 3*time.Hour)
				d.OneTimeID = once
				s.want("front", 1, d)
				s.pass(2*time.Hour + 55*time.Minute)
				if once == "" {
					s.pass(5 * time.Minute)
				} else if !s.opens("front", "345678") {
					t.Fatal("the code does not open in its window")
				}
				s.pass(time.Minute)
				if len(s.locks.Slots("front")) != 0 {
					t.Error("the code is on the lock a minute after its end")
				}
			})
		})
	}
}
