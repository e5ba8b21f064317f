package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
)

// Subscriber receives every event at least once, in order per subject. It must not keep the slice. After an error, the
// same events are delivered again later.
type Subscriber struct {
	Name    string
	Deliver func(ctx context.Context, events []*ent.Event) error
}

// DispatcherOptions are the options of a Dispatcher; each has a default.
type DispatcherOptions struct {
	Page       int           // events per delivery; default 256
	Sweep      time.Duration // maximum delay of an event whose wake-up was lost; default 5 s
	Gather     time.Duration // how long a wake-up waits for further events; default 250 ms
	Deliver    time.Duration // timeout of one delivery to a subscriber; default 30 s
	MinBackoff time.Duration // before the first retry of a subject, then doubling; default 100 ms
	MaxBackoff time.Duration // default 30 s
}

func (o DispatcherOptions) withDefaults() DispatcherOptions {
	set := func(d *time.Duration, otherwise time.Duration) {
		if *d <= 0 {
			*d = otherwise
		}
	}
	if o.Page <= 0 {
		o.Page = 256
	}
	set(&o.Sweep, 5*time.Second)
	set(&o.Gather, 250*time.Millisecond)
	set(&o.Deliver, 30*time.Second)
	set(&o.MinBackoff, 100*time.Millisecond)
	set(&o.MaxBackoff, 30*time.Second)
	return o
}

// maxBlocked bounds the subjects in backoff. With more, the failure is probably general, and the dispatcher pauses all
// deliveries.
const maxBlocked = 200

// Dispatcher delivers the events of the outbox to its subscribers. Only one may run in an installation; see [Lease].
type Dispatcher struct {
	db      *db.DB
	log     *slog.Logger
	options DispatcherOptions
	subs    []Subscriber
	wake    chan struct{}
	blocked map[string]backoff // by subject; used only by the goroutine of Run
}

type backoff struct {
	failures int
	until    time.Time
}

// NewDispatcher creates a dispatcher of the events in d.
func NewDispatcher(d *db.DB, log *slog.Logger, o DispatcherOptions, subs ...Subscriber) *Dispatcher {
	return &Dispatcher{db: d, log: log, options: o.withDefaults(), subs: subs, wake: make(chan struct{}, 1)}
}

// Wake announces new events. It never blocks and is safe for concurrent use.
func (x *Dispatcher) Wake() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Run delivers events until ctx ends.
func (x *Dispatcher) Run(ctx context.Context) error {
	x.blocked = make(map[string]backoff)
	timer := time.NewTimer(0)
	defer timer.Stop()
	minWait := time.Duration(0) // delay after failures, doubling; without it, subjects whose backoff has ended would be retried in a busy loop
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-x.wake:
			x.waitForMore(ctx)
		case <-timer.C:
		}
		if err := x.deliverAll(ctx); err == nil {
			minWait = 0
		} else if ctx.Err() == nil {
			x.log.Error("events cannot be delivered now", "error", err)
			minWait = min(max(2*minWait, x.options.MinBackoff), x.options.Sweep)
		}
		timer.Reset(max(minWait, x.nextWait(time.Now())))
	}
}

// waitForMore waits briefly for further events, so that one commit marks them all as delivered.
func (x *Dispatcher) waitForMore(ctx context.Context) {
	timer := time.NewTimer(x.options.Gather)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// deliverAll delivers all events except those of blocked subjects.
func (x *Dispatcher) deliverAll(ctx context.Context) error {
	for len(x.blocked) < maxBlocked {
		page, err := x.loadPage(ctx)
		if err != nil || len(page) == 0 {
			return err
		}
		if failure := x.deliver(ctx, page); failure != nil {
			err = x.deliverBySubject(ctx, page, failure)
		} else {
			err = x.markDelivered(ctx, page)
		}
		if err != nil {
			return err
		}
	}
	for subject, b := range x.blocked {
		if !b.until.After(time.Now()) {
			delete(x.blocked, subject)
		}
	}
	return errors.New("the delivery of too many subjects fails")
}

// deliverBySubject retries a failed page subject by subject, and blocks only the subjects that fail.
func (x *Dispatcher) deliverBySubject(ctx context.Context, page []*ent.Event, failure error) error {
	groups := bySubject(page)
	for _, group := range groups {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(groups) > 1 {
			failure = x.deliver(ctx, group)
		}
		if failure != nil {
			x.blockSubject(group[0].Subject, failure)
			continue
		}
		if err := x.markDelivered(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// loadPage loads the oldest undelivered events of subjects that are not blocked.
func (x *Dispatcher) loadPage(ctx context.Context) ([]*ent.Event, error) {
	q := x.db.Read().Event.Query().Where(event.DispatchedAtIsNil())
	now := time.Now()
	for subject, b := range x.blocked {
		if b.until.After(now) {
			q = q.Where(event.SubjectNEQ(subject))
		}
	}
	page, err := q.Order(event.ByID()).Limit(x.options.Page).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("load events: %w", err)
	}
	return page, nil
}

func (x *Dispatcher) deliver(ctx context.Context, events []*ent.Event) error {
	for _, s := range x.subs {
		bounded, cancel := context.WithTimeout(ctx, x.options.Deliver)
		err := s.Deliver(bounded, events)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// markDelivered marks events as delivered. After a crash before it, they are delivered again.
func (x *Dispatcher) markDelivered(ctx context.Context, events []*ent.Event) error {
	ids := make([]int64, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	err := x.db.Write(ctx, func(tx *db.Tx) error {
		return tx.Event.Update().Where(event.IDIn(ids...)).SetDispatchedAt(tx.Now()).Exec(tx.Context())
	})
	if err != nil {
		return fmt.Errorf("mark events as delivered: %w", err)
	}
	for _, e := range events {
		delete(x.blocked, e.Subject)
	}
	return nil
}

func (x *Dispatcher) blockSubject(subject string, err error) {
	b := x.blocked[subject]
	wait := x.options.MaxBackoff
	if b.failures < 20 {
		wait = min(wait, x.options.MinBackoff<<b.failures)
	}
	b.failures, b.until = b.failures+1, time.Now().Add(wait/2+rand.N(wait/2+1))
	x.blocked[subject] = b
	x.log.Warn("an event was not delivered", "subject", subject, "failures", b.failures, "error", err)
}

// nextWait returns how long to wait if there is no wake-up.
func (x *Dispatcher) nextWait(now time.Time) time.Duration {
	wait := withJitter(x.options.Sweep)
	for _, b := range x.blocked {
		wait = min(wait, max(b.until.Sub(now), 0))
	}
	return max(wait, time.Millisecond)
}

// bySubject groups events by subject and keeps their order.
func bySubject(events []*ent.Event) [][]*ent.Event {
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
