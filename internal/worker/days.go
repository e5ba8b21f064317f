package worker

import (
	"context"
	"fmt"

	"github.com/riverqueue/river"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/reservation"
)

// Days has the stays that a PMS gave by days follow the hours and the time zone of their property, as jobs.
type Days struct {
	DB     *db.DB
	Keeper reservation.Keeper
	Jobs   *jobs.Queue
}

// Soon has the days of a property completed anew once the transaction is stored.
func (d Days) Soon(tx *db.Tx, propertyID string) error {
	return d.Jobs.Insert(tx, jobs.CompleteDays{PropertyID: propertyID})
}

// AddTo has the jobs done.
func (d Days) AddTo(workers *river.Workers) { river.AddWorker(workers, &daysJob{days: d}) }

type daysJob struct {
	river.WorkerDefaults[jobs.CompleteDays]
	days Days
}

// Work completes page by page. What was completed before it was cut short costs it a look.
func (w *daysJob) Work(ctx context.Context, job *river.Job[jobs.CompleteDays]) error {
	return w.days.complete(ctx, job.Args.PropertyID)
}

// daysAtOnce bounds the stays of one transaction.
const daysAtOnce = 100

func (d Days) complete(ctx context.Context, propertyID string) error {
	for after := ""; ; {
		ids, err := reservation.ByDays(d.DB.View(ctx), propertyID, after, daysAtOnce)
		if err != nil || len(ids) == 0 {
			return err
		}
		after = ids[len(ids)-1]
		err = d.DB.Write(ctx, func(tx *db.Tx) error { return d.Keeper.CompleteDays(tx, propertyID, ids) })
		if err != nil {
			return fmt.Errorf("complete the days of a property: %w", err)
		}
	}
}
