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

// Subscriber is told of every event at least once, and in order per subject. It does not keep
// the slice. An error makes the same events come again, later.
type Subscriber struct {
	Name    string
	Deliver func(ctx context.Context, events []*ent.Event) error
}

// DispatcherOptions are the settings of a Dispatcher; each has a default.
type DispatcherOptions struct {
	Page       int           // events handed over at a time; 256
	Sweep      time.Duration // how long an event waits at most whose wake-up was lost; 5 s
	Gather     time.Duration // how long a wake-up waits for further events; 250 ms
	Deliver    time.Duration // time a subscriber has for a page; 30 s
	MinBackoff time.Duration // before a subject whose delivery failed is tried again; 100 ms, doubling
	MaxBackoff time.Duration // 30 s
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

// maxBlocked bounds the subjects that are passed over. With more, it is no longer single
// subjects that fail, and the dispatcher waits as a whole.
const maxBlocked = 200

// Dispatcher hands the events of the outbox to its subscribers. One runs in an installation at
// a time; see [Lease].
type Dispatcher struct {
	d       *db.DB
	log     *slog.Logger
	o       DispatcherOptions
	subs    []Subscriber
	wake    chan struct{}
	blocked map[string]block // by subject; of the goroutine in Run alone
}

type block struct {
	failures int
	until    time.Time
}

// NewDispatcher makes a dispatcher of the events in d.
func NewDispatcher(d *db.DB, log *slog.Logger, o DispatcherOptions, subs ...Subscriber) *Dispatcher {
	return &Dispatcher{d: d, log: log, o: o.withDefaults(), subs: subs, wake: make(chan struct{}, 1)}
}

// Wake says that there are new events. It never waits, and may be called from anywhere.
func (x *Dispatcher) Wake() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Run hands events over until ctx ends.
func (x *Dispatcher) Run(ctx context.Context) error {
	x.blocked = make(map[string]block)
	timer := time.NewTimer(0)
	defer timer.Stop()
	least := time.Duration(0) // to wait after failures, doubling; subjects whose time has come would be tried at once, again and again
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-x.wake:
			x.gather(ctx)
		case <-timer.C:
		}
		if err := x.drain(ctx); err == nil {
			least = 0
		} else if ctx.Err() == nil {
			x.log.Error("events wait to be delivered", "error", err)
			least = min(max(2*least, x.o.MinBackoff), x.o.Sweep)
		}
		timer.Reset(max(least, x.next(time.Now())))
	}
}

// gather waits a little for what follows: the events of a moment are marked in one commit, which does not stand in the
// way of what the same change set going.
func (x *Dispatcher) gather(ctx context.Context) {
	timer := time.NewTimer(x.o.Gather)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// drain hands over all events there are, but for subjects that are blocked.
func (x *Dispatcher) drain(ctx context.Context) error {
	for len(x.blocked) < maxBlocked {
		page, err := x.page(ctx)
		if err != nil || len(page) == 0 {
			return err
		}
		if failure := x.deliver(ctx, page); failure != nil {
			err = x.separate(ctx, page, failure)
		} else {
			err = x.done(ctx, page)
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
	return errors.New("too many subjects fail")
}

// separate finds the subjects that the failure of a page is about, so that the others go on.
func (x *Dispatcher) separate(ctx context.Context, page []*ent.Event, failure error) error {
	groups := bySubject(page)
	for _, group := range groups {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(groups) > 1 {
			failure = x.deliver(ctx, group)
		}
		if failure != nil {
			x.block(group[0].Subject, failure)
			continue
		}
		if err := x.done(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// page is the oldest events that wait and may be tried now.
func (x *Dispatcher) page(ctx context.Context) ([]*ent.Event, error) {
	q := x.d.Read().Event.Query().Where(event.DispatchedAtIsNil())
	now := time.Now()
	for subject, b := range x.blocked {
		if b.until.After(now) {
			q = q.Where(event.SubjectNEQ(subject))
		}
	}
	page, err := q.Order(event.ByID()).Limit(x.o.Page).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("load events: %w", err)
	}
	return page, nil
}

func (x *Dispatcher) deliver(ctx context.Context, events []*ent.Event) error {
	for _, s := range x.subs {
		bounded, cancel := context.WithTimeout(ctx, x.o.Deliver)
		err := s.Deliver(bounded, events)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// done marks events as delivered. Dying before it makes them come again: at least once.
func (x *Dispatcher) done(ctx context.Context, events []*ent.Event) error {
	ids := make([]int64, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	err := x.d.Write(ctx, func(tx *db.Tx) error {
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

func (x *Dispatcher) block(subject string, err error) {
	b := x.blocked[subject]
	wait := x.o.MaxBackoff
	if b.failures < 20 {
		wait = min(wait, x.o.MinBackoff<<b.failures)
	}
	b.failures, b.until = b.failures+1, time.Now().Add(wait/2+rand.N(wait/2+1))
	x.blocked[subject] = b
	x.log.Warn("an event was not delivered", "subject", subject, "failures", b.failures, "error", err)
}

// next is how long to wait without a wake-up.
func (x *Dispatcher) next(now time.Time) time.Duration {
	wait := jitter(x.o.Sweep)
	for _, b := range x.blocked {
		wait = min(wait, max(b.until.Sub(now), 0))
	}
	return max(wait, time.Millisecond)
}

// bySubject splits events into those of each subject, both in their order.
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
