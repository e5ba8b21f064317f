package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"latchkey.dev/internal/clock"
)

// Several processes share a PostgreSQL database, and the clocks of their machines may differ. So each process follows the clock of the
// database: see [clock.Follower]. SQLite has one process, which uses its own clock. A clock in [Config] overrides both.

// slowestAnswer is the longest round trip for which a measurement of the database's clock is accepted.
const slowestAnswer = time.Second

// newFollower returns the clock that follows a PostgreSQL database. It returns nil for SQLite, or if a clock is configured.
func newFollower(cfg Config) *clock.Follower {
	if cfg.Clock != nil || strings.HasPrefix(cfg.URL, "sqlite:") {
		return nil
	}
	return clock.Follow(cmp.Or(cfg.Wall, clock.System))
}

// Clock returns the clock that stamps every change: the configured one, or by default this machine's on SQLite and one that follows the
// database's on PostgreSQL.
func (d *DB) Clock() clock.Clock { return d.cfg.Clock }

// SyncClock measures the clock of the database, corrected by half of the round trip, and adjusts [DB.Clock] to it. ahead is how far the
// clock of this machine is ahead of the database's; negative: behind. An answer after more than a second is an error and adjusts nothing.
// If this process does not follow the database's clock, as on SQLite, SyncClock does nothing and returns 0.
func (d *DB) SyncClock(ctx context.Context) (ahead time.Duration, err error) {
	if d.follower == nil {
		return 0, nil
	}
	var reference time.Time
	asked := time.Now()
	if err := d.engine.reader().QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&reference); err != nil {
		return 0, fmt.Errorf("read the database's clock: %w", err)
	}
	answered := time.Now()
	if answered.Sub(asked) > slowestAnswer {
		return 0, errSlowAnswer
	}
	d.follower.Measured(reference, asked, answered)
	return cmp.Or(d.cfg.Wall, clock.System).Now().Sub(d.follower.Now()), nil
}

var errSlowAnswer = errors.New("the database answered too slowly to tell its time")

// DatabaseNow asks the database for its time. Use it to record that this process is alive, and to decide whether others are: a
// [clock.Follower] may be wrong for a while after its machine was suspended. Use [Tx.Now] for everything else. In a View, and without a
// Follower, it returns Now.
func (t *Tx) DatabaseNow() (now time.Time, err error) {
	if !t.follows {
		return t.now, nil
	}
	_, err = t.ReadOne("SELECT clock_timestamp()", nil, &now)
	return now.UTC(), err
}
