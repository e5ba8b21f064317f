package jobs

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"entgo.io/ent/dialect/sql/sqlgraph"
	"github.com/riverqueue/river/rivertype"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// Counts has the number of jobs in each state.
type Counts struct {
	Waiting, Running, Retrying, Failed int       // Waiting includes jobs that wait for a later time; those of Failed were given up
	OldestDueAt                        time.Time // OldestDueAt is when the oldest waiting job was due; zero if none is due
}

// Count counts the jobs that are not completed, by state.
func (q *Queue) Count(view *db.Tx) (c Counts, err error) {
	type row struct {
		state string
		count int
	}
	rows, err := db.ReadList(view, func(r *row) []any { return []any{&r.state, &r.count} }, countsQuery)
	if err != nil {
		return c, fmt.Errorf("count the jobs: %w", err)
	}
	for _, r := range rows {
		switch rivertype.JobState(r.state) {
		case rivertype.JobStateRunning:
			c.Running += r.count
		case rivertype.JobStateRetryable:
			c.Retrying += r.count
		case rivertype.JobStateDiscarded:
			c.Failed += r.count
		default:
			c.Waiting += r.count
		}
	}
	if _, err := view.ReadOne(oldestQuery, nil, &c.OldestDueAt); err != nil {
		return c, fmt.Errorf("find the oldest job: %w", err)
	}
	return c, nil
}

// Failed is a job whose latest attempt failed. It is retried unless GivenUp.
type Failed struct {
	ID               int64
	Kind, PropertyID string
	GivenUp          bool // GivenUp means that the job is not retried; false: it is, at RetryAt
	Attempts         int
	FailedAt         *time.Time // FailedAt is when the latest attempt began
	RetryAt          time.Time  // RetryAt is when the job runs again; without a meaning if GivenUp
	Error            string     // Error is the error of the latest attempt, without e-mail addresses, at most mostError bytes
}

// address matches e-mail addresses, which ListFailed replaces: a stored error may quote them from the answer of a mail server.
var address = regexp.MustCompile(`[^\s<>"'(:]+@[^\s<>"'),;]+`)

// mostError limits the listed text of an error, in bytes.
const mostError = 500

// ListFailed lists the jobs that are retried or were given up after a failure, the latest failure first, at most 200.
func (q *Queue) ListFailed(view *db.Tx) ([]Failed, error) {
	query := failedPostgres
	if q.d.SQLite() {
		query = failedSQLite
	}
	type row struct {
		Failed
		state string
	}
	rows, err := db.ReadList(view, func(r *row) []any {
		return []any{&r.ID, &r.Kind, &r.PropertyID, &r.state, &r.Attempts, &r.FailedAt, &r.RetryAt, &r.Error}
	}, query)
	if err != nil {
		return nil, fmt.Errorf("list the failed jobs: %w", err)
	}
	list := make([]Failed, len(rows))
	for i, r := range rows {
		list[i] = r.Failed
		list[i].GivenUp = r.state == string(rivertype.JobStateDiscarded)
		list[i].Error = text.Truncate(address.ReplaceAllString(r.Error, "<address>"), mostError)
	}
	return list, nil
}

// Retry makes a failed job run at once, whether it is retried anyway or was given up. It returns a not-found fault if the job has not
// failed, and a fault InUse if an equal newer job waits; then the transaction must fail.
func (q *Queue) Retry(tx *db.Tx, id int64) error {
	_, queue, err := failedState(tx, id)
	if err != nil {
		return err
	}
	_, err = q.inserter.JobRetryTx(tx.Context(), tx.SQL(), id)
	if sqlgraph.IsUniqueConstraintError(err) {
		return fault.New(fault.Precondition, fault.InUse, "the same work waits in a newer job: job %d can be removed", id)
	}
	if err != nil {
		return fmt.Errorf("retry a job: %w", err)
	}
	if q.d.SQLite() {
		tx.Notify(inserted, queue)
	}
	return nil
}

// Discard deletes a job that was given up. It returns a fault for any other job.
func (q *Queue) Discard(tx *db.Tx, id int64) error {
	state, _, err := failedState(tx, id)
	if err != nil {
		return err
	}
	if state != rivertype.JobStateDiscarded {
		return fault.New(fault.Precondition, fault.InUse, "the job is still retried: only a job that was given up can be removed")
	}
	if _, err := q.inserter.JobDeleteTx(tx.Context(), tx.SQL(), id); err != nil && !errors.Is(err, rivertype.ErrNotFound) {
		return fmt.Errorf("remove a job: %w", err)
	}
	return nil
}

// failedState returns the state and the queue of a job whose last attempt failed. It returns a fault if there is no such job.
func failedState(tx *db.Tx, id int64) (rivertype.JobState, string, error) {
	var state, queue string
	if _, err := tx.ReadOne(stateQuery, []any{id}, &state, &queue); err != nil {
		return "", "", fmt.Errorf("find a job: %w", err)
	}
	switch found := rivertype.JobState(state); found {
	case rivertype.JobStateRetryable, rivertype.JobStateDiscarded:
		return found, queue, nil
	}
	return "", "", fault.New(fault.NotFound, fault.NotFoundReason, "there is no failed job %d: it may have run since you listed it", id)
}
