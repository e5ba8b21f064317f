package worker

import (
	"context"
	"fmt"

	"github.com/riverqueue/river"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/reservation"
)

// Days runs the jobs that recompute the times of reservations with dates only, after the check-in time, check-out time
// or time zone of their property has changed.
type Days struct {
	DB           *db.DB
	Reservations reservation.Service
	Jobs         *jobs.Queue
}

// Soon enqueues, in the transaction that changes a property's times, the job that recomputes its reservations.
func (d Days) Soon(tx *db.Tx, propertyID string) error {
	return d.Jobs.Insert(tx, jobs.CompleteDays{PropertyID: propertyID})
}

// AddTo registers the job with the job queue.
func (d Days) AddTo(workers *river.Workers) { river.AddWorker(workers, &daysJob{days: d}) }

// daysJob runs jobs of the kind CompleteDays for River, the job queue.
type daysJob struct {
	river.WorkerDefaults[jobs.CompleteDays]
	days Days
}

// Work recomputes the times page by page. After an interruption it starts from the beginning, which is safe because it is idempotent.
func (w *daysJob) Work(ctx context.Context, job *river.Job[jobs.CompleteDays]) error {
	return w.days.recomputeAll(ctx, job.Args.PropertyID)
}

// daysBatch is the number of reservations that one transaction recomputes.
const daysBatch = 100

// recomputeAll recomputes the times of the stays of a property that have not ended, or ended only lately, and whose dates the PMS gave as
// days.
func (d Days) recomputeAll(ctx context.Context, propertyID string) error {
	for after := ""; ; {
		ids, err := reservation.ListByDays(d.DB.View(ctx), propertyID, after, daysBatch)
		if err != nil || len(ids) == 0 {
			return err
		}
		after = ids[len(ids)-1]
		err = d.DB.Write(ctx, func(tx *db.Tx) error { return d.Reservations.CompleteDays(tx, propertyID, ids) })
		if err != nil {
			return fmt.Errorf("recompute the dates of a property: %w", err)
		}
	}
}
