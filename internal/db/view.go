package db

import (
	"context"
	"time"
)

// View is a Tx that reads: what takes a *Tx and changes nothing can run on it outside of Write. Changes through it fail.
func (d *DB) View(ctx context.Context) *Tx {
	return &Tx{Client: d.read, ctx: ctx, brief: briefly(d.SQLite(), ctx), now: d.cfg.Clock.Now().UTC().Truncate(time.Microsecond)}
}
