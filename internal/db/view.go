package db

import (
	"context"
	"time"
)

// View returns a read-only Tx, so that a function that takes a *Tx and changes nothing can run outside of Write. Changes
// through it fail.
func (d *DB) View(ctx context.Context) *Tx {
	return &Tx{Client: d.read, ctx: ctx, brief: withoutCancelOnSQLite(d.SQLite(), ctx), now: d.cfg.Clock.Now().UTC().Truncate(time.Microsecond)}
}
