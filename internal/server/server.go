// Package server connects all parts of Latchkey. New builds a server, Run serves until the context ends, and Close releases what New
// opened. The command, the demo and the end-to-end tests use it in the same way.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"latchkey.dev/internal/bridgelink"
	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/telemetry"
	"latchkey.dev/internal/worker"
)

// Options are settings that are not in the configuration: the version, and those that only tests, benchmarks and the demo set.
type Options struct {
	Logger  *slog.Logger         // Logger logs to standard error as configured if nil
	Metrics *prometheus.Registry // Metrics is a new registry if nil
	Clock   clock.Clock          // Clock is the database's clock if nil: see db.Config
	Wall    clock.Clock          // Wall is this machine's clock; nil: the system clock
	Version string
	Traces  trace.TracerProvider // Traces are exported as configured if nil
	// SweepsEvery is the interval of most frequent periodic checks, such as of arrivals, codes and mails; 0: the default of each, a second
	// to a minute.
	SweepsEvery time.Duration
	BusPing     time.Duration        // BusPing is the interval of pings to the NATS server; 0: every few seconds
	ClockEvery  time.Duration        // ClockEvery is the interval of measurements of the machine's clock; 0: every few seconds
	Bridges     bridgelink.Intervals // Bridges are the intervals of work for bridges; zero: the defaults
	// OpenWithin is the time after the call of an unlock command within which the door may open, at most lock.MaxDeadline; 0: that.
	OpenWithin time.Duration
	// DatabaseCheck is the interval of pings to PostgreSQL, which detect a hanging host; 0: every two seconds.
	DatabaseCheck time.Duration
	// Around is an interceptor that runs directly before each unary handler; nil: none. A benchmark uses it to measure a call that does
	// nothing.
	Around grpc.UnaryServerInterceptor
	// GuestsReadMailbox is for the demo, where a page shows the stored mails to guests: those of properties without a mail server. A mail in
	// the mailbox then counts as delivered: see [worker.Mails].
	GuestsReadMailbox bool
}

// Server is a complete Latchkey server in one process.
type Server struct {
	cfg               config.Config
	log               *slog.Logger
	clock             clock.Clock
	metrics           *prometheus.Registry
	version           string
	traces            trace.Tracer
	changes           *prometheus.HistogramVec // duration of database writes by outcome
	measures          *measures
	around            grpc.UnaryServerInterceptor
	guestsReadMailbox bool
	sweep             time.Duration // interval of periodic checks; 0: the default
	wall              clock.Clock   // this machine's clock; nil: the system clock
	name              string        // name of this node
	nodeClock         *worker.NodeClock
	clockEvery        time.Duration        // interval of clock measurements; 0: the default
	busPing           time.Duration        // interval of pings to the NATS server; 0: the default
	nodePace          bridgelink.Intervals // intervals of work for bridges; zero: the defaults
	check             time.Duration        // interval of pings to PostgreSQL; 0: the default

	openWithin time.Duration // time after a call within which the door may open; 0: the default

	db   *db.DB
	keys *keyring.Ring
	bus  *bus.Bus
	jobs *jobs.Queue

	parts     *parts
	listeners *listeners
	tls       *tls.Config // configuration of the public listeners; nil: no TLS

	opsToken opsToken

	closing sync.Once
	closers []func() error
}

// New opens the database, the encryption keys and the listeners, and connects the parts. The server answers nothing before Run. If New
// fails, it closes what it opened.
func New(ctx context.Context, cfg config.Config, o Options) (_ *Server, err error) {
	if err := Validate(cfg); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	s := &Server{
		cfg: cfg, log: o.Logger, clock: o.Clock, wall: o.Wall, name: id.New("nod"), clockEvery: o.ClockEvery, busPing: o.BusPing, nodePace: o.Bridges, metrics: o.Metrics, version: o.Version, around: o.Around, guestsReadMailbox: o.GuestsReadMailbox, sweep: o.SweepsEvery, check: o.DatabaseCheck, openWithin: o.OpenWithin,
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.log == nil {
		if s.log, err = telemetry.Logger(os.Stderr, cfg.Log.Level, cfg.Log.Format); err != nil {
			return nil, err
		}
	}
	for _, text := range cfg.Warnings() {
		s.log.Warn(text)
	}
	if s.metrics == nil {
		s.metrics = telemetry.Registry()
	}
	if err := s.openTraces(ctx, o.Traces); err != nil {
		return nil, err
	}
	s.measureDatabase()
	if err := checkAddresses(cfg); err != nil {
		return nil, err
	}
	if err := s.openFoundation(ctx); err != nil {
		return nil, err
	}
	if s.tls, err = openTLS(cfg, s.log); err != nil {
		return nil, err
	}
	if s.opsToken, err = readOpsToken(cfg); err != nil {
		return nil, err
	}
	if s.listeners, err = listen(cfg); err != nil {
		return nil, err
	}
	s.limitConnections()
	s.closers = append(s.closers, s.listeners.close)
	if s.parts, err = s.wire(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// openFoundation opens the database, which it locks and migrates if it is SQLite, the encryption keys, the job queue and the message bus.
func (s *Server) openFoundation(ctx context.Context) (err error) {
	if err := os.MkdirAll(s.cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	release, err := Own(s.cfg.DatabaseURL())
	if err != nil {
		return err
	}
	s.closers = append(s.closers, release)
	if s.db, err = db.Open(ctx, db.Config{URL: s.cfg.DatabaseURL(), MaxConns: s.cfg.DatabaseConns, Clock: s.clock, Wall: s.wall, Logger: s.log, Around: s.aroundWrite, CheckEvery: s.check}); err != nil {
		return err
	}
	s.clock = s.db.Clock()
	s.closers = append(s.closers, s.db.Close)
	s.nodeClock = &worker.NodeClock{DB: s.db, Node: s.name, Log: s.log, Limit: s.cfg.ClockOffsetLimit, Every: s.clockEvery}
	s.measureStorage()
	if err := s.db.EnsureSchema(ctx); err != nil {
		return err
	}
	schema, err := s.db.Schema()
	if err != nil {
		return err
	}
	s.measures = newMeasures(s.metrics, s.version, schema)
	if s.jobs, err = jobs.Open(s.db, s.log); err != nil {
		return err
	}
	source := keyring.Source{Text: s.cfg.Key, Command: s.cfg.KeyCommand, File: s.cfg.KeyPath(), DataDir: s.cfg.DataDir}
	if s.keys, err = keyring.Open(ctx, source, db.KeyStore{DB: s.db}); err != nil {
		return fmt.Errorf("open the keys: %w", err)
	}
	if !s.db.SQLite() && s.cfg.NATS.URL == "" {
		s.log.Warn("--nats-url is not set: this node is not notified of changes by other nodes. With more than one node, set it on each")
	}
	s.bus, err = bus.Open(ctx, bus.Config{
		URL: s.cfg.NATS.URL, Credentials: s.cfg.NATS.Credentials, CAFile: s.cfg.NATS.CA,
		CertFile: s.cfg.NATS.Cert, KeyFile: s.cfg.NATS.Key, Name: "latchkey", Logger: s.log, Metrics: s.metrics,
		PingInterval: s.busPing,
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.bus.Close)
	return nil
}

// Run serves until ctx ends or a part fails, and returns the error of that part, or nil. It stops in this order: report not ready,
// disconnect bridges, finish calls, end jobs. If a part fails, the jobs and the other background work end first. It does not close the
// server.
func (s *Server) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, running := errgroup.WithContext(work)
	for name, run := range s.parts.background {
		g.Go(func() error {
			if err := run(running); err != nil && running.Err() == nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
	}
	s.serve(g)
	s.parts.ready.Store(true)
	g.Go(func() error { return s.watchHealth(running) })
	s.log.Info("serving", "http", s.HTTPAddr(), "grpc", s.GRPCAddr(), "bridges", s.BridgeAddr(), "operations", s.OpsAddr(), "version", s.version)
	select {
	case <-ctx.Done():
	case <-running.Done():
	}
	s.parts.ready.Store(false)
	s.log.Info("stopping", "cause", stopCause(ctx, running))
	s.awaitLoadBalancers(running)
	s.stop(s.cfg.Drain)
	stop()
	return g.Wait()
}

// stopCause returns why the server stops, for the log. requested ends when a stop is requested, running also when a part fails.
func stopCause(requested, running context.Context) string {
	if requested.Err() != nil {
		return "requested"
	}
	return "a part failed: " + context.Cause(running).Error()
}

// Close closes everything that New opened, in reverse order. A second call does nothing.
func (s *Server) Close() (err error) {
	s.closing.Do(func() {
		for i := len(s.closers) - 1; i >= 0; i-- {
			err = errors.Join(err, s.closers[i]())
		}
	})
	return err
}
