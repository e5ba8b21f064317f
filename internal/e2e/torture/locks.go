package torture

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// maxDrift is the largest error of a lock's clock in a run.
const maxDrift = 20 * time.Second

// lockState is what the test knows about a lock, in addition to the virtual lock itself.
type lockState struct {
	site        *site
	address     string
	id          string // the service's id of the lock
	ownSchedule bool   // the lock ends codes by its own clock

	mu              sync.Mutex
	doorIDs         []string             // ids of the doors to which the lock was assigned, in order of time, the current one last; "": no door
	displaced       map[string]time.Time // by PIN: when it was last removed or overwritten by hand; entries stay
	knownCodes      map[uint32]slotWrite // by slot: the operation with which the bridge set the current code
	changedByHandAt time.Time            // when a slot was last changed by hand
	opened          []time.Time          // times of remote unlocks
	orders          []unlock             // unlock commands that staff have sent
	story           story
}

// recordDoor records that the lock was assigned to a door.
func (l *lockState) recordDoor(door string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doorIDs = append(l.doorIDs, door)
}

// door returns the current door, or "".
func (l *lockState) door() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doorIDs[len(l.doorIDs)-1]
}

// doors returns the current door, or "", followed by the earlier doors.
func (l *lockState) doors() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []string{l.doorIDs[len(l.doorIDs)-1]}
	for _, d := range l.doorIDs {
		if d != "" && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// slotWrite is the time span of an operation on a slot, from call to answer.
type slotWrite struct{ began, ended time.Time }

// recordSet records that the lock confirmed a code in a slot. It does nothing if a slot was changed by hand shortly before, because then
// the bridge cannot know which change came first.
func (l *lockState) recordSet(number uint32, op slotWrite) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op.began.Sub(l.changedByHandAt) > reportStoreTime {
		l.knownCodes[number] = op
	}
}

// recordCleared records that the lock confirmed that a slot was cleared.
func (l *lockState) recordCleared(number uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.knownCodes, number)
}

// bridgeKnows reports whether the bridge knew, at a time, that the code in a slot is the service's: it had set the code and stored the
// result, and the lock was not changed by hand since.
func (l *lockState) bridgeKnows(number uint32, at time.Time) bool {
	l.mu.Lock()
	op, known := l.knownCodes[number]
	l.mu.Unlock()
	return known && at.Sub(op.ended) >= reportStoreTime && !l.site.killedBetween(op.began, op.ended.Add(reportStoreTime))
}

// changeByHand makes a change at the lock itself and records which PINs it removed or overwrote.
func (l *lockState) changeByHand(change func() error) error {
	before := l.site.locks.Slots(l.address)
	if err := change(); err != nil {
		return err
	}
	after := l.site.locks.Slots(l.address)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changedByHandAt = time.Now()
	clear(l.knownCodes)
	for _, b := range before {
		if !slices.ContainsFunc(after, func(a sim.SlotContent) bool { return a.Slot == b.Slot && a.PIN == b.PIN }) {
			l.displaced[string(b.PIN)] = time.Now()
		}
	}
	return nil
}

// wasDisplaced reports whether a PIN was removed or overwritten by hand.
func (l *lockState) wasDisplaced(pin string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, yes := l.displaced[pin]
	return yes
}

// recordingDriver is a driver that logs each operation in the story (log) of its lock.
type recordingDriver struct {
	driver.Driver
	w    *world
	site *site
}

// Locks returns the locks of the wrapped driver, each as a recordingLock.
func (d recordingDriver) Locks(ctx context.Context) ([]driver.Lock, error) {
	locks, err := d.Driver.Locks(ctx)
	for i, l := range locks {
		locks[i] = recordingLock{l, d.w, d.site}
	}
	return locks, err
}

// recordingLock passes operations on to a lock, and records them.
type recordingLock struct {
	driver.Lock
	w    *world
	site *site
}

// note adds a line to the story of the lock.
func (l recordingLock) note(format string, args ...any) {
	l.w.byAddress[l.Address()].story.add(l.w.began, format, args...)
}

// recordWrite logs an operation with the description what, and returns its answer a unchanged. If the operation timed out, recordWrite
// sends the lock's address to lateOps, because the lock may still carry the operation out.
func (l recordingLock) recordWrite(what string, a driver.Answer) driver.Answer {
	l.w.count.add("operations", 1)
	l.note("%s: %s %s", what, a.Result, a.Rule)
	if a.Result == slot.Timeout {
		select {
		case l.site.lateOps <- l.Address():
		default:
		}
	}
	return a
}

// Set sets a code at the wrapped lock. It logs the operation, and records the code if the lock confirms it.
func (l recordingLock) Set(ctx context.Context, s driver.Setting) driver.Answer {
	began := time.Now()
	a := l.recordWrite(fmt.Sprintf("set slot %d to %s until %s", s.Slot, string(s.PIN), formatClock(s.NotAfter)), l.Lock.Set(ctx, s))
	if a.Result == slot.OK {
		l.w.byAddress[l.Address()].recordSet(s.Slot, slotWrite{began, time.Now()})
	}
	return a
}

// Clear clears slot number of the wrapped lock. It logs the operation, and records the slot as cleared if the lock confirms it.
func (l recordingLock) Clear(ctx context.Context, number uint32) driver.Answer {
	a := l.recordWrite(fmt.Sprintf("clear slot %d", number), l.Lock.Clear(ctx, number))
	if a.Result == slot.OK {
		l.w.byAddress[l.Address()].recordCleared(number)
	}
	return a
}

// Unlock unlocks the wrapped lock. It logs the result, and records the time of a success for checkRemoteUnlocks.
func (l recordingLock) Unlock(ctx context.Context) driver.Answer {
	a := l.Lock.Unlock(ctx)
	now := time.Now()
	l.note("unlock: %s", a.Result)
	if a.Result == slot.OK {
		st := l.w.byAddress[l.Address()]
		st.mu.Lock()
		st.opened = append(st.opened, now)
		st.mu.Unlock()
	}
	return a
}
