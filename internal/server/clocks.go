package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"latchkey.dev/ent"
	entnode "latchkey.dev/ent/node"
	"latchkey.dev/internal/db"
)

// The nodes of a PostgreSQL database compare their clocks with the database's and store the result, so that each node knows whether
// only its own clock is wrong. Stored times follow the database's clock in any case: see db.SyncClock.

const (
	clockEvery    = 5 * time.Second  // between two measurements
	nodeTimeout   = 20 * time.Second // since its last report; then a node counts as stopped
	nodeRetention = time.Hour        // since its last report; then its row is deleted
)

// clocks holds the last comparison of the machine's clock.
type clocks struct {
	mu      sync.Mutex
	ahead   time.Duration // of the database's clock
	verdict clockVerdict
}

// clockVerdict has the reasons why a node's clock makes it unready or degraded. Both are empty while the clock is right.
type clockVerdict struct {
	unready  string
	degraded string
}

// judgeClock compares a node's offset from the database's clock with those of the other live nodes. If another node agrees with the
// database, this node is wrong and gets no calls. If none does, the database may be wrong: every node keeps serving, degraded.
func judgeClock(ahead, limit time.Duration, others []time.Duration) clockVerdict {
	if ahead.Abs() <= limit {
		return clockVerdict{}
	}
	off := fmt.Sprintf("%v ahead of", ahead.Round(time.Millisecond))
	if ahead < 0 {
		off = fmt.Sprintf("%v behind", -ahead.Round(time.Millisecond))
	}
	if slices.ContainsFunc(others, func(d time.Duration) bool { return d.Abs() <= limit }) {
		return clockVerdict{unready: "this machine's clock is " + off + " the database's, and other nodes' are not: set it right, best by NTP"}
	}
	return clockVerdict{degraded: "this machine's clock is " + off + " the database's, and no other node's agrees with the database: find out which is wrong and set it right, best by NTP"}
}

// measureClock registers the metric of the clock's offset.
func (s *Server) measureClock() {
	s.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "latchkey_clock_offset_seconds", Help: "How far this machine's clock is ahead of the database's; negative: behind. With SQLite always 0.",
	}, func() float64 {
		s.clocks.mu.Lock()
		defer s.clocks.mu.Unlock()
		return s.clocks.ahead.Seconds()
	}))
}

// clockVerdict returns the last verdict on the machine's clock.
func (s *Server) clockVerdict() clockVerdict {
	s.clocks.mu.Lock()
	defer s.clocks.mu.Unlock()
	return s.clocks.verdict
}

// watchClock compares the machine's clock at intervals.
func (s *Server) watchClock(ctx context.Context) error {
	tick := time.NewTicker(cmp.Or(s.clockEvery, clockEvery))
	defer tick.Stop()
	for {
		if err := s.compareClock(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("comparing this machine's clock with the database's failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (s *Server) compareClock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, nodeTimeout/2)
	defer cancel()
	ahead, err := s.db.SyncClock(ctx)
	if err != nil {
		return err
	}
	if err := s.db.Write(ctx, func(tx *db.Tx) error { return reportNode(tx, s.name, ahead) }); err != nil {
		return err
	}
	rows, err := s.db.Read().Node.Query().Where(entnode.IDNEQ(s.name), entnode.SeenAtGT(s.clock.Now().Add(-nodeTimeout))).All(ctx)
	if err != nil {
		return fmt.Errorf("read the other nodes: %w", err)
	}
	others := make([]time.Duration, len(rows))
	for i, n := range rows {
		others[i] = time.Duration(n.ClockAheadMs) * time.Millisecond
	}
	s.recordClock(ahead, judgeClock(ahead, s.cfg.ClockOffsetLimit, others))
	return nil
}

// recordClock stores a verdict, and logs when it changes.
func (s *Server) recordClock(ahead time.Duration, v clockVerdict) {
	s.clocks.mu.Lock()
	before := s.clocks.verdict
	s.clocks.ahead, s.clocks.verdict = ahead, v
	s.clocks.mu.Unlock()
	had, has := before != clockVerdict{}, v != clockVerdict{}
	switch {
	case has && ((before.unready != "") != (v.unready != "") || !had):
		s.log.Error("the clocks differ", "reason", v.unready+v.degraded)
	case had && !has:
		s.log.Info("this machine's clock and the database's agree again", "offset", ahead)
	}
}

// reportNode stores that a node is alive, and the offset of its clock.
func reportNode(tx *db.Tx, name string, ahead time.Duration) error {
	now, err := tx.DatabaseNow()
	if err != nil {
		return err
	}
	err = tx.Node.UpdateOneID(name).SetSeenAt(now).SetClockAheadMs(ahead.Milliseconds()).Exec(tx.Context())
	if ent.IsNotFound(err) {
		err = tx.Node.Create().SetID(name).SetSeenAt(now).SetClockAheadMs(ahead.Milliseconds()).SetCreatedAt(tx.Now()).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("report this node: %w", err)
	}
	return nil
}

// deleteOldNodes deletes nodes that stopped reporting.
func (s *Server) deleteOldNodes(ctx context.Context) error {
	return s.db.Write(ctx, func(tx *db.Tx) error {
		_, err := tx.Node.Delete().Where(entnode.SeenAtLT(tx.Now().Add(-nodeRetention))).Exec(tx.Context())
		return err
	})
}
