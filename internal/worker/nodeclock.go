package worker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"latchkey.dev/ent"
	entnode "latchkey.dev/ent/node"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
)

const (
	clockEvery    = 5 * time.Second  // interval of clock measurements
	nodeTimeout   = 20 * time.Second // a node that has not reported for this time counts as stopped, and is ignored
	nodeRetention = time.Hour        // a node's row is deleted this long after its last report
)

// NodeClock compares the clock of a node's machine with PostgreSQL's and stores the result, so that each node knows whether
// only its own clock is wrong. Stored times follow the database's clock in any case: see db.SyncClock.
type NodeClock struct {
	DB    *db.DB
	Node  string
	Log   *slog.Logger
	Limit time.Duration // Limit is the largest acceptable offset of a machine's clock from the database's, ahead or behind
	Every time.Duration // Every is the interval of measurements; 0 means 5 s

	mu      sync.Mutex
	ahead   time.Duration // ahead is how far this machine's clock is ahead of the database's
	verdict ClockVerdict
}

// ClockVerdict has the reasons why a node's clock makes it unready or degraded. Both are empty while the clock is right.
type ClockVerdict struct {
	Unready  string
	Degraded string
}

// judgeClock compares a node's offset from the database's clock with those of the other live nodes. An offset up to limit is right. If
// another node agrees with the database, this node is wrong and gets no calls. If none does, the database may be wrong: every node keeps
// serving, degraded.
func judgeClock(ahead, limit time.Duration, others []time.Duration) ClockVerdict {
	if ahead.Abs() <= limit {
		return ClockVerdict{}
	}
	off := fmt.Sprintf("%v ahead of", ahead.Round(time.Millisecond))
	if ahead < 0 {
		off = fmt.Sprintf("%v behind", -ahead.Round(time.Millisecond))
	}
	if slices.ContainsFunc(others, func(d time.Duration) bool { return d.Abs() <= limit }) {
		return ClockVerdict{Unready: "this machine's clock is " + off + " the database's, and other nodes' are not: set it right, best by NTP"}
	}
	return ClockVerdict{Degraded: "this machine's clock is " + off + " the database's, and no other node's agrees with the database: find out which is wrong and set it right, best by NTP"}
}

// Last returns the last successful measurement: how far this machine's clock is ahead of the database's, and the verdict. Both are zero
// before the first one.
func (c *NodeClock) Last() (ahead time.Duration, v ClockVerdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead, c.verdict
}

// Run measures this machine's clock against the database's at intervals until ctx ends, and corrects and judges it each time (see compare).
// It only logs failures, and always returns nil.
func (c *NodeClock) Run(ctx context.Context) error {
	for {
		if err := c.compare(ctx); err != nil && ctx.Err() == nil {
			c.Log.Warn("comparing this machine's clock with the database's failed", "error", err)
		}
		if !clock.Sleep(ctx, cmp.Or(c.Every, clockEvery)) {
			return nil
		}
	}
}

// compare measures how far this machine's clock is ahead of the database's, sets the clock of stored times by it, stores the offset in the
// node's row, and judges it against the offsets of the other live nodes.
func (c *NodeClock) compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, nodeTimeout/2)
	defer cancel()
	ahead, err := c.DB.SyncClock(ctx)
	if err != nil {
		return err
	}
	if err := c.DB.Write(ctx, func(tx *db.Tx) error { return reportNode(tx, c.Node, ahead) }); err != nil {
		return err
	}
	view := c.DB.View(ctx)
	rows, err := view.Node.Query().Where(entnode.IDNEQ(c.Node), entnode.SeenAtGT(view.Now().Add(-nodeTimeout))).All(ctx)
	if err != nil {
		return fmt.Errorf("read the other nodes: %w", err)
	}
	others := make([]time.Duration, len(rows))
	for i, n := range rows {
		others[i] = time.Duration(n.ClockAheadMs) * time.Millisecond
	}
	c.record(ahead, judgeClock(ahead, c.Limit, others))
	return nil
}

// record stores a measurement for [NodeClock.Last]: how far this machine's clock is ahead of the database's, and the verdict. It logs when
// the clock becomes wrong, becomes right, or the node becomes unready or ready.
func (c *NodeClock) record(ahead time.Duration, v ClockVerdict) {
	c.mu.Lock()
	before := c.verdict
	c.ahead, c.verdict = ahead, v
	c.mu.Unlock()
	had, has := before != ClockVerdict{}, v != ClockVerdict{}
	switch {
	case has && ((before.Unready != "") != (v.Unready != "") || !had):
		c.Log.Error("the clocks differ", "reason", v.Unready+v.Degraded)
	case had && !has:
		c.Log.Info("this machine's clock and the database's agree again", "offset", ahead)
	}
}

// LiveNodes returns the nodes that reported within the last 20 s (nodeTimeout), by name.
func LiveNodes(view *db.Tx) ([]*ent.Node, error) {
	rows, err := view.Node.Query().Where(entnode.SeenAtGT(view.Now().Add(-nodeTimeout))).Order(entnode.ByID()).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("read the nodes: %w", err)
	}
	return rows, nil
}

// reportNode stores that a node is alive now, and how far its clock is ahead of the database's.
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

// deleteOldNodes deletes nodes whose last report is more than an hour (nodeRetention) ago.
func deleteOldNodes(tx *db.Tx) error {
	_, err := tx.Node.Delete().Where(entnode.SeenAtLT(tx.Now().Add(-nodeRetention))).Exec(tx.Context())
	return err
}
