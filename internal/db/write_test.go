package db_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/dbtest"
)

func TestWriteStoresAllOrNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		notified := subscribe(d)
		mustWrite(t, d, func(tx *db.Tx) error {
			tx.Notify(changed, "a")
			return put("a")(tx)
		})
		wrong := errors.New("wrong")
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			tx.Notify(changed, "b")
			return errors.Join(put("b")(tx), put("c")(tx), wrong)
		})
		if !errors.Is(err, wrong) {
			t.Errorf("error = %v, want the closure's", err)
		}
		if diff := cmp.Diff([]string{"a"}, stored(t, d)); diff != "" {
			t.Error(diff)
		}
		if got := notified(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("notified of %v, want only of what was stored", got)
		}
	})
}

func TestWritersAreSerial(t *testing.T) {
	const writers, each = 16, 10
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		mustWrite(t, d, func(tx *db.Tx) error {
			return tx.Secret.Create().SetID("n").SetSealed(make([]byte, 8)).Exec(tx.Context())
		})
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range each {
					err := fault.New(fault.Aborted, "", "")
					for errors.Is(err, fault.New(fault.Aborted, "", "")) {
						e := d.Write(t.Context(), func(tx *db.Tx) error { return add(tx.Context(), tx, "n") })
						if e == nil {
							break
						}
						if !errors.As(e, &err) {
							t.Error(e)
							return
						}
					}
				}
			})
		}
		wg.Wait()
		s, err := d.View(t.Context()).Secret.Get(t.Context(), "n")
		if err != nil {
			t.Fatal(err)
		}
		if n := binary.BigEndian.Uint64(s.Sealed); n != writers*each {
			t.Errorf("counter = %d, want %d: a change was lost", n, writers*each)
		}
	})
}

func TestFailedChangeDoesNotAffectOthers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		mustWrite(t, d, put("taken"))
		const n = 40
		errs := make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				id := fmt.Sprintf("id%02d", i)
				if i%4 == 0 {
					id = "taken"
				}
				errs[i] = d.Write(t.Context(), put(id))
			})
		}
		wg.Wait()
		for i, err := range errs {
			if taken := i%4 == 0; taken != ent.IsConstraintError(err) || (!taken && err != nil) {
				t.Errorf("change %d: %v", i, err)
			}
		}
		if got := len(stored(t, d)); got != 1+n*3/4 {
			t.Errorf("%d rows, want %d", got, 1+n*3/4)
		}
	})
}

func TestPanicReachesOnlyItsCaller(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		func() {
			defer func() {
				if recover() != "boom" {
					t.Error("the panic did not reach its caller")
				}
			}()
			_ = d.Write(t.Context(), func(tx *db.Tx) error {
				if err := put("lost")(tx); err != nil {
					return err
				}
				panic("boom")
			})
		}()
		mustWrite(t, d, put("kept"))
		if diff := cmp.Diff([]string{"kept"}, stored(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestACancelledCallerWritesNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Write(ctx, put("a")); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v", err)
		}
		if got := stored(t, d); len(got) != 0 {
			t.Errorf("stored %v", got)
		}
	})
}

func TestCancellingAfterTheStartChangesNothing(t *testing.T) {
	type key struct{}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
		err := d.Write(ctx, func(tx *db.Tx) error {
			cancel()
			if tx.Context().Value(key{}) != "trace" {
				t.Error("the caller's values are lost")
			}
			if _, ok := tx.Context().Deadline(); !ok {
				t.Error("no deadline")
			}
			return put("a")(tx)
		})
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"a"}, stored(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMisuseIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var kept *db.Tx
		mustWrite(t, d, func(tx *db.Tx) error {
			kept = tx
			if d.Write(tx.Context(), put("nested")) == nil {
				t.Error("a Write inside a Write was accepted")
			}
			return put("a")(tx)
		})
		if kept.Secret.Create().SetID("late").SetSealed(nil).Exec(context.Background()) == nil {
			t.Error("a transaction was of use after its end")
		}
		if d.View(t.Context()).Secret.Create().SetID("read").SetSealed([]byte{1}).Exec(t.Context()) == nil {
			t.Error("View wrote")
		}
		if d.View(t.Context()).Secret.UpdateOneID("a").SetSealed([]byte{1}).Exec(t.Context()) == nil {
			t.Error("View changed")
		}
		if _, err := d.View(t.Context()).Secret.Delete().Exec(t.Context()); err == nil {
			t.Error("View deleted")
		}
		if diff := cmp.Diff([]string{"a"}, stored(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTimesAreUTCWithMicroseconds(t *testing.T) {
	zone := time.FixedZone("east", 9*3600)
	now := time.Date(2026, 11, 21, 3, 4, 5, 123456789, zone)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		want := now.UTC().Truncate(time.Microsecond)
		mustWrite(t, d, func(tx *db.Tx) error {
			if tx.Now() != want {
				t.Errorf("Now() = %v, want %v", tx.Now(), want)
			}
			return tx.Secret.Create().SetID("a").SetSealed([]byte{1}).SetCreatedAt(now).Exec(tx.Context())
		})
		got, err := d.View(t.Context()).Secret.Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if got.CreatedAt != want {
			t.Errorf("read back %v, want %v", got.CreatedAt, want)
		}
	}, dbtest.Clock(clock.At(now)))
}

func TestTimesOrderAcrossZones(t *testing.T) {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	west := time.FixedZone("west", -11*3600)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		offsets := []time.Duration{0, time.Microsecond, 100 * time.Millisecond, 110 * time.Millisecond, time.Second, time.Hour}
		for i, o := range offsets {
			at := base.Add(o)
			if i%2 == 1 {
				at = at.In(west)
			}
			mustWrite(t, d, func(tx *db.Tx) error {
				return tx.Secret.Create().SetID(fmt.Sprint(i)).SetSealed([]byte{1}).SetCreatedAt(at).Exec(tx.Context())
			})
		}
		ids, err := d.View(t.Context()).Secret.Query().Order(ent.Asc("created_at")).IDs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "5"}, ids); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCloseRefusesLaterChanges(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		d, err := db.Open(t.Context(), db.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.Write(t.Context(), put("a")); !errors.Is(err, db.ErrClosed) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestDeadlineEndsAStatement(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		d, err := db.Open(t.Context(), db.Config{URL: url, WriteTimeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		err = d.Write(t.Context(), func(tx *db.Tx) error {
			var n int
			return tx.SQL().QueryRowContext(tx.Context(),
				"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r WHERE n < 1000000000) SELECT count(*) FROM r").Scan(&n)
		})
		if err == nil {
			t.Fatal("an endless statement came to an end")
		}
		dbtest.TakeComputingErrors() // SQLite's computing is the closure's
		mustWrite(t, d, put("after"))
	})
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"sqlite:data/x.db":                     "sqlite:data/x.db",
		"postgres://u:secret@h/d":              "postgres://u:xxxxx@h/d",
		"postgres://u@h/d?password=s&sslmode=": "postgres://u@h/d?password=xxxxx&sslmode=",
	} {
		if got := db.Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

// A change past its deadline fails at its next statement.
func TestChangePastItsDeadlineFails(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		d, err := db.Open(t.Context(), db.Config{URL: url, WriteTimeout: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		err = d.Write(t.Context(), func(tx *db.Tx) error {
			<-tx.Context().Done()
			return tx.Secret.Create().SetID("late").SetSealed([]byte("late")).Exec(tx.Context())
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v", err)
		}
		if got := stored(t, d); len(got) != 0 {
			t.Errorf("stored %q", got)
		}
	})
}

// A change whose deadline passes before its commit, so that database/sql has rolled it back, fails like one that is slow in a statement.
func TestPostgresChangeIsRolledBackBeforeItsCommit(t *testing.T) {
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(t, "postgres"), WriteTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = d.Write(t.Context(), func(tx *db.Tx) error {
		<-tx.Context().Done()
		for {
			if _, err := tx.ExecContext(context.WithoutCancel(tx.Context()), "SELECT 1"); err != nil {
				return nil
			}
		}
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v", err)
	}
}

// A closure that computes between its statements blocks every other change, so it fails its test.
func TestClosuresThatComputeFail(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for name, change := range map[string]func(*db.Tx) error{
			"at the end":          func(tx *db.Tx) error { return errors.Join(put("end")(tx), computeTooLong()) },
			"before a statement":  func(tx *db.Tx) error { return errors.Join(computeTooLong(), put("before")(tx)) },
			"between two of them": func(tx *db.Tx) error { return errors.Join(put("one")(tx), computeTooLong(), put("two")(tx)) },
		} {
			if err := d.Write(t.Context(), change); !errors.Is(err, db.ErrComputes) {
				t.Errorf("%s: %v", name, err)
			}
			if late := dbtest.TakeComputingErrors(); len(late) != 1 {
				t.Errorf("%s: reported %v", name, late)
			}
		}
		mustWrite(t, d, put("short"))
		if got := stored(t, d); len(got) != 1 {
			t.Errorf("stored %q", got)
		}
	})
}

// computeTooLong uses more CPU time than a closure may.
func computeTooLong() error {
	for begun := db.ThreadTime(); db.ThreadTime()-begun <= dbtest.MaxComputing; {
	}
	return nil
}
