package worker

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/db/dbtest"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
)

func TestQueueReadsOnceMoreWhenAskedMeanwhile(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	house(t, d)
	entered, answer := make(chan struct{}), make(chan struct{})
	s := &Spaces{DB: d, Directory: directory{}, Log: quiet, Fetch: func(ctx context.Context, _ partner.Endpoint, _ []string) ([]space.Listed, error) {
		entered <- struct{}{}
		select {
		case <-answer:
			return listing, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	q := NewQueue(s)
	for range 3 {
		q.Soon("prp_one", "int_one") // before it has begun: once
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = q.Run(ctx) }()
	<-entered
	for range 3 {
		q.Soon("prp_one", "int_one") // while it is under way: once more
	}
	answer <- struct{}{}
	<-entered
	answer <- struct{}{}
	cancel()
	<-done
	s.Close()
	if len(q.pending) != 0 || len(q.state) != 0 {
		t.Errorf("left over: %v, %v", q.pending, q.state)
	}
}

func TestQueueIsBounded(t *testing.T) {
	q := NewQueue(&Spaces{})
	for i := range maxPending {
		if !q.Soon("prp_one", string(rune('a'+i))) {
			t.Fatalf("refused the reading %d", i)
		}
	}
	if q.Soon("prp_one", "one more") {
		t.Error("took more than it holds")
	}
	if !q.Soon("prp_one", "a") {
		t.Error("refused what waits already")
	}
}

// One partner that hangs keeps no other waiting.
func TestQueueGoesOnBesideASlowPartner(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	house(t, d)
	write(t, d, func(tx *db.Tx) error {
		return tx.Integration.Create().SetID("int_slow").SetPropertyID("prp_one").SetAppID("app_slow").SetName("Slow").SetScopes([]string{}).Exec(tx.Context())
	})
	slow, quick := make(chan struct{}), make(chan struct{})
	s := &Spaces{DB: d, Directory: everyone{}, Log: quiet, Fetch: func(ctx context.Context, e partner.Endpoint, _ []string) ([]space.Listed, error) {
		if e.IntegrationID == "int_slow" {
			close(slow)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		close(quick)
		return listing, nil
	}}
	q := NewQueue(s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = q.Run(ctx) }()
	q.Soon("prp_one", "int_slow")
	<-slow
	q.Soon("prp_one", "int_one")
	<-quick
	s.Close()
	cancel()
	<-done
}

type everyone struct{ directory }

func (everyone) Endpoint(ctx context.Context, _ *ent.Client, propertyID, integrationID, action string) (partner.Endpoint, error) {
	return partner.Endpoint{PropertyID: propertyID, IntegrationID: integrationID, Action: action}, nil
}

func TestPeriodicReadings(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		house(t, d)
		at := clock.At(time.Now())
		var calls atomic.Int32
		read := make(chan struct{}, 10)
		s := &Spaces{DB: d, Directory: directory{}, Log: quiet, Clock: at, Fetch: func(context.Context, partner.Endpoint, []string) ([]space.Listed, error) {
			calls.Add(1)
			return listing, nil
		}, Replan: func(*db.Tx, string, space.Touched) error { return nil }}
		q := NewQueue(s)
		periodic := q.Periodic(15 * time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- Run(ctx, Alone{}, quiet, nil, Sweep{Name: "read", Every: time.Millisecond, Run: func(ctx context.Context) error {
				err := periodic.Run(ctx)
				for source, ok := q.take(); ok; source, ok = q.take() {
					q.read(ctx, source)
				}
				select {
				case read <- struct{}{}:
				default:
				}
				return err
			}})
		}()
		for range 5 {
			<-read
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("%d readings within the interval, want the first alone", n)
		}
		at.Advance(17 * time.Minute)
		for calls.Load() < 2 {
			<-read
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.Close()
	})
}
