package worker

import (
	"context"
	"fmt"
	"math"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// fullSweepInterval is the number of sweeps after which one sweep covers all changes; the others cover only the latest.
const fullSweepInterval = 64

// changesSweep deletes superseded entries of the reservations' change log. It runs every minute. Each sweep covers the last minute, every
// second sweep the last two minutes, every fourth the last four, and so on; about once an hour a sweep covers all changes. So frequent
// changes are deleted soon, and entries that remain are read only a few times. Only one process of an installation may run it: see [Lease].
func changesSweep() Sweep {
	var ends [fullSweepInterval]int64 // ends has the newest change at each of the last sweeps
	sweeps := 0
	return Sweep{Name: "changes of reservations", Every: time.Minute, Run: func(ctx context.Context, d *db.DB) error {
		newest, err := reservation.LastChange(d.View(ctx))
		if err != nil {
			return err
		}
		after := int64(math.MinInt64)
		if back := sweepsToCover(sweeps); back < fullSweepInterval {
			after = ends[(sweeps-back)%fullSweepInterval]
		}
		if err := deleteSuperseded(ctx, d, after, newest); err != nil {
			return err
		}
		ends[sweeps%fullSweepInterval] = newest
		sweeps++
		return nil
	}}
}

// sweepsToCover returns how many past sweeps a sweep covers; fullSweepInterval means all changes. sweep counts from 0, the first sweep
// after a start, which covers all.
func sweepsToCover(sweep int) int {
	if sweep%fullSweepInterval == 0 {
		return fullSweepInterval
	}
	return sweep & -sweep
}

// deleteSuperseded deletes the entries with positions in (after, last] of reservations that have a later entry or were deleted. It searches
// outside of transactions, so that a long search delays no change, and deletes a bounded number of entries in each transaction.
func deleteSuperseded(ctx context.Context, d *db.DB, after, last int64) error {
	for after < last {
		old, until, err := reservation.Superseded(d.View(ctx), after, last, sweepBatch)
		if err == nil && len(old) > 0 {
			err = d.Write(ctx, func(tx *db.Tx) error { return reservation.DeleteChanges(tx, old) })
		}
		if err != nil {
			return fmt.Errorf("sweep changes of reservations: %w", err)
		}
		after = until
	}
	return nil
}
