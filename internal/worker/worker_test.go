package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/test/dbtest"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(holderURL); url != "" {
		actUnderLease(url)
		return
	}
	goleak.VerifyTestMain(m)
}

var quiet = slog.New(slog.DiscardHandler)

func write(t *testing.T, d *db.DB, f func(tx *db.Tx) error) {
	t.Helper()
	if err := d.Write(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func emit(t *testing.T, d *db.DB, subject string, n int) {
	t.Helper()
	write(t, d, func(tx *db.Tx) error {
		for range n {
			if err := event.Append(tx, event.Event{PropertyID: "prp_one", Subject: subject, Kind: event.AccessIssued}); err != nil {
				return err
			}
		}
		return nil
	})
}

// sink is a subscriber that records events, and fails for the bad subject.
type sink struct {
	mu   sync.Mutex
	seen map[string][]int64
	bad  map[string]bool
	tick chan struct{}
}

func newSink() *sink {
	return &sink{seen: map[string][]int64{}, bad: map[string]bool{}, tick: make(chan struct{}, 1000)}
}

func (s *sink) subscriber() Subscriber {
	return Subscriber{Name: "sink", Deliver: func(_ context.Context, events []*ent.Event) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		defer func() { s.tick <- struct{}{} }()
		for _, e := range events {
			if s.bad[e.Subject] {
				return errors.New("refused")
			}
		}
		for _, e := range events {
			s.seen[e.Subject] = append(s.seen[e.Subject], e.SubjectSequence)
		}
		return nil
	}}
}

// until waits for as many deliveries as it takes until ok holds.
func (s *sink) until(t *testing.T, ok func(seen map[string][]int64) bool) {
	t.Helper()
	for {
		s.mu.Lock()
		done := ok(s.seen)
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-s.tick:
		case <-t.Context().Done():
			t.Fatal("not delivered")
		}
	}
}

func start(t *testing.T, x *Dispatcher) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func upTo(n int64) (all []int64) {
	for i := int64(1); i <= n; i++ {
		all = append(all, i)
	}
	return all
}

func TestDispatcherDeliversInOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSink()
		emit(t, d, "rsv_a", 5)
		emit(t, d, "rsv_b", 3)
		x := NewDispatcher(d, quiet, DispatcherOptions{Page: 2, Sweep: time.Hour}, s.subscriber())
		stop := start(t, x)
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_a"]) == 5 && len(seen["rsv_b"]) == 3 })
		emit(t, d, "rsv_a", 2)
		x.Wake()
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_a"]) == 7 })
		stop()
		if diff := cmp.Diff(map[string][]int64{"rsv_a": upTo(7), "rsv_b": upTo(3)}, s.seen); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestDispatcherSkipsAFailingSubject(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSink()
		s.bad["rsv_a"] = true
		emit(t, d, "rsv_a", 3)
		emit(t, d, "rsv_b", 3)
		x := NewDispatcher(d, quiet, DispatcherOptions{Page: 2, Sweep: time.Hour, MinBackoff: time.Millisecond, MaxBackoff: 2 * time.Millisecond}, s.subscriber())
		stop := start(t, x)
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_b"]) == 3 })
		s.mu.Lock()
		if len(s.seen["rsv_a"]) != 0 {
			t.Error("delivered although refused")
		}
		s.bad["rsv_a"] = false
		s.mu.Unlock()
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_a"]) >= 3 })
		stop()
		if diff := cmp.Diff(map[string][]int64{"rsv_a": upTo(3), "rsv_b": upTo(3)}, s.seen); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The sweep delivers events whose wake-up was lost, and events that a crashed dispatcher delivered
// but did not mark are delivered again.
func TestDispatcherAtLeastOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSink()
		ctx, die := context.WithCancel(t.Context())
		first := NewDispatcher(d, quiet, DispatcherOptions{}, s.subscriber(),
			Subscriber{Name: "death", Deliver: func(context.Context, []*ent.Event) error { die(); return ctx.Err() }})
		emit(t, d, "rsv_a", 2)
		if err := first.Run(ctx); err != nil {
			t.Fatal(err)
		}
		stop := start(t, NewDispatcher(d, quiet, DispatcherOptions{Sweep: time.Millisecond}, s.subscriber()))
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_a"]) == 4 })
		emit(t, d, "rsv_a", 1) // no wake-up
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_a"]) == 5 })
		stop()
		if diff := cmp.Diff([]int64{1, 2, 1, 2, 3}, s.seen["rsv_a"]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := d.Read().Event.Query().Where(entevent.DispatchedAtIsNil()).CountX(t.Context()); n > 1 {
			t.Errorf("%d events are not marked", n)
		}
	})
}

func TestDispatcherBacksOffWhenAllSubjectsFail(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	for i := range maxBlocked + 10 {
		emit(t, d, fmt.Sprint("rsv_", i), 1)
	}
	refused := errors.New("refused")
	x := NewDispatcher(d, quiet, DispatcherOptions{MinBackoff: time.Hour, MaxBackoff: time.Hour},
		Subscriber{Name: "no", Deliver: func(context.Context, []*ent.Event) error { return refused }})
	x.blocked = make(map[string]backoff)
	if err := x.deliverAll(t.Context()); err == nil {
		t.Error("drain ended well")
	}
	if wait := x.nextWait(time.Now()); wait > 10*time.Second || wait < time.Second {
		t.Errorf("looks again after %v, want the sweep", wait)
	}
}

// The database fails while a subject is in backoff: when the backoff ends, there is always something to retry.
func TestDispatcherBacksOffWithoutDatabase(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	emit(t, d, "rsv_a", 1)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var complaints lines
		x := NewDispatcher(d, slog.New(slog.NewTextHandler(&complaints, &slog.HandlerOptions{Level: slog.LevelError})), DispatcherOptions{},
			Subscriber{Name: "no", Deliver: func(context.Context, []*ent.Event) error { return errors.Join(errors.New("refused"), d.Close()) }})
		if err := x.Run(ctx); err != nil {
			t.Error(err)
		}
		if complaints < 12 || complaints > 25 {
			t.Errorf("complained %d times in a minute, want some 17: after 100 ms, 200 ms and so on up to 5 s", complaints)
		}
	})
}

// lines counts what is written to it.
type lines int

func (n *lines) Write(b []byte) (int, error) {
	*n++
	return len(b), nil
}

func TestSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var often, seldom int
		go runSweeps(ctx, quiet, []Sweep{
			{Name: "often", Every: time.Minute, Run: func(context.Context) error { often++; return errors.New("again") }},
			{Name: "seldom", Every: time.Hour, Run: func(context.Context) error { seldom++; return nil }},
		})
		time.Sleep(100 * time.Minute)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if often < 90 || often > 112 || seldom != 2 {
			t.Errorf("ran %d and %d times in 100 minutes, want about 100 and 2", often, seldom)
		}
	})
}

func TestExpireIdempotencyKeys(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		write(t, d, func(tx *db.Tx) error {
			for i := range sweepBatch + 20 {
				due := tx.Now().Add(-time.Second)
				if i%100 == 0 {
					due = tx.Now().Add(time.Hour)
				}
				err := tx.Idempotency.Create().SetHolder("int_one").SetMethod("m").SetKey(fmt.Sprint(i)).SetRequestHash([]byte{1}).
					SetAnswer([]byte{1}).SetExpiresAt(due).Exec(tx.Context())
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err := inBatches(t.Context(), d, sweepBatch, deleteExpiredAnswers); err != nil {
			t.Fatal(err)
		}
		if n := d.Read().Idempotency.Query().CountX(t.Context()); n != 6 {
			t.Errorf("%d keys left, want the 6 whose time is not over", n)
		}
	})
}

func TestPostgresLease(t *testing.T) {
	url := dbtest.URL(t, "postgres")
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	lease := PostgresLease{DB: d, Name: "dispatcher", Log: quiet, Check: 5 * time.Millisecond}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	free := func() (free bool) {
		const try = "SELECT pg_try_advisory_xact_lock(hashtextextended('dispatcher', 0))"
		if err := conn.QueryRow(t.Context(), try).Scan(&free); err != nil {
			t.Fatal(err)
		}
		return free
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	held, lost := make(chan int, 100), make(chan int, 100)
	for i := range 2 {
		all.Go(func() {
			err := lease.Hold(ctx, func(ctx context.Context) error {
				held <- i
				<-ctx.Done()
				lost <- i
				return nil
			})
			if err != nil {
				t.Errorf("Hold: %v", err)
			}
		})
	}
	first := <-held
	if free() {
		t.Error("held, and free for others")
	}
	if _, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"); err != nil {
		t.Fatal(err)
	}
	if who := <-lost; who != first {
		t.Errorf("%d lost what %d held", who, first)
	}
	<-held // the first holder
	if free() {
		t.Error("held again, and free for others")
	}
	cancel()
	all.Wait()
	if !free() {
		t.Error("not free after its holder has stopped")
	}
}

func TestAloneHoldsAtOnce(t *testing.T) {
	want := errors.New("done")
	if err := (Alone{}).Hold(t.Context(), func(context.Context) error { return want }); !errors.Is(err, want) {
		t.Error(err)
	}
}
