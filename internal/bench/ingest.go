package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Ingest measures how fast the server stores reservation changes durably.
type Ingest struct {
	GRPC    bool
	Rows    int           // Rows is the number of reservations stored beforehand in a second server, which is measured too; 0: there is none
	Span    time.Duration // Span is the duration of each measurement
	Rounds  int
	Clients int
	// Profile is the file for a CPU profile of the server in the last round; empty: none.
	Profile string
}

// site is one measurement: a server with its clients, and the results. The measurements of the baseline and of the empty database share a
// server and its clients, and have results of their own.
type site struct {
	*part
	*changeLoad
	rates []float64 // changes per second of each round
	took  []float64 // duration of each call in milliseconds
	costs []float64 // server CPU time per call of each round, in microseconds
}

// Run measures calls. Half of them store a new reservation, and half change an existing one. Each change is durable when it is answered.
// The baseline is the same call, but an interceptor answers it before the handler.
func (b Ingest) Run(ctx context.Context, l Launch) (_ *Result, err error) {
	if b.Rows < 0 || b.Span <= 0 || b.Rounds < 1 || b.Clients < 1 {
		return nil, errors.New("ingest: want at least one round, one client and a part of a second, and not fewer than 0 rows")
	}
	dir, err := os.MkdirTemp("", "latchkey-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	empty, err := b.open(ctx, l, filepath.Join(dir, "empty"), 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, empty.end()) }()
	var full *site
	if b.Rows > 0 {
		if full, err = b.open(ctx, l, filepath.Join(dir, "full"), b.Rows); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, full.end()) }()
	}
	baseline := &site{part: empty.part, changeLoad: empty.changeLoad}
	for n := range b.Rounds + 1 {
		for _, s := range []*site{baseline, empty, full} {
			if s == nil {
				continue
			}
			if err := s.call(ctx, "Idle", s == baseline, &None{}); err != nil {
				return nil, err
			}
			profile := ""
			if s == empty && n == b.Rounds {
				profile = b.Profile
			}
			if err := s.measure(ctx, b.Span, n > 0, profile); err != nil {
				return nil, err
			}
		}
	}
	return b.result(baseline, empty, full), nil
}

// open starts a server in a new directory, with clients for it and the given number of stored reservations. The caller ends the site.
func (b Ingest) open(ctx context.Context, l Launch, dir string, rows int) (s *site, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s = &site{}
	if s.part, err = l.start(ctx, "world"); err != nil {
		return nil, err
	}
	var w World
	if err := s.call(ctx, "Start", dir, &w); err != nil {
		return nil, errors.Join(err, s.part.stop())
	}
	if b.GRPC {
		s.changeLoad, err = newGRPCLoad(w, b.Clients)
	} else {
		s.changeLoad = newRESTLoad(w, b.Clients)
	}
	if err == nil && rows > 0 {
		err = s.storeReservations(ctx, rows)
	}
	if err != nil {
		return nil, errors.Join(err, s.part.stop())
	}
	return s, nil
}

// storeReservations stores the template reservations through the API. Then it calls Fill, which stores rows copies of them in total,
// numbered from 1, directly in the database. Changes of an existing reservation then apply to these copies.
func (s *site) storeReservations(ctx context.Context, rows int) error {
	for n := range templateCount {
		if err := s.send(ctx, 0, change{id: fmt.Sprintf("%s%d", templatePrefix, n), number: int64(n), nights: 1}); err != nil {
			return err
		}
	}
	s.stored = rows
	return s.call(ctx, "Fill", rows, &None{})
}

// end stops the clients and the server.
func (s *site) end() error { return errors.Join(s.changeLoad.close(), s.part.stop()) }

// measure runs the clients for the duration span. It records the results if keep is set; keep is false for a warm-up. profile is the file
// for a CPU profile, or "".
func (s *site) measure(ctx context.Context, span time.Duration, keep bool, profile string) (err error) {
	var before, after Use
	if err := s.call(ctx, "Usage", None{}, &before); err != nil {
		return err
	}
	if profile != "" {
		if err := s.call(ctx, "Profile", profile, &None{}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.call(ctx, "Profile", "", &None{})) }()
	}
	b, err := s.run(ctx, span)
	if err != nil || !keep {
		return err
	}
	if err := s.call(ctx, "Usage", None{}, &after); err != nil {
		return err
	}
	s.rates = append(s.rates, b.perSecond)
	s.took = append(s.took, b.took...)
	s.costs = append(s.costs, float64((after.CPU-before.CPU).Microseconds())/float64(len(b.took)))
	return nil
}

// result compares the measurements. baseline has the calls without the work of the handler, empty those to a server that began with an
// empty database, and full those to one with stored reservations. full is nil if there is no such server.
func (b Ingest) result(baseline, empty, full *site) *Result {
	r := &Result{Name: "ingest", Unit: "changes/s", Rounds: b.Rounds, Value: median(empty.rates), Baseline: median(baseline.rates)}
	aim := 0.4
	if b.GRPC {
		r.Name, aim = "ingest --grpc", 0.2
	}
	r.P50, r.P99 = quantile(empty.took, 0.5), quantile(empty.took, 0.99)
	r.BaselineP50, r.BaselineP99 = quantile(baseline.took, 0.5), quantile(baseline.took, 0.99)
	r.note("server's CPU for a change", median(empty.costs), "µs")
	r.note("server's CPU for a call that does nothing", median(baseline.costs), "µs")
	r.atLeast("of the floor", r.Value/r.Baseline, aim)
	r.atMost("server's CPU for a change, times that for a call that does nothing", median(empty.costs)/median(baseline.costs), 2)
	if full != nil {
		rate := median(full.rates)
		r.note(fmt.Sprintf("with %d reservations stored", b.Rows), rate, r.Unit)
		r.note(fmt.Sprintf("server's CPU for a change with %d reservations stored", b.Rows), median(full.costs), "µs")
		r.note(fmt.Sprintf("p99 with %d reservations stored", b.Rows), quantile(full.took, 0.99), "ms")
		r.atLeast(fmt.Sprintf("with %d reservations stored, of with none", b.Rows), rate/r.Value, 0.9)
	}
	return r.finish()
}
