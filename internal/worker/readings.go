package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"latchkey.dev/ent"
	"latchkey.dev/ent/endpoint"
	"latchkey.dev/ent/integration"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
)

// Readings has the listings of partners read as jobs: what is asked for is read, whatever dies meanwhile.
type Readings struct {
	Spaces *Spaces
	Jobs   *jobs.Queue
}

// apart bounds how often a partner is asked because its reservations name rooms that its listing does not have.
const apart = 5 * time.Second

// Soon has a listing read once the transaction is stored; one that was read a moment ago, a moment later. Without a
// registered getSpaces there is nothing to read.
func (r Readings) Soon(tx *db.Tx, propertyID, integrationID string) error {
	registered, err := tx.Endpoint.Query().Where(endpoint.PropertyID(propertyID), endpoint.IntegrationID(integrationID), endpoint.Action(partner.GetSpaces)).Exist(tx.Context())
	if err != nil || !registered {
		return wrong(err)
	}
	row, err := tx.Integration.Query().Where(integration.PropertyID(propertyID), integration.ID(integrationID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return wrong(err)
	}
	args := jobs.ReadSpaces{PropertyID: propertyID, IntegrationID: integrationID}
	if _, tried := space.SpacesReadAt(row); tx.Now().Before(tried.Add(apart)) {
		args.Later = true
		return r.Jobs.InsertAt(tx, args, time.Now().Add(tried.Add(apart).Sub(tx.Now())))
	}
	return r.Jobs.Insert(tx, args)
}

func wrong(err error) error {
	if err != nil {
		err = fmt.Errorf("have a listing read: %w", err)
	}
	return err
}

// Periodic is the sweep that has each integration's listing read every interval, give or take a tenth. It is for one
// process of an installation: see [Lease].
func (r Readings) Periodic(interval time.Duration) Sweep {
	return Sweep{Name: "getSpaces", Every: max(interval/30, time.Second), Run: func(ctx context.Context) error {
		due, err := space.Due(ctx, r.Spaces.DB.Read(), r.Spaces.now(), interval)
		if err != nil || len(due) == 0 {
			return err
		}
		return r.Spaces.DB.Write(ctx, func(tx *db.Tx) error {
			for _, source := range due {
				if err := r.Jobs.Insert(tx, jobs.ReadSpaces{PropertyID: source.PropertyID, IntegrationID: source.IntegrationID}); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

// AddTo has the jobs done.
func (r Readings) AddTo(workers *river.Workers) {
	river.AddWorker(workers, &spacesJob{spaces: r.Spaces})
}

type spacesJob struct {
	river.WorkerDefaults[jobs.ReadSpaces]
	spaces *Spaces
}

// Timeout is that of a reading, and of the one before it that may have to be waited for.
func (w *spacesJob) Timeout(*river.Job[jobs.ReadSpaces]) time.Duration {
	return 2*w.spaces.timeout() + 10*time.Second
}

// Work reads. That the partner failed is recorded where staff see it, and is no failure of the job.
func (w *spacesJob) Work(ctx context.Context, job *river.Job[jobs.ReadSpaces]) error {
	_, err := w.spaces.ReadAnew(ctx, job.Args.PropertyID, job.Args.IntegrationID)
	if fault.Has(err, fault.EndpointNotFound) {
		return nil
	}
	return err
}
