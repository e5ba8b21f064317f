package server

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/staff/credential"
	"latchkey.dev/internal/worker"
)

// wireWork makes what is done beside calls: jobs by every process, and by one of them for all what is handed over and
// swept.
func (s *Server) wireWork(p *parts) {
	workers := river.NewWorkers()
	p.readings.AddTo(workers)
	p.days.AddTo(workers)
	p.background["jobs"] = func(ctx context.Context) error { return s.jobs.Run(ctx, workers) }
	p.background["health"] = s.watchHealth
	if !s.db.SQLite() {
		p.background["clock"] = s.watchClock
	}
	p.background["smartkeys"] = func(ctx context.Context) error { return s.followKeys(ctx, p) }

	p.arrivals = worker.Arrivals{DB: s.db, Reservations: p.reservations, Every: s.sweep}
	p.dispatcher = worker.NewDispatcher(s.db, s.log, worker.DispatcherOptions{}, s.countEvents(), p.arrivals.Subscriber())
	p.background["events"] = func(ctx context.Context) error { return s.spreadNews(ctx, p) }
	s.metrics.MustRegister(newInstallation(s, s.measures.holdsLease))
	p.background["work for all"] = func(ctx context.Context) error {
		return worker.Run(ctx, measuredLease{s.lease(), s.measures}, s.log, p.dispatcher, s.sweeps(p)...)
	}
}

// lease lets one process of the installation do what one alone must do.
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
		{Name: "windows that end", Every: soon, Run: s.expire},
		{Name: "links", Every: soon, Run: s.lookAtLinks},
		{Name: "codes", Every: soon, Run: s.settleCodes},
		{Name: "status lists", Every: 30 * time.Second, Run: func(ctx context.Context) error { return s.sweepKeys(ctx) }},
		{Name: "idempotency keys", Every: time.Hour, Run: func(ctx context.Context) error {
			return worker.ExpireIdempotencyKeys(ctx, s.db)
		}},
		{Name: "nodes", Every: nodeKept, Run: s.forgetNodes},
		{Name: "events", Every: 6 * time.Hour, Run: s.forgetEvents},
		worker.Changes{DB: s.db}.Sweep(),
		s.forget("tokens", keptTokens, credential.Sweep),
		s.forget("notices", s.cfg.KeepEvents, staff.ForgetNotices),
		s.forget("conflicts", s.cfg.KeepEvents, space.ForgetConflicts),
	}
}

// expire ends the access of stays whose window is over.
func (s *Server) expire(ctx context.Context) error {
	const most = 100
	for {
		n := 0
		err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
			n, err = access.Expire(access.Reconciler{Tx: tx, Keys: s.keys, Log: s.log}, most)
			return err
		})
		if err != nil || n < most {
			return err
		}
	}
}

// eventsSubject is where nodes tell each other that there are new events.
const eventsSubject = "latchkey.events"

// newsApart is the least time between two tellings of one node.
const newsApart = 2 * time.Millisecond

// ring says that there are new events. It never waits.
func (p *parts) ring() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// spreadNews tells the dispatcher of new events, on whichever node it runs; many in a row are told once. What is lost is
// found by the dispatcher's own sweep.
func (s *Server) spreadNews(ctx context.Context, p *parts) error {
	stop, err := s.bus.Subscribe(eventsSubject, func(bus.Message) { p.dispatcher.Wake() })
	if err != nil {
		return err
	}
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.news:
		}
		if err := s.bus.Publish(eventsSubject, nil); err != nil || !s.bus.Connected() {
			p.dispatcher.Wake()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(newsApart):
		}
	}
}

// countEvents is the subscriber that counts what happens, by kind.
func (s *Server) countEvents() worker.Subscriber {
	happened := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "latchkey_events_total", Help: "Events handed over by this process, by kind.",
	}, []string{"kind"})
	s.metrics.MustRegister(happened)
	for _, kind := range event.Kinds { // they stand at 0 before the first, so that an alarm sees it come
		happened.WithLabelValues(string(kind))
	}
	return worker.Subscriber{Name: "metrics", Deliver: func(_ context.Context, events []*ent.Event) error {
		for _, e := range events {
			happened.WithLabelValues(e.Kind).Inc()
		}
		return nil
	}}
}

// Empty says whether there is no property yet: somebody has just started for the first time.
func (s *Server) Empty(ctx context.Context) (bool, error) {
	some, err := s.db.Read().Property.Query().Exist(ctx)
	if err != nil {
		return false, fmt.Errorf("look for properties: %w", err)
	}
	return !some, nil
}
