package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"

	"latchkey.dev/internal/event"
	"latchkey.dev/internal/worker"
)

// wireWork creates the background work. Every node runs jobs. Only the node that holds the lease delivers events and runs the periodic
// checks.
func (s *Server) wireWork(p *parts) {
	workers := river.NewWorkers()
	p.readings.AddTo(workers)
	p.days.AddTo(workers)
	p.mails.AddTo(workers)
	p.webhooks.AddTo(workers)
	p.background["jobs"] = func(ctx context.Context) error { return s.jobs.Run(ctx, workers) }
	if !s.db.SQLite() {
		p.background["clock"] = s.nodeClock.Run
	}
	p.background["smartkeys"] = p.smartKeys.Run
	p.background["events"] = p.announcer.Run

	s.metrics.MustRegister(newInstallation(s, s.measures.holdsLease))
	sweeps := slices.Concat([]worker.Sweep{
		p.readings.Periodic(s.cfg.SpacesEvery),
		p.arrivals.Sweep(),
		p.invitations.Sweep(),
		p.mails.Sweep(),
		p.mails.Departures(),
		p.mails.Unread(),
		p.mails.Notices(),
		p.mails.UrgentNotices(),
		worker.Erasures{Mails: p.mails, Log: s.log, Every: s.sweep}.Sweep(),
		p.webhooks.Retries(),
		worker.Plans{Reservations: p.reservations, Log: s.log, Every: s.sweep}.Sweep(),
		p.smartKeys.Sweep(),
		worker.CheckIns{Service: p.checkIns, Log: s.log, Every: s.sweep}.Sweep(),
		worker.Retention{Reservations: p.reservations, Log: s.log}.Sweep(),
	}, worker.Maintenance{Keys: s.keys, Log: s.log, Every: s.sweep, KeepEvents: s.cfg.KeepEvents, KeepAudit: s.cfg.KeepAudit}.Sweeps())
	p.background["work for all"] = func(ctx context.Context) error {
		return worker.Run(ctx, measuredLease{s.lease(), s.measures}, s.log, p.dispatcher, sweeps...)
	}
}

// wireEvents creates the parts that deliver events to the arrival checks, mails and webhooks, and that notify other nodes of new events. It
// also creates the work on SmartKeys.
func (s *Server) wireEvents(p *parts) {
	p.arrivals = worker.Arrivals{Reservations: p.reservations, Every: s.sweep}
	p.webhooks = s.newWebhooks(p)
	p.dispatcher = worker.NewDispatcher(s.log, worker.DispatcherOptions{Count: s.eventCounter()}, p.arrivals.Subscriber(), p.mails.Subscriber(), p.webhooks.Subscriber())
	p.announcer = worker.NewAnnouncer(s.bus, p.dispatcher.Wake)
	p.smartKeys = worker.NewSmartKeys(s.db, s.keys, s.log)
}

// lease returns the lease that only one node can hold at a time. On SQLite there is one node, which always holds it.
func (s *Server) lease() worker.Lease {
	if s.db.SQLite() {
		return worker.Alone{DB: s.db}
	}
	return worker.PostgresLease{DB: s.db, Name: worker.LeaseName, Log: s.log}
}

// eventCounter registers a metric and returns the function that counts events in it, by kind. Each event is counted once, when this node
// gives it its position, before subscribers receive it.
func (s *Server) eventCounter() func([]event.PendingEvent) {
	happened := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "latchkey_events_total", Help: "Events delivered by this process, by kind.",
	}, []string{"kind"})
	s.metrics.MustRegister(happened)
	for _, kind := range event.Kinds { // counters start at 0, so that an alert notices the first event
		happened.WithLabelValues(string(kind))
	}
	return func(events []event.PendingEvent) {
		for _, e := range events {
			happened.WithLabelValues(string(e.Kind)).Inc()
		}
	}
}

// Empty reports whether the installation has no property yet, as after the first start.
func (s *Server) Empty(ctx context.Context) (bool, error) {
	some, err := s.db.View(ctx).Property.Query().Exist(ctx)
	if err != nil {
		return false, fmt.Errorf("look for properties: %w", err)
	}
	return !some, nil
}
