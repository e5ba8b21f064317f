package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// failingDriver is a driver for which the first statements of a start fail.
type failingDriver[T any] struct {
	riverdriver.Driver[T]
	first, second *atomic.Int32 // failures left, of the two statements that a start begins with
}

func (a failingDriver[T]) GetExecutor() riverdriver.Executor {
	return failingExecutor{a.Driver.GetExecutor(), a.first, a.second}
}

type failingExecutor struct {
	riverdriver.Executor
	first, second *atomic.Int32
}

var errUnreachable = errors.New("the database is unreachable")

func (m failingExecutor) Exec(ctx context.Context, sql string, args ...any) error {
	if m.first.Add(-1) >= 0 {
		return errUnreachable
	}
	return m.Executor.Exec(ctx, sql, args...)
}

func (m failingExecutor) QueueCreateOrSetUpdatedAt(ctx context.Context, params *riverdriver.QueueCreateOrSetUpdatedAtParams) (*rivertype.Queue, error) {
	if m.second.Add(-1) >= 0 {
		return nil, errUnreachable
	}
	return m.Executor.QueueCreateOrSetUpdatedAt(ctx, params)
}

// runFailing runs a queue whose first statements fail.
func runFailing(ctx context.Context, q *Queue, workers *river.Workers, first, second int32) error {
	settings := &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1}}, FetchPollInterval: time.Second,
		Logger: slog.New(slog.DiscardHandler),
	}
	var a, b atomic.Int32
	a.Store(first)
	b.Store(second)
	writer, pool := q.d.JobPools()
	if writer != nil {
		return run(ctx, q, settings, failingDriver[*sql.Tx]{sqliteDriver{riversqlite.New(writer), q.inserted}, &a, &b})
	}
	return run(ctx, q, settings, failingDriver[pgx.Tx]{riverpgxv5.New(pool), &a, &b})
}

func TestQueueWaitsForItsDatabase(t *testing.T) {
	for _, c := range []struct{ first, second int32 }{{3, 0}, {0, 2}, {1, 1}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				q, r := open(t, d), newReader()
				insertJob(t, d, q, one)
				workers := river.NewWorkers()
				river.AddWorker(workers, r)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- runFailing(ctx, q, workers, c.first, c.second) }()
				select {
				case got := <-r.markStarted:
					if got != one {
						t.Errorf("begun %v", got)
					}
					r.end <- nil
				case err := <-done:
					t.Fatalf("ended: %v", err)
				}
				<-q.Started()
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestShutdownDuringFailingStarts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		logged := make(chan string, 100)
		q, r := open(t, d), newReader()
		q.log = slog.New(slog.NewTextHandler(lines(logged), nil))
		workers := river.NewWorkers()
		river.AddWorker(workers, r)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- runFailing(ctx, q, workers, 1<<30, 0) }()
		for range 2 {
			if line := <-logged; !strings.Contains(line, "cannot start") || !strings.Contains(line, errUnreachable.Error()) {
				t.Errorf("says %q", line)
			}
		}
		select {
		case <-q.Started():
			t.Error("says that it has started")
		default:
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A defect keeps the start from succeeding although the database is reachable.
func TestQueueThatCannotStartFails(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := open(t, d)
		q.startFaultLimit = 50 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := runFailing(ctx, q, river.NewWorkers(), 2, 0); err == nil || !strings.Contains(err.Error(), "Worker") {
			t.Errorf("ended with %v", err)
		}
	})
}

// lines is a writer that sends each write to a channel.
type lines chan<- string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
