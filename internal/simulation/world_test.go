// Package simulation plays large worlds in virtual time over the very step functions that server and
// bridge run: hundreds of locks, a network that delays, repeats and cuts, bridges and servers that are
// killed, operations that land late, and people at the locks. A seed replays a world, event for event.
package simulation

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// start is when every world begins.
var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is a service, its bridges and their locks, and what is going to happen.
type world struct {
	rng     *rand.Rand
	now     time.Time
	agenda  agenda
	order   uint64 // events of one instant happen in the order they were planned
	calm    bool   // no more faults, and no more changes of what is desired
	lingers bool   // operations land after the time that their lock promises
	bridges []*bridge
	locks   []*lock
	grants  int
	count   counts
	broken  string
}

// counts show that a world had enough faults to prove something.
type counts struct {
	events, steps, operations, landed, late, silent, refused int
	edits, cuts, kills, serverKills, oldReports, touches     int
	verified, removed                                        int
}

// event is a scheduled call.
type event struct {
	at    time.Duration // since start
	order uint64
	do    func()
}

type agenda []event

func (a agenda) Len() int { return len(a) }

// Less and Swap take most of the time of a world, and more than half of that when the race detector watches them; a world
// is its test's alone.
//
//go:norace
func (a agenda) Less(i, j int) bool {
	if a[i].at == a[j].at {
		return a[i].order < a[j].order
	}
	return a[i].at < a[j].at
}

//go:norace
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

func (a *agenda) Push(x any) { *a = append(*a, x.(event)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	e := (*a)[last]
	(*a)[last].do = nil
	*a = (*a)[:last]
	return e
}

// after schedules a call.
func (w *world) after(d time.Duration, do func()) {
	w.order++
	heap.Push(&w.agenda, event{w.now.Sub(start) + max(d, 0), w.order, do})
}

// run lets time pass until an instant, or until a property is broken.
func (w *world) run(until time.Time) {
	for len(w.agenda) > 0 && w.broken == "" {
		if w.agenda[0].at > until.Sub(start) {
			break
		}
		e := heap.Pop(&w.agenda).(event)
		w.now = start.Add(e.at)
		w.count.events++
		e.do()
	}
	w.now = until
}

// chance returns true with a probability, and never while the world is calm.
func (w *world) chance(p float64) bool { return !w.calm && w.rng.Float64() < p }

// between returns a random duration.
func (w *world) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.rng.Int64N(int64(most-least)+1))
}

// about returns a random duration with a mean, exponentially distributed.
func (w *world) about(mean time.Duration) time.Duration {
	return min(time.Duration(w.rng.ExpFloat64()*float64(mean)), 20*mean)
}

func (w *world) fail(l *lock, format string, args ...any) {
	if w.broken != "" {
		return
	}
	w.broken = fmt.Sprintf("%s, lock %d (%s): %s\n%s", w.now.Sub(start), l.number, l.profile.Name, fmt.Sprintf(format, args...), &l.history)
}

// history holds the last things that happened around a lock. Its text is made only when it is read.
type history struct {
	lines [60]line
	n     int
}

type line struct {
	at     time.Time
	format string
	args   []any
}

func (s *history) add(now time.Time, format string, args ...any) {
	s.lines[s.n%len(s.lines)] = line{now, format, args}
	s.n++
}

func (s *history) String() string {
	var out strings.Builder
	for i := max(0, s.n-len(s.lines)); i < s.n; i++ {
		l := s.lines[i%len(s.lines)]
		fmt.Fprintf(&out, "  %14s  ", l.at.Sub(start).Round(time.Millisecond))
		fmt.Fprintf(&out, l.format+"\n", l.args...)
	}
	return out.String()
}
