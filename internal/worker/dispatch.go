package worker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
)

// Subscriber receives every event that is not internal (see [event.Kind.Internal]) at least once, in order per subject. Its cursors are in
// the database, so that a slow subscriber does not delay others.
type Subscriber struct {
	Name string // Name identifies the cursors: a renamed subscriber is a new one and receives only later events
	// Apply stores the effects of events in the transaction that moves the cursor. It must not keep the slice. If it
	// fails, the dispatcher delivers the events subject by subject, and retries the failing subjects later.
	Apply func(tx *db.Tx, events []*ent.Event) error
	// Wants, if not nil, reports whether Apply would store anything for one of the events. If not, the dispatcher skips them without a
	// transaction, and moves the cursor later: see skipped.
	Wants func(view *db.Tx, events []event.Ref) (bool, error)
}

// DispatcherOptions are the limits and intervals of a [Dispatcher]. Each has a default in place of zero.
type DispatcherOptions struct {
	Page       int           // Page is the most events in one transaction; 0 means 256
	Sweep      time.Duration // Sweep is the longest delay of an event whose notification was lost; 0 means 5 s
	Gather     time.Duration // Gather is how long the dispatcher waits for further events before it acts; 0 means 250 ms
	MinBackoff time.Duration // MinBackoff is the wait before the first retry of a subject, doubled by each retry; 0 means 100 ms
	MaxBackoff time.Duration // MaxBackoff is the longest wait before a retry of a subject; 0 means 5 min
	// Count, if not nil, is called with events when they get a position.
	Count func(events []event.PendingEvent)
}

// withDefaults returns the options with the defaults in place of zero values.
func (o DispatcherOptions) withDefaults() DispatcherOptions {
	set := func(d *time.Duration, otherwise time.Duration) {
		if *d <= 0 {
			*d = otherwise
		}
	}
	if o.Page <= 0 {
		o.Page = 256
	}
	if o.Count == nil {
		o.Count = func([]event.PendingEvent) {}
	}
	set(&o.Sweep, 5*time.Second)
	set(&o.Gather, 250*time.Millisecond)
	set(&o.MinBackoff, 100*time.Millisecond)
	set(&o.MaxBackoff, 5*time.Minute)
	return o
}

// maxHeldBack limits the failing subjects that a subscriber skips. With so many, the failure is probably general, and the subscriber gets
// no new events until some subjects succeed.
const maxHeldBack = 200

var errHeldBack = errors.New("the delivery of too many subjects fails")

// Dispatcher assigns positions to events and delivers them to its subscribers. Only one may run in an installation; see [Lease].
type Dispatcher struct {
	log     *slog.Logger
	options DispatcherOptions
	subs    []subscription
	wake    chan struct{}
}

// subscription is a subscriber with the channel that wakes its delivery.
type subscription struct {
	Subscriber
	wake chan struct{}
}

// NewDispatcher returns a dispatcher that delivers events to the subscribers once [Dispatcher.Run] runs.
func NewDispatcher(log *slog.Logger, o DispatcherOptions, subs ...Subscriber) *Dispatcher {
	x := &Dispatcher{log: log, options: o.withDefaults(), wake: make(chan struct{}, 1)}
	for _, s := range subs {
		x.subs = append(x.subs, subscription{s, make(chan struct{}, 1)})
	}
	return x
}

// Wake notifies the dispatcher of new events. It never blocks and is safe for concurrent use.
func (x *Dispatcher) Wake() { bus.Signal(x.wake) }

// Run assigns positions to the events in d and delivers them, until ctx ends and all deliveries have stopped. It logs and retries failures,
// and always returns nil.
func (x *Dispatcher) Run(ctx context.Context, d *db.DB) error {
	var subscribed time.Time
	var all sync.WaitGroup
	for _, s := range x.subs {
		all.Go(func() {
			skip := &skipped{}
			x.repeat(ctx, s.wake, 0, "subscriber "+s.Name, func() (time.Duration, error) { return x.deliver(ctx, d, s.Subscriber, skip) })
		})
	}
	x.repeat(ctx, x.wake, x.options.Gather, "positions", func() (time.Duration, error) {
		defer x.wakeSubscribers() // also after an error: the outcome of a commit may be unknown
		if time.Since(subscribed) > time.Hour {
			if err := x.subscribe(ctx, d); err != nil {
				return 0, err
			}
			subscribed = time.Now()
		}
		return x.options.Sweep, x.assignPositions(ctx, d)
	})
	all.Wait()
	return nil
}

// wakeSubscribers starts a delivery to each subscriber.
func (x *Dispatcher) wakeSubscribers() {
	for _, s := range x.subs {
		bus.Signal(s.wake)
	}
}

// repeat runs pass until ctx ends. The first pass runs at once. A later pass runs after the wait that the last one returned. If the
// dispatcher is woken before, it runs after the time gather, so that events that come together make one pass. After an error it backs off,
// even if it is woken. what names the work in the log.
func (x *Dispatcher) repeat(ctx context.Context, wake <-chan struct{}, gather time.Duration, what string, pass func() (time.Duration, error)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for failures := 0; ; {
		woken := wake
		if failures > 0 {
			woken = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-woken:
			clock.Sleep(ctx, gather)
		case <-timer.C:
		}
		wait, err := pass()
		switch {
		case err == nil:
			failures = 0
		case ctx.Err() == nil:
			x.log.Error("events cannot be delivered now", "part", what, "error", err)
			failures++
			wait = clock.Backoff(x.options.MinBackoff, x.options.Sweep, failures-1)
		}
		timer.Reset(clock.Spread(wait, wait/10))
	}
}

// subscribe stores the cursors of new subscribers, before an event gets a position that they would miss. It removes the cursors of
// subscribers that no longer exist and have missed events for long, see [event.RemoveUnknown].
func (x *Dispatcher) subscribe(ctx context.Context, d *db.DB) error {
	return d.Write(ctx, func(tx *db.Tx) error {
		var names []string
		for _, s := range x.subs {
			if err := event.Subscribe(tx, s.Name); err != nil {
				return err
			}
			names = append(names, s.Name)
		}
		return event.RemoveUnknown(tx, names)
	})
}

// assignPositions gives every committed event without a position one, page by page, and wakes the subscribers after each page. It ends after
// a page that is not full: an event that was committed meanwhile wakes the dispatcher.
func (x *Dispatcher) assignPositions(ctx context.Context, d *db.DB) error {
	for {
		events, last, err := event.Unpositioned(d.View(ctx), x.options.Page)
		if err != nil || len(events) == 0 {
			return err
		}
		if err := d.Write(ctx, func(tx *db.Tx) error { return event.AssignPositions(tx, events, last) }); err != nil {
			return err
		}
		x.options.Count(events)
		x.wakeSubscribers()
		if len(events) < x.options.Page {
			return nil
		}
	}
}

// deliver delivers all events that are due to a subscriber. It returns the wait until the next delivery: until the next retry of a failing
// subject, at most the interval Sweep. It returns errHeldBack if too many subjects fail and no retry is due.
func (x *Dispatcher) deliver(ctx context.Context, d *db.DB, s Subscriber, skip *skipped) (time.Duration, error) {
	for {
		view := d.View(ctx)
		cursors, err := event.Cursors(view, s.Name)
		if err != nil {
			return 0, err
		}
		if len(cursors) == 0 {
			return x.options.Sweep, nil // the subscriber's cursor is not stored yet
		}
		c, wait := nextCursor(cursors, view.Now())
		if c == nil {
			return 0, errHeldBack
		}
		limit := pageLimit(c, cursors, x.options.Page)
		switch n, err := skip.skip(view, s, cursors, limit); {
		case err != nil:
			return 0, err
		case n == limit:
			continue
		case n > 0:
			return x.options.Sweep, skip.store(ctx, d, c, x.options.Sweep/2)
		}
		events, err := event.After(view, skip.after(c), cursors[0], limit)
		if err != nil {
			return 0, err
		}
		if len(events) == 0 && c.Subject == "" {
			return min(wait, x.options.Sweep), skip.store(ctx, d, c, x.options.Sweep/2)
		}
		if err := x.deliverPage(ctx, d, s, newPage(c, cursors, events, limit)); err != nil {
			return 0, err
		}
	}
}

// nextCursor returns the cursor to deliver from: that of a failing subject whose retry is due, else the main cursor, which is cursors[0].
// It returns nil if too many subjects fail and no retry is due. It also returns the wait until the next retry, which is the longest
// duration if no subject fails.
func nextCursor(cursors []*event.Cursor, now time.Time) (*event.Cursor, time.Duration) {
	wait := time.Duration(1<<63 - 1)
	for _, c := range cursors[1:] {
		left := c.RetryAt.Sub(now)
		if left <= 0 {
			return c, 0
		}
		wait = min(wait, left)
	}
	if len(cursors) > maxHeldBack {
		return nil, wait
	}
	return cursors[0], wait
}

// pageLimit returns how many events one page may have, no more than most. A page of the main cursor is also limited so that no more than
// maxHeldBack subjects are held back, even if every event of the page fails.
func pageLimit(c *event.Cursor, cursors []*event.Cursor, most int) int {
	if c != cursors[0] {
		return most
	}
	return min(most, maxHeldBack-len(cursors[1:]))
}

// page is the events that one transaction delivers to a subscriber.
type page struct {
	cursor *event.Cursor
	main   *event.Cursor // main is the cursor of all subjects without one of their own
	due    []*ent.Event  // due are the events to deliver, in the order of their positions
	end    int64         // end is the cursor's position after these events
	last   bool          // last means that no more events are due for this cursor
}

// newPage makes a page of the events that were read after the cursor c with a limit. A page of the main cursor omits the events of failing
// subjects, which have cursors of their own.
func newPage(c *event.Cursor, cursors []*event.Cursor, events []*ent.Event, limit int) page {
	p := page{cursor: c, main: cursors[0], due: events, end: c.Position, last: len(events) < limit}
	if len(events) > 0 {
		p.end = *events[len(events)-1].Position
	}
	if c == cursors[0] {
		p.due = slices.DeleteFunc(slices.Clone(events), func(e *ent.Event) bool {
			return slices.ContainsFunc(cursors[1:], func(held *event.Cursor) bool { return held.Subject == e.Subject })
		})
	}
	return p
}

// deliverPage delivers events and moves the cursor in one transaction. If that fails, it delivers the events subject by subject and holds
// back the failing subjects, which is no error.
func (x *Dispatcher) deliverPage(ctx context.Context, d *db.DB, s Subscriber, p page) error {
	err := d.Write(ctx, func(tx *db.Tx) error {
		if len(p.due) > 0 {
			if err := s.Apply(tx, p.due); err != nil {
				return err
			}
		}
		return p.store(tx, nil)
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	var failures []event.Failure
	err = d.Write(ctx, func(tx *db.Tx) error {
		failures = x.applyBySubject(tx, s, p)
		return p.store(tx, failures)
	})
	if err != nil {
		return err
	}
	for _, f := range failures {
		x.log.Warn("an event was not delivered", "subscriber", s.Name, "subject", f.Subject, "attempt", p.cursor.Attempts+1, "retryAt", f.RetryAt, "error", f.Err)
	}
	return nil
}

// applyBySubject delivers the events of a page to a subscriber, each subject in a savepoint of its own. It returns one failure for each
// subject that failed.
func (x *Dispatcher) applyBySubject(tx *db.Tx, s Subscriber, p page) (failures []event.Failure) {
	wait := clock.Backoff(x.options.MinBackoff, x.options.MaxBackoff, p.cursor.Attempts)
	for _, group := range groupBySubject(p.due) {
		if err := tx.Savepoint(func() error { return s.Apply(tx, group) }); err != nil {
			failures = append(failures, event.Failure{Subject: group[0].Subject, AfterPosition: *group[0].Position - 1, RetryAt: tx.Now().Add(clock.Spread(wait, wait/10)), Err: err})
		}
	}
	return failures
}

// store records the result of a page. After a page of the main cursor, it moves that cursor past the page and gives each failed subject a
// cursor of its own. The cursor of a single subject is postponed if the subject failed again, released after its last page, and moved
// otherwise.
func (p page) store(tx *db.Tx, failures []event.Failure) error {
	switch {
	case p.cursor == p.main:
		if err := event.Move(tx, p.main, p.end); err != nil {
			return err
		}
		for _, f := range failures {
			if err := event.HoldBack(tx, p.main, f); err != nil {
				return err
			}
		}
		return nil
	case len(failures) > 0:
		return event.Postpone(tx, p.cursor, failures[0])
	case p.last:
		return event.Release(tx, p.cursor, p.main)
	}
	return event.Move(tx, p.cursor, p.end)
}

// groupBySubject groups events by subject, and keeps the order within each.
func groupBySubject(events []*ent.Event) [][]*ent.Event {
	at := make(map[string]int)
	var groups [][]*ent.Event
	for _, e := range events {
		i, ok := at[e.Subject]
		if !ok {
			i = len(groups)
			at[e.Subject], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], e)
	}
	return groups
}
