package worker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/test/dbtest"
)

// readings runs the jobs of s until the test ends.
func readings(t *testing.T, s *Spaces) Readings {
	t.Helper()
	q, err := jobs.Open(s.DB, quiet)
	if err != nil {
		t.Fatal(err)
	}
	r := Readings{Spaces: s, Jobs: q}
	workers := river.NewWorkers()
	r.AddTo(workers)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- q.Run(ctx, workers) }()
	t.Cleanup(func() {
		cancel()
		s.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return r
}

func soon(t *testing.T, r Readings, integrationID string) {
	t.Helper()
	write(t, r.Spaces.DB, func(tx *db.Tx) error { return r.Soon(tx, "prp_one", integrationID) })
}

func waiting(t *testing.T, d *db.DB) (n int) {
	t.Helper()
	write(t, d, func(tx *db.Tx) error {
		const query = "SELECT count(*) FROM river_job WHERE state IN ('available', 'scheduled')"
		return tx.SQL().QueryRowContext(tx.Context(), query).Scan(&n)
	})
	return n
}

// A change during a reading causes another reading.
func TestRequestDuringAReadingIsReadAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insertProperty(t, d)
		var under atomic.Int32
		entered, answer := make(chan struct{}), make(chan struct{})
		r := readings(t, &Spaces{DB: d, Directory: directory{}, Log: quiet, Fetch: func(ctx context.Context, _ partner.Endpoint, _ []string, _ bool) ([]space.Listed, error) {
			if under.Add(1) > 1 {
				t.Error("two readings of the same at once")
			}
			defer under.Add(-1)
			entered <- struct{}{}
			select {
			case <-answer:
				return listing, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}})
		soon(t, r, "int_one")
		<-entered
		for range 3 {
			soon(t, r, "int_one")
		}
		answer <- struct{}{}
		<-entered
		answer <- struct{}{}
	})
}

// Many reservations with unknown rooms do not cause many readings.
func TestMinimumIntervalOfReadings(t *testing.T) {
	at := clock.At(time.Now())
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insertProperty(t, d)
		read := make(chan struct{}, 10)
		r := readings(t, &Spaces{DB: d, Directory: directory{}, Log: quiet, Fetch: func(context.Context, partner.Endpoint, []string, bool) ([]space.Listed, error) {
			read <- struct{}{}
			return listing, nil
		}, Replan: func(*db.Tx, string, space.AffectedStays) error { return nil }})
		if _, err := r.Spaces.Read(t.Context(), "prp_one", "int_one"); err != nil {
			t.Fatal(err)
		}
		<-read
		for range 5 {
			soon(t, r, "int_one")
		}
		if n := waiting(t, d); n != 1 || len(read) != 0 {
			t.Errorf("%d jobs wait, %d readings more, want one that waits", n, len(read))
		}
		at.Advance(minReadInterval + time.Second)
		soon(t, r, "int_one")
		<-read
	}, dbtest.Clock(at))
}

func TestNothingToRead(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insertProperty(t, d)
		q, err := jobs.Open(d, quiet)
		if err != nil {
			t.Fatal(err)
		}
		soon(t, Readings{Spaces: &Spaces{DB: d}, Jobs: q}, "int_other")
		if n := waiting(t, d); n != 0 {
			t.Errorf("%d jobs wait", n)
		}
	})
}

// A partner that hangs does not delay the readings of others.
func TestSlowPartnerDoesNotDelayOthers(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	insertProperty(t, d)
	dbtest.Insert(t, d, "integrations", dbtest.Values{"id": "int_slow", "property_id": "prp_one", "app_id": "app_slow"})
	write(t, d, func(tx *db.Tx) error {
		return tx.Endpoint.Create().SetID("end_slow").SetPropertyID("prp_one").SetIntegrationID("int_slow").SetAction(partner.GetSpaces).
			SetURL("https://slow.example/").SetMethod("GET").SetSealedToken([]byte{}).SetTokenPlace("query").Exec(tx.Context())
	})
	slow, quick := make(chan struct{}), make(chan struct{})
	r := readings(t, &Spaces{DB: d, Directory: everyone{}, Log: quiet, Fetch: func(ctx context.Context, e partner.Endpoint, _ []string, _ bool) ([]space.Listed, error) {
		if e.IntegrationID == "int_slow" {
			close(slow)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		close(quick)
		return listing, nil
	}})
	soon(t, r, "int_slow")
	<-slow
	soon(t, r, "int_one")
	<-quick
}

type everyone struct{ directory }

func (everyone) Endpoint(_ *db.Tx, propertyID, integrationID, action string) (partner.Endpoint, error) {
	return partner.Endpoint{PropertyID: propertyID, IntegrationID: integrationID, Action: action}, nil
}

func TestPeriodicReadings(t *testing.T) {
	at := clock.At(time.Now())
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insertProperty(t, d)
		read := make(chan struct{}, 10)
		r := readings(t, &Spaces{DB: d, Directory: directory{}, Log: quiet, Clock: at, Fetch: func(context.Context, partner.Endpoint, []string, bool) ([]space.Listed, error) {
			read <- struct{}{}
			return listing, nil
		}, Replan: func(*db.Tx, string, space.AffectedStays) error { return nil }})
		periodic := r.Periodic(15 * time.Minute)
		sweep := func() {
			t.Helper()
			if err := periodic.Run(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		sweep()
		<-read
		if _, err := r.Spaces.Read(t.Context(), "prp_one", "int_one"); err != nil { // joins the one under way, or follows it
			t.Fatal(err)
		}
		at.Advance(10 * time.Minute)
		for range 3 {
			sweep()
		}
		if n := waiting(t, d); n != 0 {
			t.Errorf("%d readings within the interval", n)
		}
		for len(read) > 0 {
			<-read
		}
		at.Advance(17 * time.Minute)
		sweep()
		<-read
	}, dbtest.Clock(at))
}

// A partner that has not stored the signing secret answers 401. The reading is retried until it succeeds once.
func TestUnauthorizedEndpointIsRetried(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	insertProperty(t, d)
	refused := fault.New(fault.Precondition, fault.PartnerError, "HTTP 401").Put(checkin.MetaStatus, "401")
	var err error = refused
	s := &Spaces{DB: d, Directory: rowHealth{}, Log: quiet, Fetch: func(context.Context, partner.Endpoint, []string, bool) ([]space.Listed, error) {
		return listing, err
	}, Replan: func(*db.Tx, string, space.AffectedStays) error { return nil }}
	defer s.Close()
	w := &spacesJob{readings: Readings{Spaces: s}}
	work := func() error {
		args := jobs.ReadSpaces{PropertyID: "prp_one", IntegrationID: "int_one", First: true}
		return w.Work(t.Context(), &river.Job[jobs.ReadSpaces]{JobRow: &rivertype.JobRow{CreatedAt: time.Now()}, Args: args})
	}
	snoozed := func(err error) bool {
		s, ok := errors.AsType[*river.JobSnoozeError](err)
		return ok && s.Duration <= time.Minute
	}
	for range maxUnauthorizedRetries {
		if got := work(); !snoozed(got) {
			t.Fatalf("after a 401: %v, want another call within a minute", got)
		}
	}
	if got := work(); got != nil {
		t.Errorf("after %d times: %v", maxUnauthorizedRetries+1, got)
	}
	err = fault.New(fault.Precondition, fault.PartnerError, "HTTP 500").Put(checkin.MetaStatus, "500")
	if got := work(); got != nil {
		t.Errorf("after a 500: %v", got)
	}
	err = nil
	if got := work(); got != nil {
		t.Errorf("after a good answer: %v", got)
	}
	err = refused
	if got := work(); got != nil {
		t.Errorf("a 401 after a good answer: %v", got)
	}
}

// rowHealth is a registry that returns the stored health of its only endpoint.
type rowHealth struct{ directory }

func (r rowHealth) Endpoint(tx *db.Tx, propertyID, integrationID, action string) (partner.Endpoint, error) {
	row, err := tx.Endpoint.Query().Only(tx.Context())
	if err != nil {
		return partner.Endpoint{}, err
	}
	e, err := r.directory.Endpoint(tx, propertyID, integrationID, action)
	e.Health = partner.Health{Failures: row.Failures, LastSuccessAt: row.LastSuccessAt}
	return e, err
}

// The first reading is delayed, and skipped if another reading has succeeded in the meantime.
func TestFirstReadingIsDelayed(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	insertProperty(t, d)
	calls := 0
	s := &Spaces{DB: d, Directory: directory{}, Log: quiet, Fetch: func(context.Context, partner.Endpoint, []string, bool) ([]space.Listed, error) {
		calls++
		return listing, nil
	}, Replan: func(*db.Tx, string, space.AffectedStays) error { return nil }}
	defer s.Close()
	q, err := jobs.Open(d, quiet)
	if err != nil {
		t.Fatal(err)
	}
	r := Readings{Spaces: s, Jobs: q}
	before := time.Now().Truncate(time.Millisecond) // as the queue stores it
	write(t, d, func(tx *db.Tx) error { return r.First(tx, "prp_one", "int_one") })
	var at, created time.Time
	write(t, d, func(tx *db.Tx) error {
		return tx.SQL().QueryRowContext(tx.Context(), "SELECT scheduled_at, created_at FROM river_job WHERE state = 'scheduled'").Scan(&at, &created)
	})
	if wait := at.Sub(before); wait < firstReadDelay || wait > time.Minute {
		t.Errorf("the first reading begins after %v", wait)
	}
	w := &spacesJob{readings: r}
	job := &river.Job[jobs.ReadSpaces]{JobRow: &rivertype.JobRow{CreatedAt: created}, Args: jobs.ReadSpaces{PropertyID: "prp_one", IntegrationID: "int_one", First: true}}
	if _, err := s.ReadNow(t.Context(), "prp_one", "int_one"); err != nil {
		t.Fatal(err)
	}
	if err := w.Work(t.Context(), job); err != nil || calls != 1 {
		t.Errorf("read since: %d calls, %v; want the 1 there was", calls, err)
	}
}
