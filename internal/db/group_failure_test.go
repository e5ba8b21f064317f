package db_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestFailedChangeIsRolledBackAlone(t *testing.T) {
	wrong := errors.New("wrong")
	for name, fails := range map[string]func(tx *db.Tx) error{
		"with ent": func(tx *db.Tx) error { return errors.Join(put("lost")(tx), wrong) },
		"with words of its own": func(tx *db.Tx) error {
			found, err := tx.ReadOne("INSERT INTO secrets (id, sealed, created_at) VALUES ('lost', x'00', '2026-01-01') RETURNING id", nil, new(string))
			if !found {
				t.Errorf("nothing was stored: %v", err)
			}
			return errors.Join(err, wrong)
		},
		"past ent": func(tx *db.Tx) error {
			_, err := tx.SQL().Exec("INSERT INTO secrets (id, sealed, created_at) VALUES ('lost', x'00', '2026-01-01')")
			return errors.Join(err, wrong)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := dbtest.Open(t, "sqlite")
			runs, notified := map[string]int{}, subscribe(d)
			counted := func(id string, then func(*db.Tx) error) func(*db.Tx) error {
				return func(tx *db.Tx) error {
					runs[id]++
					tx.Notify(changed, id)
					return then(tx)
				}
			}
			errs := together(t, d, counted("a", put("a")), counted("fails", fails), counted("b", put("b")), counted("again", put("a")))
			if errs[0] != nil || !errors.Is(errs[1], wrong) || errs[2] != nil || errs[3] == nil {
				t.Errorf("errors %v", errs)
			}
			if diff := cmp.Diff([]string{"a", "b"}, stored(t, d)); diff != "" {
				t.Error(diff)
			}
			// b ran after the first failure, within a savepoint, so its own failure makes no other change run again.
			if diff := cmp.Diff(map[string]int{"a": 2, "fails": 2, "b": 1, "again": 1}, runs); diff != "" {
				t.Errorf("runs: %s", diff)
			}
			if diff := cmp.Diff([]string{"a", "b"}, slices.Sorted(slices.Values(notified()))); diff != "" {
				t.Errorf("notified: %s", diff)
			}
		})
	}
}

func TestChangeThatFailsBeforeItWritesCausesNoRerun(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	wrong, runs := errors.New("wrong"), 0
	counted := func(id string) func(*db.Tx) error {
		return func(tx *db.Tx) error {
			runs++
			return put(id)(tx)
		}
	}
	errs := together(t, d, counted("a"), func(*db.Tx) error { return wrong }, counted("b"))
	if errs[0] != nil || !errors.Is(errs[1], wrong) || errs[2] != nil || runs != 2 {
		t.Errorf("errors %v after %d runs", errs, runs)
	}
	if diff := cmp.Diff([]string{"a", "b"}, stored(t, d)); diff != "" {
		t.Error(diff)
	}
}

// A client belongs to one change, whatever the context of the query is.
func TestQueryRunsInTheChangeOfItsClient(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var left *db.Tx
		rolledBack := errors.New("rolled back")
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			left = tx
			return errors.Join(tx.Secret.Create().SetID("lost").SetSealed([]byte("x")).Exec(context.Background()), rolledBack)
		})
		if !errors.Is(err, rolledBack) {
			t.Error(err)
		}
		mustWrite(t, d, func(tx *db.Tx) error {
			if left.Secret.Create().SetID("left").SetSealed([]byte("x")).Exec(tx.Context()) == nil {
				t.Error("a query ran in a change that is over")
			}
			if tx.Secret.Create().SetID("ended").SetSealed([]byte("x")).Exec(left.Context()) == nil {
				t.Error("a query ran under a context that is over")
			}
			return put("b")(tx)
		})
		if diff := cmp.Diff([]string{"b"}, stored(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

// A statement after the deadline is refused before it begins: an interrupted statement would also roll back other changes.
func TestNoStatementBeginsAfterTheDeadline(t *testing.T) {
	d := openWithShortTimeout(t)
	runs := 0
	errs := together(t, d, func(tx *db.Tx) error {
		runs++
		return put("a")(tx)
	}, func(tx *db.Tx) error {
		<-tx.Context().Done()
		return put("late")(tx)
	}, put("b"))
	if errs[0] != nil || !errors.Is(errs[1], context.DeadlineExceeded) || errs[2] != nil || runs != 1 {
		t.Errorf("errors %v after %d runs of the first", errs, runs)
	}
	if diff := cmp.Diff([]string{"a", "b"}, stored(t, d)); diff != "" {
		t.Error(diff)
	}
}

func TestCloseTwice(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}

// After a rollback by the database, a statement would be stored as a transaction of its own.
func TestNoSavepointAfterARollback(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		if _, err := tx.SQL().Exec("ROLLBACK"); err != nil {
			return err
		}
		if tx.Savepoint(func() error { return put("lost")(tx) }) == nil {
			t.Error("a part ran")
		}
		return nil
	})
	if err == nil || len(stored(t, d)) != 0 {
		t.Errorf("%v, stored %v", err, stored(t, d))
	}
}

// Whichever way the writer runs a closure that does not return, its caller leaves in the same way, and the other changes are stored.
func TestClosureThatDoesNotReturn(t *testing.T) {
	fails := func(tx *db.Tx) error { return errors.Join(put("never")(tx), errors.New("fails after it has written")) }
	failsAtCommit := func(tx *db.Tx) error {
		_, err := tx.SQL().Exec(`INSERT INTO child VALUES (42)`)
		return err
	}
	for name, c := range map[string]struct {
		run    int // the run of the closure that does not return
		other  func(*db.Tx) error
		stored []string
	}{
		"in a shared transaction": {1, put("a"), []string{"a", "kept", "next"}},
		"in a savepoint":          {2, fails, []string{"kept", "next"}},
		"in its own transaction":  {2, failsAtCommit, []string{"kept", "next"}},
	} {
		for how, leave := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
			t.Run(how+" "+name, func(t *testing.T) {
				d := dbtest.Open(t, "sqlite")
				mustWrite(t, d, func(tx *db.Tx) error {
					_, err := tx.SQL().Exec(`CREATE TABLE parent (n integer PRIMARY KEY);
						CREATE TABLE child (n integer REFERENCES parent (n) DEFERRABLE INITIALLY DEFERRED)`)
					return err
				})
				db.ShareSlowCommits(d)
				release := hold(t, d)
				var callers sync.WaitGroup
				var left any
				callers.Go(func() {
					defer func() { left = recover() }()
					runs := 0
					err := d.Write(context.Background(), func(tx *db.Tx) error {
						if err := put("lost")(tx); err != nil {
							return err
						}
						if runs++; runs == c.run {
							leave()
						}
						return nil
					})
					t.Errorf("Write returned %v", err)
				})
				awaitQueued(d, 1)
				callers.Go(func() { _ = d.Write(context.Background(), c.other) })
				awaitQueued(d, 2)
				var err error
				callers.Go(func() { err = d.Write(context.Background(), put("kept")) })
				awaitQueued(d, 3)
				release()
				callers.Wait()
				if panics := how == "panic"; panics != (left == "boom") {
					t.Errorf("the caller left with %v", left)
				}
				if err != nil {
					t.Error(err)
				}
				mustWrite(t, d, put("next"))
				if diff := cmp.Diff(c.stored, stored(t, d)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}
