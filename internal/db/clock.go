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

// Several processes share a PostgreSQL database, and their machines' clocks may differ. So what is stored and what is judged
// by the time goes by one clock, the database's: each process follows it, see [clock.Follower]. SQLite has one process, whose
// clock it is. A clock that is given by [Config] is taken as it is.

// uncertain is how long a measurement of the database's clock may take to count.
const uncertain = time.Second

// followed is the follower that the processes of this database need, nil: none.
func followed(cfg Config) *clock.Follower {
	if cfg.Clock != nil || strings.HasPrefix(cfg.URL, "sqlite:") {
		return nil
	}
	return clock.Follow(cmp.Or(cfg.Wall, clock.System))
}

// Clock is the clock of every change.
func (d *DB) Clock() clock.Clock { return d.cfg.Clock }

// SyncClock measures the database's clock, corrected by half of the time that the answer took, and returns how far this
// machine's clock is ahead of it. Without a clock to follow it is 0.
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
	if answered.Sub(asked) > uncertain {
		return 0, errUncertain
	}
	d.follower.Measured(reference, asked, answered)
	return cmp.Or(d.cfg.Wall, clock.System).Now().Sub(d.follower.Now()), nil
}

var errUncertain = errors.New("the database answered too slowly to tell its time")

// DatabaseNow is the time by the database's own clock, asked now. Whether others are still alive is written and judged by it:
// a clock that follows may be wrong for a while when its machine was suspended. See [Tx.Now] for everything else.
func (t *Tx) DatabaseNow() (now time.Time, err error) {
	if !t.follows {
		return t.now, nil
	}
	_, err = t.ReadOne("SELECT clock_timestamp()", nil, &now)
	return now.UTC(), err
}
