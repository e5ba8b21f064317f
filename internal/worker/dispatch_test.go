package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/test/dbtest"
)

// sink is a subscriber that records events, and fails for the bad subject.
type sink struct {
	mu   sync.Mutex
	seen map[string][]int64
	bad  map[string]bool
	tick chan struct{}
}

func newSink() *sink {
	return &sink{seen: map[string][]int64{}, bad: map[string]bool{}, tick: make(chan struct{}, 1000)}
}

func (s *sink) subscriber() Subscriber {
	return Subscriber{Name: "sink", Apply: func(_ *db.Tx, events []*ent.Event) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		defer func() { s.tick <- struct{}{} }()
		for _, e := range events {
			if s.bad[e.Subject] {
				return errors.New("refused")
			}
		}
		for _, e := range events {
			s.seen[e.Subject] = append(s.seen[e.Subject], e.SubjectSequence)
		}
		return nil
	}}
}

// until waits for as many deliveries as it takes until ok holds.
func (s *sink) until(t *testing.T, ok func(seen map[string][]int64) bool) {
	t.Helper()
	for {
		s.mu.Lock()
		done := ok(s.seen)
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-s.tick:
		case <-t.Context().Done():
			t.Fatal("not delivered")
		}
	}
}

func start(t *testing.T, d *db.DB, x *Dispatcher) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx, d) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func upTo(n int64) (all []int64) {
	for i := int64(1); i <= n; i++ {
		all = append(all, i)
	}
	return all
}

func TestDispatcherDeliversInOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSink()
		emit(t, d, "rsv_a", 5)
		emit(t, d, "rsv_b", 3)
		x := NewDispatcher(quiet, DispatcherOptions{Page: 2, Sweep: time.Hour}, s.subscriber())
		stop := start(t, d, x)
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_a"]) == 5 && len(seen["rsv_b"]) == 3 })
		emit(t, d, "rsv_a", 2)
		x.Wake()
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_a"]) == 7 })
		stop()
		if diff := cmp.Diff(map[string][]int64{"rsv_a": upTo(7), "rsv_b": upTo(3)}, s.seen); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestDispatcherSkipsAFailingSubject(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSink()
		s.bad["rsv_a"] = true
		emit(t, d, "rsv_a", 3)
		emit(t, d, "rsv_b", 3)
		x := NewDispatcher(quiet, DispatcherOptions{Page: 2, Sweep: time.Hour, MinBackoff: time.Millisecond, MaxBackoff: 2 * time.Millisecond}, s.subscriber())
		stop := start(t, d, x)
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_b"]) == 3 })
		s.mu.Lock()
		if len(s.seen["rsv_a"]) != 0 {
			t.Error("delivered although refused")
		}
		s.bad["rsv_a"] = false
		s.mu.Unlock()
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_a"]) >= 3 })
		stop()
		if diff := cmp.Diff(map[string][]int64{"rsv_a": upTo(3), "rsv_b": upTo(3)}, s.seen); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The sweep delivers events whose wake-up was lost, and events that a crashed dispatcher delivered
// without moving the cursor are delivered again.
func TestDispatcherAtLeastOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSink()
		ctx, die := context.WithCancel(t.Context())
		dying := s.subscriber()
		apply := dying.Apply
		dying.Apply = func(tx *db.Tx, events []*ent.Event) error {
			err := apply(tx, events)
			die()
			return errors.Join(err, ctx.Err())
		}
		emit(t, d, "rsv_a", 2)
		if err := NewDispatcher(quiet, DispatcherOptions{}, dying).Run(ctx, d); err != nil {
			t.Fatal(err)
		}
		stop := start(t, d, NewDispatcher(quiet, DispatcherOptions{Sweep: time.Millisecond}, s.subscriber()))
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_a"]) == 4 })
		emit(t, d, "rsv_a", 1) // no wake-up
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_a"]) == 5 })
		stop()
		if diff := cmp.Diff([]int64{1, 2, 1, 2, 3}, s.seen["rsv_a"]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := undelivered(t, d, "sink"); n > 1 {
			t.Errorf("%d events are not marked", n)
		}
	})
}

// undelivered counts the events that the main cursor of a subscriber has not passed.
func undelivered(t *testing.T, d *db.DB, subscriber string) int {
	t.Helper()
	return d.View(t.Context()).Event.Query().Where(entevent.Or(entevent.PositionIsNil(), entevent.PositionGT(cursors(t, d, subscriber)[0].Position))).CountX(t.Context())
}

func cursors(t *testing.T, d *db.DB, subscriber string) []*event.Cursor {
	t.Helper()
	all, err := event.Cursors(d.View(t.Context()), subscriber)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d cursors, %v", len(all), err)
	}
	return all
}

func TestDispatcherBacksOffWhenAllSubjectsFail(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	for i := range maxHeldBack + 10 {
		emit(t, d, fmt.Sprint("rsv_", i), 1)
	}
	refused := errors.New("refused")
	no := Subscriber{Name: "no", Apply: func(*db.Tx, []*ent.Event) error { return refused }}
	x := NewDispatcher(quiet, DispatcherOptions{MinBackoff: time.Hour, MaxBackoff: time.Hour}, no)
	write(t, d, func(tx *db.Tx) error { return event.Subscribe(tx, "no") })
	if err := x.assignPositions(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if _, err := x.deliver(t.Context(), d, no, &skipped{}); !errors.Is(err, errHeldBack) {
		t.Errorf("drain ended with %v", err)
	}
	emit(t, d, "rsv_new", 1)
	if err := x.assignPositions(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if _, err := x.deliver(t.Context(), d, no, &skipped{}); !errors.Is(err, errHeldBack) || undelivered(t, d, "no") != 11 {
		t.Errorf("with too many subjects held back: %v, %d events wait, want 11", err, undelivered(t, d, "no"))
	}
	if held := len(cursors(t, d, "no")) - 1; held != maxHeldBack {
		t.Errorf("%d subjects are held back, want %d", held, maxHeldBack)
	}
}

// The database fails while a subject is in backoff: when the backoff ends, there is always something to retry.
func TestDispatcherBacksOffWithoutDatabase(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	emit(t, d, "rsv_a", 1)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var complaints lines
		x := NewDispatcher(slog.New(slog.NewTextHandler(&complaints, &slog.HandlerOptions{Level: slog.LevelError})), DispatcherOptions{})
		if err := x.Run(ctx, d); err != nil {
			t.Error(err)
		}
		if complaints < 12 || complaints > 25 {
			t.Errorf("complained %d times in a minute, want some 17: after 100 ms, 200 ms and so on up to 5 s", complaints)
		}
	})
}

// lines counts what is written to it.
type lines int

func (n *lines) Write(b []byte) (int, error) {
	*n++
	return len(b), nil
}

func TestNextCursor(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	held := func(subject string, in time.Duration) *event.Cursor {
		return &event.Cursor{Subject: subject, RetryAt: now.Add(in)}
	}
	var many []*event.Cursor
	for range maxHeldBack {
		many = append(many, held("rsv", time.Minute))
	}
	for _, c := range []struct {
		name string
		held []*event.Cursor
		want string // the subject; "main", or "none"
		wait time.Duration
	}{
		{"nothing held back", nil, "main", math.MaxInt64},
		{"held back for later", []*event.Cursor{held("a", time.Second), held("b", time.Minute)}, "main", time.Second},
		{"one is due", []*event.Cursor{held("a", 0), held("b", time.Minute)}, "a", 0},
		{"one is overdue", []*event.Cursor{held("a", -time.Hour), held("b", 0)}, "a", 0},
		{"almost too many", many[1:], "main", time.Minute},
		{"too many", many, "none", time.Minute},
		{"too many, one due", append([]*event.Cursor{held("a", -1)}, many...), "a", 0},
	} {
		main := &event.Cursor{}
		got, wait := nextCursor(append([]*event.Cursor{main}, c.held...), now)
		name := "none"
		switch {
		case got == main:
			name = "main"
		case got != nil:
			name = got.Subject
		}
		if name != c.want || wait != c.wait {
			t.Errorf("%s: %s in %v, want %s in %v", c.name, name, wait, c.want, c.wait)
		}
	}
}

func TestNewPage(t *testing.T) {
	at := func(position int64, subject string) *ent.Event {
		return &ent.Event{Position: &position, Subject: subject}
	}
	main, held := &event.Cursor{Position: 4}, &event.Cursor{Subject: "a", Position: 2}
	cursors := []*event.Cursor{main, held}
	for _, c := range []struct {
		name   string
		cursor *event.Cursor
		events []*ent.Event
		due    int
		end    int64
		last   bool
	}{
		{"nothing new", main, nil, 0, 4, true},
		{"a full page", main, []*ent.Event{at(5, "b"), at(6, "c")}, 2, 6, false},
		{"a subject is held back", main, []*ent.Event{at(5, "a"), at(7, "b")}, 1, 7, false},
		{"only what is held back", main, []*ent.Event{at(5, "a")}, 0, 5, true},
		{"the retry of a subject", held, []*ent.Event{at(3, "a")}, 1, 3, true},
		{"a long retry", held, []*ent.Event{at(3, "a"), at(4, "a")}, 2, 4, false},
		{"a subject whose events were deleted", held, nil, 0, 2, true},
	} {
		p := newPage(c.cursor, cursors, c.events, 2)
		if len(p.due) != c.due || p.end != c.end || p.last != c.last {
			t.Errorf("%s: %d events up to %d, last %v, want %d, %d, %v", c.name, len(p.due), p.end, p.last, c.due, c.end, c.last)
		}
	}
}
