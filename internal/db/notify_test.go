package db_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestNotifyFollowsTheCommitOncePerKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		notified := subscribe(d)
		d.Subscribe(changed, func(key string) {
			if !slices.Contains(stored(t, d), key) {
				t.Errorf("notified of %s before the commit", key)
			}
		})
		d.Subscribe("test.other", func(key string) { t.Errorf("the subscriber of another topic is notified of %s", key) })
		mustWrite(t, d, func(tx *db.Tx) error {
			for _, key := range []string{"b", "a", "b", "a"} {
				tx.Notify(changed, key)
			}
			if got := notified(); got != nil {
				t.Errorf("notified of %v by a running change", got)
			}
			return errors.Join(put("a")(tx), put("b")(tx))
		})
		mustWrite(t, d, func(tx *db.Tx) error { tx.Notify(changed, "a"); return nil })
		if got := notified(); !slices.Equal(got, []string{"b", "a", "a"}) {
			t.Errorf("notified of %v", got)
		}
	})
}

// A change that runs again notifies of what its last run did, and of nothing that an earlier run did.
func TestOnlyTheStoredRunNotifies(t *testing.T) {
	run := func(runs *int, fail string) func(*db.Tx) error {
		return func(tx *db.Tx) error {
			*runs++
			tx.Notify(changed, strconv.Itoa(*runs))
			if err := put("a")(tx); err != nil || fail == "" || *runs > 1 {
				return err
			}
			_, err := tx.ExecContext(tx.Context(), fail)
			return err
		}
	}
	t.Run("sqlite, the shared transaction is lost", func(t *testing.T) {
		d, runs := dbtest.Open(t, "sqlite"), 0
		mustWrite(t, d, put("taken"))
		notified := subscribe(d)
		errs := together(t, d, run(&runs, ""), func(tx *db.Tx) error {
			tx.Notify(changed, "culprit")
			_, err := tx.ExecContext(tx.Context(), "INSERT OR ROLLBACK INTO secrets (id, sealed, created_at) VALUES ('taken', x'00', '2026-01-01')")
			return err
		})
		if got := notified(); errs[0] != nil || errs[1] == nil || runs < 2 || !slices.Equal(got, []string{strconv.Itoa(runs)}) {
			t.Errorf("errors %v, %d runs, notified of %v", errs, runs, got)
		}
	})
	t.Run("postgres, a conflict", func(t *testing.T) {
		d, runs := dbtest.Open(t, "postgres"), 0
		notified := subscribe(d)
		mustWrite(t, d, run(&runs, "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$"))
		if got := notified(); runs != 2 || !slices.Equal(got, []string{"2"}) {
			t.Errorf("%d runs, notified of %v", runs, got)
		}
	})
}

func TestCancelledCallersNotifyOfWhatIsStored(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		notified := subscribe(d)
		ctx, cancel := context.WithCancel(t.Context())
		change := func(tx *db.Tx) error {
			cancel()
			tx.Notify(changed, "a")
			return put("a")(tx)
		}
		if err := d.Write(ctx, change); err != nil {
			t.Error(err)
		}
		if err := d.Write(ctx, change); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v", err)
		}
		if got := notified(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("notified of %v", got)
		}
	})
}
