package agent

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// slowStatus is a driver whose locks return their status only when the test allows it.
type slowStatus struct {
	driver.Driver
	answers chan driver.Status
}

func (d slowStatus) Locks(ctx context.Context) ([]driver.Lock, error) {
	locks, err := d.Driver.Locks(ctx)
	for i := range locks {
		locks[i] = slowLock{locks[i], d.answers}
	}
	return locks, err
}

type slowLock struct {
	driver.Lock
	answers chan driver.Status
}

func (l slowLock) Status(ctx context.Context) (driver.Status, error) {
	select {
	case st := <-l.answers:
		return st, nil
	case <-ctx.Done():
		return driver.Status{}, ctx.Err()
	}
}

// waitsForMutex reports whether a goroutine in a function waits for a mutex. To synctest such a goroutine is not blocked.
func waitsForMutex(function string) bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return slices.ContainsFunc(strings.Split(string(stacks), "\n\n"), func(s string) bool {
		return strings.Contains(s, "[sync.Mutex.Lock") && strings.Contains(s, function)
	})
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A bolt jams while the bridge reads the status of its lock. Neither the jam nor the status that was read is lost.
func TestJamDuringAStatusReadIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		s.kill()
		slow := slowStatus{s.locks.Driver(), make(chan driver.Status)}
		s.drv = slow
		s.start()
		s.pass(10 * time.Second)

		go s.bridge.readStatus(t.Context(), s.bridge.locks[0])
		synctest.Wait()
		jammed := make(chan struct{})
		go func() { s.bridge.markJammed("front"); close(jammed) }()
		arrived := false
		for range 10_000 { // until it waits for the status read, or has run without waiting
			if arrived = waitsForMutex("(*Bridge).markJammed") || closed(jammed); arrived {
				break
			}
			runtime.Gosched()
		}
		if !arrived {
			t.Error("the jam did not come during the status read")
		}
		battery := uint32(50)
		slow.answers <- driver.Status{Online: true, Bolt: "locked", BatteryPercent: &battery}
		<-jammed
		synctest.Wait()
		st := s.bridge.outbox.lastStatus("front")
		if st.Bolt != string(slot.Jammed) || st.BatteryPercent == nil || *st.BatteryPercent != battery {
			t.Errorf("the bridge says %+v", st)
		}
	})
}
