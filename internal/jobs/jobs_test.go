package jobs

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.uber.org/goleak"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reader is a worker that the test controls.
type reader struct {
	river.WorkerDefaults[ReadSpaces]
	markStarted chan ReadSpaces
	end         chan error
}

func newReader() *reader { return &reader{markStarted: make(chan ReadSpaces), end: make(chan error)} }

// Work signals that it has started, and returns what the test sends.
func (r *reader) Work(ctx context.Context, job *river.Job[ReadSpaces]) error {
	select {
	case r.markStarted <- job.Args:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.end:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open opens a queue that does not poll, so that only notifications start jobs.
func open(t *testing.T, d *db.DB) *Queue {
	t.Helper()
	q, err := Open(d, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	q.pollInterval = time.Hour
	return q
}

// runQueue runs the queue until the returned stop is called.
func runQueue(t *testing.T, q *Queue, r *reader) (stop func()) {
	t.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, r)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- q.Run(ctx, workers) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func insertJob(t *testing.T, d *db.DB, q *Queue, a ReadSpaces) {
	t.Helper()
	if err := d.Write(t.Context(), func(tx *db.Tx) error { return q.Insert(tx, a) }); err != nil {
		t.Fatal(err)
	}
}

var (
	one = ReadSpaces{PropertyID: "prp_one", IntegrationID: "int_one"}
	two = ReadSpaces{PropertyID: "prp_one", IntegrationID: "int_two"}
)

func TestJobRunsAfterTheCommit(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q, r := open(t, d), newReader()
		defer runQueue(t, q, r)()
		refused := errors.New("refused")
		err := d.Write(t.Context(), func(tx *db.Tx) error { return errors.Join(q.Insert(tx, one), refused) })
		if !errors.Is(err, refused) {
			t.Fatal(err)
		}
		insertJob(t, d, q, two)
		if got := <-r.markStarted; got != two {
			t.Errorf("done: %v; want that of the change that was stored", got)
		}
		r.end <- nil
	})
}

func TestWaitingJobIsNotStoredTwice(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q, r := open(t, d), newReader()
		for range 3 {
			insertJob(t, d, q, one)
		}
		insertJob(t, d, q, two)
		defer runQueue(t, q, r)()
		seen := map[string]int{}
		for range 2 {
			seen[(<-r.markStarted).IntegrationID]++
		}
		for range 2 {
			r.end <- nil
		}
		if seen["int_one"] != 1 || seen["int_two"] != 1 {
			t.Errorf("begun: %v", seen)
		}
	})
}

func TestRequestDuringAJobStoresAnotherJob(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q, r := open(t, d), newReader()
		defer runQueue(t, q, r)()
		// A request while jobs run is served by a job that starts later, however many run.
		for round := range 4 {
			insertJob(t, d, q, one)
			want := one
			want.Round = round
			if got := <-r.markStarted; got != want {
				t.Fatalf("begun %v, want %v", got, want)
			}
		}
		for range 4 {
			r.end <- nil
		}
		insertJob(t, d, q, two)
		if got := <-r.markStarted; got != two {
			t.Errorf("begun %v, want nothing but %v", got, two)
		}
		r.end <- nil
	})
}

func TestInterruptedJobRunsAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q, r := open(t, d), newReader()
		stop := runQueue(t, q, r)
		insertJob(t, d, q, one)
		<-r.markStarted
		stop()
		defer runQueue(t, open(t, d), r)()
		if got := <-r.markStarted; got != one {
			t.Errorf("begun %v, want %v", got, one)
		}
		r.end <- nil
	})
}

// On SQLite, a job that a killed process ran does not wait until River's rescuer finds it.
func TestJobOfAKilledProcessRunsAgain(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	q, r := open(t, d), newReader()
	insertJob(t, d, q, one)
	killed := func(tx *db.Tx) error {
		_, err := tx.SQL().ExecContext(tx.Context(), "UPDATE river_job SET state = 'running', attempt = 1, attempted_at = datetime('now')")
		return err
	}
	if err := d.Write(t.Context(), killed); err != nil {
		t.Fatal(err)
	}
	defer runQueue(t, q, r)()
	if got := <-r.markStarted; got != one {
		t.Errorf("begun %v, want %v", got, one)
	}
	r.end <- nil
}

func TestRetriesWaitLonger(t *testing.T) {
	for failures, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second} {
		job := &rivertype.JobRow{Errors: make([]rivertype.AttemptError, failures)}
		if wait := time.Until((retryPolicy{}).NextRetry(job)); wait < want*7/10 || wait > want*13/10 {
			t.Errorf("after %d failures more: %v, want about %v", failures, wait, want)
		}
	}
	many := &rivertype.JobRow{Errors: make([]rivertype.AttemptError, 1000)}
	if wait := time.Until((retryPolicy{}).NextRetry(many)); wait > 7*time.Minute {
		t.Errorf("waits %v", wait)
	}
}
