// Package jobs is the queue for work that is done later and must not be lost, such as a call of getSpaces. A job is stored in
// the transaction of the change that needs it, and any process of the installation runs it at least once. The queue is River,
// on SQLite and on PostgreSQL.
//
// Work that every reservation needs does not use this queue: on SQLite, River processes one row at a time.
package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"

	"latchkey.dev/internal/db"
)

// Queue is the job queue of an installation.
type Queue struct {
	d            *db.DB
	log          *slog.Logger
	inserter     inserter
	inserted     signals
	pollInterval time.Duration // pollInterval is the time between queries for jobs whose notification was lost
	// startFaultLimit is how long starts may fail, although the database is reachable, before Run returns an error.
	startFaultLimit time.Duration

	once    sync.Once
	started chan struct{}
}

// inserter is the part of a River client that stores and changes jobs in the transaction of the caller.
type inserter interface {
	InsertTx(ctx context.Context, tx *sql.Tx, args river.JobArgs, opts *river.InsertOpts) (*rivertype.JobInsertResult, error)
	JobRetryTx(ctx context.Context, tx *sql.Tx, id int64) (*rivertype.JobRow, error)
	JobDeleteTx(ctx context.Context, tx *sql.Tx, id int64) (*rivertype.JobRow, error)
}

// Open opens the queue of a database whose schema is current, to store jobs. Jobs run only while [Queue.Run] runs.
func Open(d *db.DB, log *slog.Logger) (*Queue, error) {
	q := &Queue{d: d, log: log, inserted: newSignals(), pollInterval: time.Second, startFaultLimit: startFault, started: make(chan struct{})}
	// River notifies workers at most once per cooldown; a job that is stored within it waits for the next poll.
	settings := &river.Config{Logger: db.WarningsOnly(log), FetchCooldown: time.Millisecond}
	var err error
	if d.SQLite() {
		q.inserter, err = river.NewClient(riversqlite.New(nil), settings)
	} else {
		q.inserter, err = river.NewClient(riverdatabasesql.New(nil), settings)
	}
	if err != nil {
		return nil, fmt.Errorf("open the job queue: %w", err)
	}
	d.Subscribe(inserted, q.wakeSQLiteListener)
	return q, nil
}

// Repeatable is a job of which only one waits at a time. If it is requested while it runs, another one is stored, because the
// running job may have missed the new data.
type Repeatable interface {
	river.JobArgs
	// Next returns the arguments of the next job. They must differ from those of all jobs before it.
	Next() river.JobArgs
}

// Insert stores a job in the transaction; it can start after the commit. It stores nothing if an equal job (see [unique]) waits already or,
// unless it is [Repeatable], runs.
func (q *Queue) Insert(tx *db.Tx, args river.JobArgs) error {
	_, err := q.insert(tx, args, nil)
	return err
}

// InsertNow is Insert for a job that cannot wait: if an equal job waits for a later time, that job can start after the commit.
func (q *Queue) InsertNow(tx *db.Tx, args river.JobArgs) error {
	stored, err := q.insert(tx, args, nil)
	if err != nil || !stored.UniqueSkippedAsDuplicate || stored.Job.State == rivertype.JobStateAvailable {
		return err
	}
	if _, err := q.inserter.JobRetryTx(tx.Context(), tx.SQL(), stored.Job.ID); err != nil {
		return fmt.Errorf("start a job %s early: %w", args.Kind(), err)
	}
	if q.d.SQLite() {
		tx.Notify(inserted, stored.Job.Queue)
	}
	return nil
}

// InsertAt is Insert for a job that starts at a time, or up to a few seconds later. If an equal job waits already, it keeps its own time.
func (q *Queue) InsertAt(tx *db.Tx, args river.JobArgs, at time.Time) error {
	_, err := q.insert(tx, args, &river.InsertOpts{ScheduledAt: at})
	return err
}

// insert implements Insert and InsertAt; o may be nil. If an equal [Repeatable] job runs now, it stores the next one.
func (q *Queue) insert(tx *db.Tx, args river.JobArgs, o *river.InsertOpts) (*rivertype.JobInsertResult, error) {
	if err := tx.Err(); err != nil {
		return nil, err
	}
	stored, err := q.inserter.InsertTx(tx.Context(), tx.SQL(), args, o)
	for err == nil && stored.UniqueSkippedAsDuplicate && stored.Job.State == rivertype.JobStateRunning {
		r, ok := args.(Repeatable)
		if !ok {
			break
		}
		args = r.Next()
		stored, err = q.inserter.InsertTx(tx.Context(), tx.SQL(), args, o)
	}
	if err != nil {
		return nil, fmt.Errorf("store a job %s: %w", args.Kind(), err)
	}
	if q.d.SQLite() && !stored.UniqueSkippedAsDuplicate {
		tx.Notify(inserted, stored.Job.Queue)
	}
	return stored, nil
}

// inserted is the topic of stored jobs. Its key is the queue.
const inserted db.Topic = "jobs.inserted"

// wakeSQLiteListener wakes River's listener in this process after a job was stored in a queue. Only SQLite needs it.
func (q *Queue) wakeSQLiteListener(queue string) {
	select {
	case q.inserted.of(queue) <- struct{}{}:
	default:
	}
}

// webhooksQueue is the queue of jobs that wait for partners' webhooks, so that slow ones do not delay other jobs.
const webhooksQueue = "webhooks"

// MaxDeliveries is how many jobs of webhooks one process runs at once. Each waits for a partner most of its time.
const MaxDeliveries = 256

// Limits of running jobs.
const (
	maxConcurrent   = 64               // concurrent jobs of one process, except those of webhooks, which have MaxDeliveries
	defaultTimeout  = 2 * time.Minute  // time limit of a job whose worker sets none
	rescueAfter     = 5 * time.Minute  // age after which another process retries a job of a crashed process; on SQLite the next start does
	softStopTimeout = 2 * time.Second  // time for running jobs to finish by themselves at shutdown; then they are cancelled
	retention       = time.Hour        // how long completed jobs are kept for inspection
	hardStopTimeout = 15 * time.Second // time for cancelled jobs to return at shutdown; then Run returns an error
)

// Started returns a channel that closes when this process is first ready to run jobs, whether or not there are any.
func (q *Queue) Started() <-chan struct{} { return q.started }

// markStarted closes the channel of Started, at the first call only.
func (q *Queue) markStarted() { q.once.Do(func() { close(q.started) }) }

// Run runs jobs until ctx ends, and returns after the running jobs have ended, or with an error if they do not: see stopClient. An
// interrupted job runs again later. If the database is not reachable at the start, Run waits for it. It returns an error if starts fail for
// a minute although the database is reachable.
func (q *Queue) Run(ctx context.Context, workers *river.Workers) error {
	settings := &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxConcurrent}, webhooksQueue: {MaxWorkers: MaxDeliveries}},
		JobTimeout: defaultTimeout, RescueStuckJobsAfter: rescueAfter, CompletedJobRetentionPeriod: retention,
		FetchCooldown: 10 * time.Millisecond, FetchPollInterval: q.pollInterval,
		RetryPolicy: retryPolicy{}, ErrorHandler: errorHandler{q.log}, Middleware: []rivertype.Middleware{&requeueOnShutdown{}}, Logger: db.WarningsOnly(q.log),
	}
	writer, pool := q.d.JobPools()
	if writer != nil {
		if err := requeueInterrupted(ctx, writer); err != nil {
			return err
		}
		return run(ctx, q, settings, sqliteDriver{riversqlite.New(writer), q.inserted})
	}
	return run(ctx, q, settings, riverpgxv5.New(pool))
}
