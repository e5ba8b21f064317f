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

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

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

func TestSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var often, seldom int
		go runSweeps(ctx, nil, quiet, []Sweep{
			{Name: "often", Every: time.Minute, Run: func(context.Context, *db.DB) error { often++; return errors.New("again") }},
			{Name: "seldom", Every: time.Hour, Run: func(context.Context, *db.DB) error { seldom++; return nil }},
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
		if n := d.View(t.Context()).Idempotency.Query().CountX(t.Context()); n != 6 {
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
			err := lease.Hold(ctx, func(ctx context.Context, _ *db.DB) error {
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
	if err := (Alone{}).Hold(t.Context(), func(context.Context, *db.DB) error { return want }); !errors.Is(err, want) {
		t.Error(err)
	}
}

func TestOneWrongClockTakesItsNodeOutAndManyRaiseAnAlarm(t *testing.T) {
	const limit = 2 * time.Second
	right, wrong := 100*time.Millisecond, 5*time.Minute
	for _, c := range []struct {
		what   string
		ahead  time.Duration
		others []time.Duration
		want   string
	}{
		{"alone and right", right, nil, ""},
		{"at the limit", limit, []time.Duration{right}, ""},
		{"right among wrong ones", right, []time.Duration{wrong, -wrong}, ""},
		{"ahead, the others are right", wrong, []time.Duration{right, -right}, "unready"},
		{"behind, one other is right", -wrong, []time.Duration{right, wrong}, "unready"},
		{"all are wrong", wrong, []time.Duration{wrong, -wrong}, "degraded"},
		{"alone and wrong", -wrong, nil, "degraded"},
	} {
		v := judgeClock(c.ahead, limit, c.others)
		got := ""
		switch {
		case v.Unready != "" && v.Degraded == "":
			got = "unready"
		case v.Unready == "" && v.Degraded != "":
			got = "degraded"
		case v != ClockVerdict{}:
			got = "both"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
