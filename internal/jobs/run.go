package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// Bounds of starting.
const (
	startFirst = 100 * time.Millisecond // after a first attempt that failed
	startMost  = 5 * time.Second        // between attempts, however many failed
	startTime  = 15 * time.Second       // of one attempt
	startAsk   = 2 * time.Second        // for asking whether the database is there
	startFault = time.Minute            // of failures while it is: a failover may take as long, and a defect does not mend
)

// run does jobs on a database that may be away when it begins. A start that keeps failing although the database is there ends it
// with an error.
func run[T any](ctx context.Context, q *Queue, settings *river.Config, d riverdriver.Driver[T]) error {
	var faulty time.Time // since when starts fail although the database is there
	for wait := startFirst; ; wait = min(2*wait, startMost) {
		client, err := river.NewClient(d, settings)
		if err != nil {
			return fmt.Errorf("make the job queue: %w", err)
		}
		err = begin(ctx, client)
		if err == nil {
			q.begun()
			<-ctx.Done()
			return end(ctx, client)
		}
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case !there(ctx, d):
			faulty = time.Time{}
		case faulty.IsZero():
			faulty = time.Now()
		case time.Since(faulty) >= q.bears:
			return fmt.Errorf("the job queue cannot start although its database is there: %w", err)
		}
		q.log.Warn("the job queue cannot start, and tries again", "error", err, "in", wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// there asks whether the database answers.
func there[T any](ctx context.Context, d riverdriver.Driver[T]) bool {
	ctx, cancel := context.WithTimeout(ctx, startAsk)
	defer cancel()
	return d.GetExecutor().Exec(ctx, "SELECT 1") == nil
}

// begin starts a client that runs until it is told to stop: the end of ctx would cut jobs at once that need a moment
// more. It cuts short the start alone.
func begin[T any](ctx context.Context, client *river.Client[T]) error {
	running, cut := context.WithCancel(context.WithoutCancel(ctx))
	late := time.AfterFunc(startTime, cut)
	told := context.AfterFunc(ctx, cut)
	err := client.Start(running)
	told()
	if !late.Stop() && err == nil {
		err = errors.Join(errors.New("it took too long"), end(ctx, client))
	}
	if err != nil {
		cut()
		return fmt.Errorf("start the job queue: %w", err)
	}
	return nil
}

// end lets jobs under way end, and cuts those that do not.
func end[T any](ctx context.Context, client *river.Client[T]) error {
	soft, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if client.Stop(soft) == nil {
		return nil
	}
	hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopped)
	defer cancel()
	if err := client.StopAndCancel(hard); err != nil {
		return fmt.Errorf("jobs did not end when they were told to: %w", err)
	}
	return nil
}

// retries waits twice as long after each failure, from two seconds to five minutes, give or take a quarter.
type retries struct{}

// NextRetry is when a job that failed is tried again.
func (retries) NextRetry(job *rivertype.JobRow) time.Time {
	wait := min(2*time.Second<<min(len(job.Errors), 10), 5*time.Minute)
	return time.Now().Add(wait - wait/4 + rand.N(wait/2))
}

// unhurt puts back what a stop has cut, so that it is begun anew at once and the cut is not held against it.
type unhurt struct{ river.MiddlewareDefaults }

// Work does the job.
func (*unhurt) Work(ctx context.Context, _ *rivertype.JobRow, do func(context.Context) error) error {
	err := do(ctx)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), rivertype.ErrJobCancelledRemotely) {
		return river.JobSnooze(0)
	}
	return err
}

// complaints says what failed. Arguments are not named: they may be about people.
type complaints struct{ log *slog.Logger }

// HandleError is told of a failed attempt.
func (c complaints) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	level, text := slog.LevelInfo, "a job failed and is tried again"
	if job.Attempt >= job.MaxAttempts {
		level, text = slog.LevelError, "a job failed for the last time and is given up"
	}
	c.log.Log(ctx, level, text, "kind", job.Kind, "job", job.ID, "attempt", job.Attempt, "error", err)
	return nil
}

// HandlePanic is told of a defect in a job.
func (c complaints) HandlePanic(ctx context.Context, job *rivertype.JobRow, what any, trace string) *river.ErrorHandlerResult {
	c.log.ErrorContext(ctx, "a job panicked", "kind", job.Kind, "job", job.ID, "attempt", job.Attempt, "panic", fmt.Sprint(what), "trace", trace)
	return nil
}
