package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"latchkey.dev/internal/clock"
)

// Limits of starting the queue.
const (
	startBackoff    = 100 * time.Millisecond // wait after the first failed attempt to start; each further one doubles it
	startMaxBackoff = 5 * time.Second        // longest wait between attempts to start
	startTimeout    = 15 * time.Second       // time limit of one attempt to start
	pingTimeout     = 2 * time.Second        // time limit of a query that checks whether the database is reachable
	startFault      = time.Minute            // how long starts may fail with a reachable database before Run fails: longer than a failover
)

// run runs jobs until ctx ends. While the database is not reachable at the start, it retries. If starts keep failing for startFaultLimit
// although the database is reachable, it returns an error. At the end it returns the error of stopClient, or nil if no start has succeeded.
func run[T any](ctx context.Context, q *Queue, settings *river.Config, d riverdriver.Driver[T]) error {
	// failingSince is when starts began to fail although the database is reachable; zero: it is not reachable, or no start has failed.
	var failingSince time.Time
	for wait := startBackoff; ; wait = min(2*wait, startMaxBackoff) {
		client, err := river.NewClient(d, settings)
		if err != nil {
			return fmt.Errorf("create the job queue: %w", err)
		}
		err = startClient(ctx, client)
		if err == nil {
			q.markStarted()
			<-ctx.Done()
			return stopClient(ctx, client)
		}
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case !isReachable(ctx, d):
			failingSince = time.Time{}
		case failingSince.IsZero():
			failingSince = time.Now()
		case time.Since(failingSince) >= q.startFaultLimit:
			return fmt.Errorf("the job queue cannot start although its database is reachable: %w", err)
		}
		q.log.Warn("the job queue cannot start; it will be retried", "error", err, "in", wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// requeueInterrupted makes the jobs that were running when the process was killed wait again. It is for SQLite, where only this process
// runs jobs, so none runs at its start. A job without an attempt left is not changed, and River gives it up.
func requeueInterrupted(ctx context.Context, d *sql.DB) error {
	_, err := d.ExecContext(ctx, "UPDATE river_job SET state = 'available' WHERE state = 'running' AND attempt < max_attempts")
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("requeue interrupted jobs: %w", err)
	}
	return nil
}

// isReachable reports whether the database answers within pingTimeout.
func isReachable[T any](ctx context.Context, d riverdriver.Driver[T]) bool {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return d.GetExecutor().Exec(ctx, "SELECT 1") == nil
}

// startClient starts a client, which then runs until stopClient. It fails after startTimeout, or if ctx ends during the start. Later ctx
// has no effect, because running jobs get time to finish.
func startClient[T any](ctx context.Context, client *river.Client[T]) error {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	late := time.AfterFunc(startTimeout, cancel)
	stopWaiting := context.AfterFunc(ctx, cancel)
	err := client.Start(running)
	stopWaiting()
	if !late.Stop() && err == nil {
		err = errors.Join(errors.New("the start took too long"), stopClient(ctx, client))
	}
	if err != nil {
		cancel()
		return fmt.Errorf("start the job queue: %w", err)
	}
	return nil
}

// stopClient stops a client. It waits for running jobs, cancels those that take longer than softStopTimeout, and waits for these too. It
// returns an error if they do not return within hardStopTimeout.
func stopClient[T any](ctx context.Context, client *river.Client[T]) error {
	soft, cancel := context.WithTimeout(context.WithoutCancel(ctx), softStopTimeout)
	defer cancel()
	if client.Stop(soft) == nil {
		return nil
	}
	hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), hardStopTimeout)
	defer cancel()
	if err := client.StopAndCancel(hard); err != nil {
		return fmt.Errorf("cancelled jobs did not return: %w", err)
	}
	return nil
}

// retryPolicy is exponential backoff: the wait doubles after each failure, from two seconds to five minutes, plus or minus a quarter.
type retryPolicy struct{}

// NextRetry implements river.ClientRetryPolicy: it returns when a failed job runs again, in two seconds to five minutes by the number of
// its failures.
func (retryPolicy) NextRetry(job *rivertype.JobRow) time.Time {
	wait := min(2*time.Second<<min(len(job.Errors), 10), 5*time.Minute)
	return time.Now().Add(clock.Spread(wait, wait/4))
}

// requeueOnShutdown requeues a job that a shutdown interrupted, so that it runs again at once and the interruption does not
// count as a failed attempt.
type requeueOnShutdown struct{ river.MiddlewareDefaults }

// Work implements rivertype.WorkerMiddleware: it runs the job by calling do, and converts the error of an interrupted job to
// river.JobSnooze(0).
func (*requeueOnShutdown) Work(ctx context.Context, _ *rivertype.JobRow, do func(context.Context) error) error {
	err := do(ctx)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), rivertype.ErrJobCancelledRemotely) {
		return river.JobSnooze(0)
	}
	return err
}

// errorHandler logs failed jobs, without their arguments, which may contain personal data.
type errorHandler struct{ log *slog.Logger }

// HandleError implements river.ErrorHandler: it logs a failed attempt. nil means that River decides about the retry.
func (c errorHandler) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	level, text := slog.LevelInfo, "a job failed and will be retried"
	if job.Attempt >= job.MaxAttempts {
		level, text = slog.LevelError, "a job failed and will not be retried"
	}
	c.log.Log(ctx, level, text, "kind", job.Kind, "job", job.ID, "attempt", job.Attempt, "error", err)
	return nil
}

// HandlePanic implements river.ErrorHandler: it logs a panic in a job. nil means that River decides about the retry.
func (c errorHandler) HandlePanic(ctx context.Context, job *rivertype.JobRow, what any, trace string) *river.ErrorHandlerResult {
	c.log.ErrorContext(ctx, "a job panicked", "kind", job.Kind, "job", job.ID, "attempt", job.Attempt, "panic", fmt.Sprint(what), "trace", trace)
	return nil
}
