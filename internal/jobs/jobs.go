// Package jobs keeps work that is done later and must not be lost, such as a reading of getSpaces. A job
// is stored in the transaction of the change that wants it and is done at least once, by whichever process is free. It is
// River, on SQLite and on PostgreSQL.
//
// What every reservation needs is no job: on SQLite River works a row at a time.
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
	d    *db.DB
	log  *slog.Logger
	add  inserter
	bell chan struct{} // rings in this process when a job was stored; SQLite only
	look time.Duration // between looks for jobs whose wake-up was lost
	// bears is for how long starts may fail although the database is there.
	bears time.Duration

	once    sync.Once
	started chan struct{}
}

// inserter stores a job in a transaction that is somebody else's.
type inserter interface {
	InsertTx(ctx context.Context, tx *sql.Tx, args river.JobArgs, opts *river.InsertOpts) (*rivertype.JobInsertResult, error)
}

// Open makes the queue of a database whose schema is right.
func Open(d *db.DB, log *slog.Logger) (*Queue, error) {
	q := &Queue{d: d, log: log, bell: make(chan struct{}, 1), look: time.Second, bears: startFault, started: make(chan struct{})}
	// River tells workers at most once per cooldown, and what comes up within it waits for the next look.
	settings := &river.Config{Logger: db.Warnings(log), FetchCooldown: time.Millisecond}
	var err error
	if d.SQLite() {
		q.add, err = river.NewClient(riversqlite.New(nil), settings)
	} else {
		q.add, err = river.NewClient(riverdatabasesql.New(nil), settings)
	}
	if err != nil {
		return nil, fmt.Errorf("open the job queue: %w", err)
	}
	return q, nil
}

// Repeatable are arguments of which one job waits at a time, and which are wanted once more when they come up while such
// a job is under way: it may have looked before there was anything to see.
type Repeatable interface {
	river.JobArgs
	// Again are the arguments of the next job, which are other than those of every job before it.
	Again() river.JobArgs
}

// Insert stores a job in the transaction; it may be begun once that is committed. One that waits already is not stored twice.
func (q *Queue) Insert(tx *db.Tx, args river.JobArgs) error { return q.insert(tx, args, nil) }

// InsertAt stores a job that is not begun before a time, give or take a few seconds.
func (q *Queue) InsertAt(tx *db.Tx, args river.JobArgs, at time.Time) error {
	return q.insert(tx, args, &river.InsertOpts{ScheduledAt: at})
}

func (q *Queue) insert(tx *db.Tx, args river.JobArgs, o *river.InsertOpts) error {
	if err := tx.Err(); err != nil {
		return err
	}
	stored, err := q.add.InsertTx(tx.Context(), tx.SQL(), args, o)
	for err == nil && stored.UniqueSkippedAsDuplicate && stored.Job.State == rivertype.JobStateRunning {
		r, ok := args.(Repeatable)
		if !ok {
			break
		}
		args = r.Again()
		stored, err = q.add.InsertTx(tx.Context(), tx.SQL(), args, o)
	}
	if err != nil {
		return fmt.Errorf("store a job %s: %w", args.Kind(), err)
	}
	if q.d.SQLite() && !stored.UniqueSkippedAsDuplicate {
		tx.After(q.ring)
	}
	return nil
}

func (q *Queue) ring() {
	select {
	case q.bell <- struct{}{}:
	default:
	}
}

// Bounds of what runs.
const (
	atOnce  = 64               // jobs of one process
	longest = 2 * time.Minute  // a job may take, unless its worker says otherwise
	lost    = 5 * time.Minute  // after which a job of a process that died is begun anew
	grace   = 2 * time.Second  // jobs under way at a stop have to end by themselves
	kept    = time.Hour        // done jobs, to look at
	stopped = 15 * time.Second // jobs that were told to stop have
)

// Started is closed when this process has begun to do jobs for the first time.
func (q *Queue) Started() <-chan struct{} { return q.started }

func (q *Queue) begun() { q.once.Do(func() { close(q.started) }) }

// Run does jobs until ctx ends, and returns when those under way have ended. One that is cut short is done again later. A
// database that is away when it begins is waited for.
func (q *Queue) Run(ctx context.Context, workers *river.Workers) error {
	settings := &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: atOnce}},
		JobTimeout: longest, RescueStuckJobsAfter: lost, CompletedJobRetentionPeriod: kept,
		FetchCooldown: 10 * time.Millisecond, FetchPollInterval: q.look,
		RetryPolicy: retries{}, ErrorHandler: complaints{q.log}, Middleware: []rivertype.Middleware{&unhurt{}}, Logger: db.Warnings(q.log),
	}
	writer, pool := q.d.JobPools()
	if writer != nil {
		return run(ctx, q, settings, sqliteDriver{riversqlite.New(writer), q.bell})
	}
	return run(ctx, q, settings, riverpgxv5.New(pool))
}
