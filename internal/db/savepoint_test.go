package db_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestFailedSavepointKeepsTheRest(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		wrong := errors.New("wrong")
		notified := subscribe(d)
		tell := func(tx *db.Tx, id string) func() error {
			return func() error {
				tx.Notify(changed, id)
				return put(id)(tx)
			}
		}
		mustWrite(t, d, func(tx *db.Tx) error {
			if err := tx.Savepoint(tell(tx, "a")); err != nil {
				t.Error(err)
			}
			if err := tx.Savepoint(func() error { return errors.Join(tell(tx, "lost")(), wrong) }); !errors.Is(err, wrong) {
				t.Errorf("error = %v, want the part's own", err)
			}
			if err := tx.Savepoint(tell(tx, "a")); !ent.IsConstraintError(err) {
				t.Errorf("error = %v, want a duplicate", err)
			}
			return tx.Savepoint(tell(tx, "b"))
		})
		if diff := cmp.Diff([]string{"a", "b"}, stored(t, d)); diff != "" {
			t.Error(diff)
		}
		if got := notified(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("notified of %v", got)
		}
	})
}

func TestRollbackIncludesSavepoints(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		wrong := errors.New("wrong")
		notified := subscribe(d)
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			err := tx.Savepoint(func() error {
				tx.Notify(changed, "a")
				return put("a")(tx)
			})
			return errors.Join(err, wrong)
		})
		if !errors.Is(err, wrong) || len(stored(t, d)) != 0 || notified() != nil {
			t.Errorf("%v: stored %v, notified %v", err, stored(t, d), notified())
		}
	})
}

// A panic within a savepoint rolls back the whole change and reaches the caller; the database stays usable.
func TestPanicInSavepoint(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic did not reach the caller")
				}
			}()
			_ = d.Write(context.WithoutCancel(t.Context()), func(tx *db.Tx) error {
				if err := put("a")(tx); err != nil {
					return err
				}
				return tx.Savepoint(func() error { panic("in a part") })
			})
		}()
		mustWrite(t, d, put("b"))
		if diff := cmp.Diff([]string{"b"}, stored(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

// A change that isolates its parts must not take a conflict with another change for a fault of the part.
func TestConflictInSavepointRunsTheChangeAgain(t *testing.T) {
	d := dbtest.Open(t, "postgres")
	mustWrite(t, d, put("a"))
	runs := 0
	mustWrite(t, d, func(tx *db.Tx) error {
		if _, err := tx.Secret.Get(tx.Context(), "a"); err != nil {
			return err
		}
		if runs++; runs == 1 {
			if err := update(context.Background(), d, "other"); err != nil {
				return err
			}
		}
		err := tx.Savepoint(func() error { return tx.Secret.UpdateOneID("a").SetSealed([]byte("own")).Exec(tx.Context()) })
		if (err != nil) != (runs == 1) || (tx.Err() != nil) != (runs == 1) {
			t.Errorf("run %d: %v, then %v", runs, err, tx.Err())
		}
		return nil
	})
	if got := string(d.View(t.Context()).Secret.GetX(t.Context(), "a").Sealed); runs != 2 || got != "own" {
		t.Errorf("%d runs, stored %q", runs, got)
	}
}

// update changes the row "a" in a change of its own.
func update(ctx context.Context, d *db.DB, sealed string) error {
	return d.Write(ctx, func(tx *db.Tx) error { return tx.Secret.UpdateOneID("a").SetSealed([]byte(sealed)).Exec(tx.Context()) })
}
