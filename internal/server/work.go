package server

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"

	"latchkey.dev/ent"
	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/worker"
)

// wireWork creates the background work. Every process runs jobs; the process with the lease delivers events and runs the sweeps.
func (s *Server) wireWork(p *parts) {
	workers := river.NewWorkers()
	p.readings.AddTo(workers)
	p.days.AddTo(workers)
	p.background["jobs"] = func(ctx context.Context) error { return s.jobs.Run(ctx, workers) }
	p.background["health"] = s.watchHealth
	if !s.db.SQLite() {
		p.background["clock"] = s.watchClock
	}
	p.background["smartkeys"] = func(ctx context.Context) error { return s.reconcileChangedKeys(ctx, p) }

	p.arrivals = worker.Arrivals{DB: s.db, Reservations: p.reservations, Every: s.sweep}
	p.dispatcher = worker.NewDispatcher(s.db, s.log, worker.DispatcherOptions{}, s.countEvents(), p.arrivals.Subscriber())
	p.background["events"] = func(ctx context.Context) error { return s.announceEvents(ctx, p) }
	s.metrics.MustRegister(newInstallation(s, s.measures.holdsLease))
	p.background["work for all"] = func(ctx context.Context) error {
		return worker.Run(ctx, measuredLease{s.lease(), s.measures}, s.log, p.dispatcher, s.sweeps(p)...)
	}
}

// lease ensures that one process of the installation does the work that must not run twice.
func (s *Server) lease() worker.Lease {
	if s.db.SQLite() {
		return worker.Alone{}
	}
	return worker.PostgresLease{DB: s.db, Name: worker.LeaseName, Log: s.log}
}

func (s *Server) sweeps(p *parts) []worker.Sweep {
	soon := cmp.Or(s.sweep, 15*time.Second)
	return []worker.Sweep{
		p.readings.Periodic(s.cfg.SpacesEvery),
		p.arrivals.Sweep(),
		worker.Plans{DB: s.db, Reservations: p.reservations, Log: s.log, Every: s.sweep}.Sweep(),
		{Name: "windows that end", Every: soon, Run: s.expireAccess},
		{Name: "links", Every: soon, Run: s.checkLinks},
		{Name: "codes", Every: soon, Run: s.reconcileCodes},
		{Name: "status lists", Every: 30 * time.Second, Run: s.sweepKeys},
		{Name: "idempotency keys", Every: time.Hour, Run: func(ctx context.Context) error {
			return worker.ExpireIdempotencyKeys(ctx, s.db)
		}},
		{Name: "nodes", Every: nodeRetention, Run: s.deleteOldNodes},
		{Name: "events", Every: 6 * time.Hour, Run: s.deleteOldEvents},
		worker.Changes{DB: s.db}.Sweep(),
		s.deletion("tokens", tokenRetention, credential.Sweep),
		s.deletion("notices", s.cfg.KeepEvents, notice.Forget),
		s.deletion("conflicts", s.cfg.KeepEvents, space.ForgetConflicts),
	}
}

// eventsSubject is the subject of the bus on which nodes announce new events.
const eventsSubject = "latchkey.events"

// announceInterval is the minimum time between two announcements of a node.
const announceInterval = 2 * time.Millisecond

// notifyEvents reports that there are new events. It never waits.
func (p *parts) notifyEvents() {
	select {
	case p.newEvents <- struct{}{}:
	default:
	}
}

// announceEvents wakes the dispatcher on the node that runs it, once for many events in a row. The dispatcher's own sweep finds events
// whose announcement was lost.
func (s *Server) announceEvents(ctx context.Context, p *parts) error {
	stop, err := s.bus.Subscribe(eventsSubject, func(bus.Message) { p.dispatcher.Wake() })
	if err != nil {
		return err
	}
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.newEvents:
		}
		if err := s.bus.Publish(eventsSubject, nil); err != nil || !s.bus.Connected() {
			p.dispatcher.Wake()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(announceInterval):
		}
	}
}

// countEvents returns the subscriber that counts events by kind.
func (s *Server) countEvents() worker.Subscriber {
	happened := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "latchkey_events_total", Help: "Events delivered by this process, by kind.",
	}, []string{"kind"})
	s.metrics.MustRegister(happened)
	for _, kind := range event.Kinds { // start at 0, so that an alarm sees the first event
		happened.WithLabelValues(string(kind))
	}
	return worker.Subscriber{Name: "metrics", Deliver: func(_ context.Context, events []*ent.Event) error {
		for _, e := range events {
			happened.WithLabelValues(e.Kind).Inc()
		}
		return nil
	}}
}

// Empty reports whether there is no property yet, as after the first start.
func (s *Server) Empty(ctx context.Context) (bool, error) {
	some, err := s.db.Read().Property.Query().Exist(ctx)
	if err != nil {
		return false, fmt.Errorf("look for properties: %w", err)
	}
	return !some, nil
}
