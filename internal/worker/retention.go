package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// Retention removes reservations after their retention period.
type Retention struct {
	Reservations reservation.Service
	Log          *slog.Logger
}

const (
	retentionBatch = 20 // reservations that one transaction removes
	// retentionPause is the time between two transactions, so that other changes do not wait while many reservations
	// are removed.
	retentionPause = 50 * time.Millisecond
)

// Sweep removes due reservations. It may be interrupted at any point: each transaction removes its reservations
// completely, and the next sweep continues. Only one process of an installation may run it: see [Lease].
func (r Retention) Sweep() Sweep {
	return Sweep{Name: "stays", Every: 6 * time.Hour, Run: r.removeDue}
}

// removeDue removes the reservations of all properties whose retention is over. A failure at one property does not stop the others.
func (r Retention) removeDue(ctx context.Context, d *db.DB) error {
	periods, err := r.Reservations.Retentions(d.View(ctx))
	if err != nil {
		return err
	}
	var failed error
	for _, period := range periods {
		failed = errors.Join(failed, r.removeOver(ctx, d, period))
	}
	return failed
}

// removeOver removes the reservations that are older than a retention period, that of one property or of the installation. It logs how many
// cannot be removed yet, and why.
func (r Retention) removeOver(ctx context.Context, d *db.DB, period reservation.Retention) error {
	blocked, removed, failed := map[reservation.Block]int{}, 0, error(nil)
	for after := (*reservation.DueStay)(nil); ; {
		due, err := r.Reservations.DueStays(d.View(ctx), period, after, retentionBatch)
		if err != nil {
			return errors.Join(failed, err)
		}
		for propertyID, ids := range byProperty(due) {
			var n int
			var waiting map[reservation.Block]int
			err := d.Write(ctx, func(tx *db.Tx) (err error) {
				n, waiting, err = r.Reservations.Remove(tx, propertyID, ids)
				return err
			})
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("remove stays of %s: %w", propertyID, err))
				continue // a failure at one property does not stop the others
			}
			removed += n
			for reason, n := range waiting {
				blocked[reason] += n
			}
		}
		if len(due) < retentionBatch {
			break
		}
		after = &due[len(due)-1]
		if !clock.Sleep(ctx, retentionPause) {
			return nil
		}
	}
	if removed > 0 {
		r.Log.Info("stays were removed after their retention period", "stays", removed)
	}
	for _, reason := range slices.Sorted(maps.Keys(blocked)) {
		r.Log.Warn("stays cannot be removed yet although their retention period is over", "reason", reason, "stays", blocked[reason])
	}
	return failed
}

// byProperty returns the ids of stays by their property.
func byProperty(due []reservation.DueStay) map[string][]string {
	out := map[string][]string{}
	for _, d := range due {
		out[d.PropertyID] = append(out[d.PropertyID], d.ID)
	}
	return out
}
