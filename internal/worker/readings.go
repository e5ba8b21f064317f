package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"latchkey.dev/ent"
	"latchkey.dev/ent/endpoint"
	"latchkey.dev/ent/integration"
	"latchkey.dev/internal/checkin"
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

// firstAfter is how long a partner gets to store the signing secret before the first signed call.
const firstAfter = 5 * time.Second

// First has a listing read for the first time, some seconds after the answer that shows the signing secret.
func (r Readings) First(tx *db.Tx, propertyID, integrationID string) error {
	args := jobs.ReadSpaces{PropertyID: propertyID, IntegrationID: integrationID, First: true}
	return r.Jobs.InsertAt(tx, args, time.Now().Add(firstAfter))
}

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
	river.AddWorker(workers, &spacesJob{readings: r})
}

type spacesJob struct {
	river.WorkerDefaults[jobs.ReadSpaces]
	readings Readings
}

// Timeout is that of a reading, and of the one before it that may have to be waited for.
func (w *spacesJob) Timeout(*river.Job[jobs.ReadSpaces]) time.Duration {
	return 2*w.readings.Spaces.timeout() + 10*time.Second
}

// Work reads. That the partner failed is recorded where staff see it, and is no failure of the job.
func (w *spacesJob) Work(ctx context.Context, job *river.Job[jobs.ReadSpaces]) error {
	if job.Args.First {
		if read, err := w.readSince(ctx, job); read || err != nil {
			return err
		}
	}
	out, err := w.readings.Spaces.ReadAgain(ctx, job.Args.PropertyID, job.Args.IntegrationID)
	if fault.Has(err, fault.EndpointNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if out.refusesUs() {
		return w.askAgain(ctx, job.Args)
	}
	return nil
}

// readSince reports whether the listing was read well since the job was stored.
func (w *spacesJob) readSince(ctx context.Context, job *river.Job[jobs.ReadSpaces]) (bool, error) {
	row, err := w.readings.Spaces.DB.Read().Integration.Query().
		Where(integration.PropertyID(job.Args.PropertyID), integration.ID(job.Args.IntegrationID)).Only(ctx)
	if ent.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, wrong(err)
	}
	read, _ := space.SpacesReadAt(row)
	return read.After(job.CreatedAt), nil
}

// An endpoint that answers 401 before it ever answered well is asked again after askAgainAfter, so many times: its
// partner may not have stored the signing secret yet.
const (
	askAgainAfter = 30 * time.Second
	askAgainTimes = 10
)

// refusesUs reports whether a reading failed because the partner does not accept its signature or token.
func (o Outcome) refusesUs() bool {
	return o.Failure != nil && o.Failure.Meta[checkin.MetaStatus] == "401"
}

func (w *spacesJob) askAgain(ctx context.Context, args jobs.ReadSpaces) error {
	s := w.readings.Spaces
	e, err := s.Directory.Endpoint(ctx, s.DB.Read(), args.PropertyID, args.IntegrationID, partner.GetSpaces)
	if fault.Has(err, fault.EndpointNotFound) {
		return nil
	}
	if err != nil {
		return wrong(err)
	}
	if e.Health.LastSuccessAt != nil || e.Health.Failures > askAgainTimes {
		return nil
	}
	return river.JobSnooze(askAgainAfter)
}
