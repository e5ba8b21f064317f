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

// Readings enqueues jobs that read the spaces (rooms and beds) of PMSs with getSpaces, so that a crash loses no reading.
type Readings struct {
	Spaces *Spaces
	Jobs   *jobs.Queue
}

// minReadInterval limits how often reservations with unknown rooms cause a reading of the PMS's spaces.
const minReadInterval = 5 * time.Second

// firstReadDelay is the time that a PMS has to store the signing secret before the first signed call.
const firstReadDelay = 5 * time.Second

// First enqueues the first reading of a PMS's spaces, after the PMS got its signing secret. The delay gives it time to store the secret.
func (r Readings) First(tx *db.Tx, propertyID, integrationID string) error {
	args := jobs.ReadSpaces{PropertyID: propertyID, IntegrationID: integrationID, First: true}
	return r.Jobs.InsertAt(tx, args, time.Now().Add(firstReadDelay))
}

// Soon enqueues a reading of a PMS's spaces in the transaction. It delays the reading if the last one ended less than minReadInterval ago,
// and does nothing if the PMS has registered no getSpaces endpoint or its integration is gone.
func (r Readings) Soon(tx *db.Tx, propertyID, integrationID string) error {
	registered, err := tx.Endpoint.Query().Where(endpoint.PropertyID(propertyID), endpoint.IntegrationID(integrationID), endpoint.Action(partner.GetSpaces)).Exist(tx.Context())
	if err != nil || !registered {
		return wrapReadError(err)
	}
	row, err := tx.Integration.Query().Where(integration.PropertyID(propertyID), integration.ID(integrationID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return wrapReadError(err)
	}
	args := jobs.ReadSpaces{PropertyID: propertyID, IntegrationID: integrationID}
	if _, tried := space.SpacesReadAt(row); tx.Now().Before(tried.Add(minReadInterval)) {
		args.Later = true
		return r.Jobs.InsertAt(tx, args, time.Now().Add(tried.Add(minReadInterval).Sub(tx.Now())))
	}
	return r.Jobs.Insert(tx, args)
}

// wrapReadError adds to an error that a reading was enqueued; nil stays nil.
func wrapReadError(err error) error {
	if err != nil {
		err = fmt.Errorf("enqueue a reading of spaces: %w", err)
	}
	return err
}

// Periodic is the sweep that enqueues a reading of the spaces of each enabled integration with a getSpaces endpoint every interval, plus or
// minus a tenth. Only one process of an installation may run it: see [Lease].
func (r Readings) Periodic(interval time.Duration) Sweep {
	return Sweep{Name: "getSpaces", Every: max(interval/30, time.Second), Run: func(ctx context.Context, d *db.DB) error {
		due, err := space.Due(d.View(ctx), r.Spaces.now(), interval)
		if err != nil || len(due) == 0 {
			return err
		}
		return d.Write(ctx, func(tx *db.Tx) error {
			for _, source := range due {
				if err := r.Jobs.Insert(tx, jobs.ReadSpaces{PropertyID: source.PropertyID, IntegrationID: source.IntegrationID}); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

// AddTo registers the job that reads spaces with the job queue.
func (r Readings) AddTo(workers *river.Workers) {
	river.AddWorker(workers, &spacesJob{readings: r})
}

// spacesJob runs jobs of the kind ReadSpaces for River, the job queue.
type spacesJob struct {
	river.WorkerDefaults[jobs.ReadSpaces]
	readings Readings
}

// Timeout covers the reading, and a previous one for which it may have to wait.
func (w *spacesJob) Timeout(*river.Job[jobs.ReadSpaces]) time.Duration {
	return 2*w.readings.Spaces.timeout() + 10*time.Second
}

// Work reads the spaces. A failure of the PMS is recorded for staff and does not fail the job, but an answer 401 can postpone it: see
// retryUnauthorized. A reading that was held back (see wasHeldBack) is neither recorded nor repeated. The first reading is skipped if the
// spaces were read since the job was enqueued.
func (w *spacesJob) Work(ctx context.Context, job *river.Job[jobs.ReadSpaces]) error {
	if job.Args.First {
		if read, err := w.wasReadSince(ctx, job); read || err != nil {
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
	if out.isUnauthorized() {
		return w.retryUnauthorized(ctx, job.Args)
	}
	return nil
}

// wasReadSince reports whether the spaces were read successfully since the job was enqueued. It is also true if the integration is gone.
func (w *spacesJob) wasReadSince(ctx context.Context, job *river.Job[jobs.ReadSpaces]) (bool, error) {
	row, err := w.readings.Spaces.DB.View(ctx).Integration.Query().
		Where(integration.PropertyID(job.Args.PropertyID), integration.ID(job.Args.IntegrationID)).Only(ctx)
	if ent.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, wrapReadError(err)
	}
	read, _ := space.SpacesReadAt(row)
	return read.After(job.CreatedAt), nil
}

// An endpoint that answers 401 and has never succeeded is retried at intervals, while it has at most maxUnauthorizedRetries failures:
// perhaps the PMS has not stored the signing secret yet. After a success, a 401 is a failure like others.
const (
	unauthorizedRetryDelay = 30 * time.Second
	maxUnauthorizedRetries = 10
)

// isUnauthorized reports whether the PMS rejected the signature or the token.
func (o Outcome) isUnauthorized() bool {
	return o.Failure != nil && o.Failure.Meta[checkin.MetaStatus] == "401"
}

// retryUnauthorized makes the job run again after an answer 401, by the error that it returns, if the endpoint has never succeeded and was
// not retried too often. Otherwise it returns nil, and the job ends.
func (w *spacesJob) retryUnauthorized(ctx context.Context, args jobs.ReadSpaces) error {
	s := w.readings.Spaces
	e, err := s.Directory.Endpoint(s.DB.View(ctx), args.PropertyID, args.IntegrationID, partner.GetSpaces)
	if fault.Has(err, fault.EndpointNotFound) {
		return nil
	}
	if err != nil {
		return wrapReadError(err)
	}
	if e.Health.LastSuccessAt != nil || e.Health.Failures > maxUnauthorizedRetries {
		return nil
	}
	return river.JobSnooze(unauthorizedRetryDelay)
}
