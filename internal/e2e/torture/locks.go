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

// maxDrift is the most that a run sets a lock's clock wrong by.
const maxDrift = 20 * time.Second

// lockState is the test's state of a lock, in addition to its virtual hardware.
type lockState struct {
	site    *site
	address string
	id      string
	native  bool

	mu        sync.Mutex
	hung      []string             // doors, the present one last; "" is none
	displaced map[string]time.Time // PINs that were taken off or overwritten by hand, and when
	known     map[uint32]written   // slots whose code the bridge knows, and since when
	handled   time.Time            // when a slot was last changed by hand
	opened    []time.Time          // from afar
	orders    []unlock
	story     story
}

// hang notes the door that the lock was put on.
func (l *lockState) hang(door string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hung = append(l.hung, door)
}

// door is the present one; empty: none.
func (l *lockState) door() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hung[len(l.hung)-1]
}

// doors are the present door and those before.
func (l *lockState) doors() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []string{l.hung[len(l.hung)-1]}
	for _, d := range l.hung {
		if d != "" && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// written is an operation on a slot: when it began and when it was answered.
type written struct{ began, ended time.Time }

// set notes that the lock answered ok to a code in a slot. A bridge that learns meanwhile of a change by hand
// does not know which came first.
func (l *lockState) set(number uint32, op written) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op.began.Sub(l.handled) > storing {
		l.known[number] = op
	}
}

// cleared notes that the lock answered ok to the removal of a code.
func (l *lockState) cleared(number uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, number)
}

// bridgeKnows reports whether the bridge knew at a time whose code was in a slot: its own operation put one there, it lived and had
// the time to store that, and the lock was not changed by hand since.
func (l *lockState) bridgeKnows(number uint32, at time.Time) bool {
	l.mu.Lock()
	op, known := l.known[number]
	l.mu.Unlock()
	return known && at.Sub(op.ended) >= storing && !l.site.killedBetween(op.began, op.ended.Add(storing))
}

// byHand notes which PINs a deed took off the lock.
func (l *lockState) byHand(deed func() error) error {
	before := l.site.house.Slots(l.address)
	if err := deed(); err != nil {
		return err
	}
	after := l.site.house.Slots(l.address)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handled = time.Now()
	clear(l.known)
	for _, b := range before {
		if !slices.ContainsFunc(after, func(a sim.Occupant) bool { return a.Slot == b.Slot && a.PIN == b.PIN }) {
			l.displaced[string(b.PIN)] = time.Now()
		}
	}
	return nil
}

func (l *lockState) wasDisplaced(pin string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, yes := l.displaced[pin]
	return yes
}

// watched is a driver whose operations are written into the stories of its locks.
type watched struct {
	driver.Driver
	w    *world
	site *site
}

func (d watched) Locks(ctx context.Context) ([]driver.Lock, error) {
	locks, err := d.Driver.Locks(ctx)
	for i, l := range locks {
		locks[i] = watchedLock{l, d.w, d.site}
	}
	return locks, err
}

type watchedLock struct {
	driver.Lock
	w    *world
	site *site
}

func (l watchedLock) note(format string, args ...any) {
	l.w.byAddress[l.Address()].story.add(l.w.began, format, args...)
}

// wrote notes a writing operation, and signals one whose end its bridge does not know.
func (l watchedLock) wrote(what string, a driver.Answer) driver.Answer {
	l.w.count.add("operations", 1)
	l.note("%s: %s %s", what, a.Result, a.Rule)
	if a.Result == slot.Timeout {
		select {
		case l.site.aired <- l.Address():
		default:
		}
	}
	return a
}

func (l watchedLock) Set(ctx context.Context, s driver.Setting) driver.Answer {
	began := time.Now()
	a := l.wrote(fmt.Sprintf("set slot %d to %s until %s", s.Slot, string(s.PIN), stamp(s.NotAfter)), l.Lock.Set(ctx, s))
	if a.Result == slot.OK {
		l.w.byAddress[l.Address()].set(s.Slot, written{began, time.Now()})
	}
	return a
}

func (l watchedLock) Clear(ctx context.Context, number uint32) driver.Answer {
	a := l.wrote(fmt.Sprintf("clear slot %d", number), l.Lock.Clear(ctx, number))
	if a.Result == slot.OK {
		l.w.byAddress[l.Address()].cleared(number)
	}
	return a
}

func (l watchedLock) Unlock(ctx context.Context) driver.Answer {
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
