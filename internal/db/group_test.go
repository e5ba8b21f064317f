package db_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/dbtest"
)

// together runs writes so that they share one commit, and returns their errors.
func together(t *testing.T, d *db.DB, fns ...func(*db.Tx) error) []error {
	t.Helper()
	db.ShareSlowCommits(d)
	release := hold(t, d)
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	for i, fn := range fns {
		wg.Go(func() { errs[i] = d.Write(context.Background(), fn) })
		awaitQueued(d, i+1)
	}
	release()
	wg.Wait()
	return errs
}

// putAndRecord returns a closure that puts id and records in seen which transaction it ran in.
func putAndRecord(id string, seen *sync.Map) func(*db.Tx) error {
	return func(tx *db.Tx) error {
		seen.Store(id, tx.SQL())
		return put(id)(tx)
	}
}

func TestWaitingCallersShareACommit(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	var seen sync.Map
	for _, err := range together(t, d, putAndRecord("a", &seen), putAndRecord("b", &seen), putAndRecord("c", &seen)) {
		if err != nil {
			t.Error(err)
		}
	}
	a, _ := seen.Load("a")
	c, _ := seen.Load("c")
	if a == nil || a != c {
		t.Error("callers that waited together did not share a transaction")
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, stored(t, d)); diff != "" {
		t.Error(diff)
	}
}

func TestLostTransactionIsRerunSingly(t *testing.T) {
	lose := map[string]func(*db.Tx) error{
		"the closure ends the transaction": func(tx *db.Tx) error {
			_, err := tx.SQL().Exec("ROLLBACK")
			return err
		},
		"the commit fails": func(tx *db.Tx) error {
			_, err := tx.SQL().Exec(`INSERT INTO child VALUES (42)`)
			return err
		},
		"a write is interrupted": func(tx *db.Tx) error {
			_, err := tx.SQL().ExecContext(tx.Context(), `INSERT INTO parent
				WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r WHERE n < 1000000000) SELECT n FROM r`)
			return err
		},
	}
	for name, culprit := range lose {
		t.Run(name, func(t *testing.T) {
			d := openWithShortTimeout(t)
			mustWrite(t, d, func(tx *db.Tx) error {
				_, err := tx.SQL().Exec(`CREATE TABLE parent (n integer PRIMARY KEY);
					CREATE TABLE child (n integer REFERENCES parent (n) DEFERRABLE INITIALLY DEFERRED)`)
				return err
			})
			notified := subscribe(d)
			counted := func(id string) func(*db.Tx) error {
				return func(tx *db.Tx) error {
					tx.Notify(changed, id)
					return put(id)(tx)
				}
			}
			errs := together(t, d, counted("a"), culprit, counted("b"), put("b"))
			if errs[0] != nil || errs[2] != nil {
				t.Errorf("innocent changes failed: %v, %v", errs[0], errs[2])
			}
			if errs[1] == nil {
				t.Error("the caller whose change failed got no error")
			}
			if errs[3] == nil {
				t.Error("a duplicate was stored")
			}
			if diff := cmp.Diff([]string{"a", "b"}, stored(t, d)); diff != "" {
				t.Error(diff)
			}
			if got := len(notified()); got != 2 {
				t.Errorf("notified %d times, want once for each stored change", got)
			}
		})
	}
}

func TestNothingIsStoredAfterSQLiteRolledBack(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	full := func(tx *db.Tx) error { // goes on although the disk is full
		if err := put("before")(tx); err != nil {
			return err
		}
		var pages int
		if err := tx.SQL().QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
			return err
		}
		if _, err := tx.SQL().Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			return err
		}
		err := tx.Secret.Create().SetID("large").SetSealed(make([]byte, 1<<20)).Exec(tx.Context())
		if err == nil {
			t.Error("the disk was not full")
		}
		if _, err := tx.SQL().Exec("PRAGMA max_page_count = 1073741823"); err != nil {
			return err
		}
		if put("after")(tx) == nil {
			t.Error("a statement ran outside its transaction")
		}
		return nil
	}
	errs := together(t, d, put("a"), full, put("b"))
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("innocent changes failed: %v, %v", errs[0], errs[2])
	}
	if errs[1] == nil {
		t.Error("the lost change was acknowledged")
	}
	if diff := cmp.Diff([]string{"a", "b"}, stored(t, d)); diff != "" {
		t.Error(diff)
	}
}

// The first change of a commit has no savepoint that would reveal that SQLite rolled back the transaction.
func TestFirstChangeThatHidesARollbackIsNotStored(t *testing.T) {
	for name, lose := range map[string]func(*db.Tx) error{
		"a statement rolls back by itself": func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), `INSERT OR ROLLBACK INTO parent VALUES (1)`)
			return err
		},
		"a statement that ent does not see rolls back by itself": func(tx *db.Tx) error {
			_, err := tx.SQL().Exec(`INSERT OR ROLLBACK INTO parent VALUES (1)`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := openWithShortTimeout(t)
			mustWrite(t, d, func(tx *db.Tx) error {
				_, err := tx.SQL().Exec(`CREATE TABLE parent (n integer PRIMARY KEY); CREATE TABLE twice (n integer); INSERT INTO parent VALUES (1)`)
				return err
			})
			var wg sync.WaitGroup
			running, free := make(chan struct{}), make(chan struct{})
			runs := 0
			var hidden, next error
			wg.Go(func() {
				hidden = d.Write(context.Background(), func(tx *db.Tx) error {
					if runs++; runs == 1 {
						close(running)
					}
					<-free
					if err := put("before")(tx); err != nil {
						return err
					}
					if lose(tx) == nil {
						t.Error("nothing was lost")
					}
					if put("after")(tx) == nil {
						t.Error("a statement ran outside its transaction")
					}
					return nil
				})
			})
			<-running
			wg.Go(func() {
				next = d.Write(context.Background(), func(tx *db.Tx) error {
					_, err := tx.ExecContext(tx.Context(), `INSERT INTO twice VALUES (1)`)
					return err
				})
			})
			awaitQueued(d, 1)
			close(free)
			wg.Wait()
			if hidden == nil || runs != 1 {
				t.Errorf("the change that hid the loss: %v after %d runs, want an error after one", hidden, runs)
			}
			if got := stored(t, d); len(got) != 0 {
				t.Errorf("stored %v of it", got)
			}
			mustWrite(t, d, func(tx *db.Tx) error {
				var rows int
				err := tx.SQL().QueryRow(`SELECT count(*) FROM twice`).Scan(&rows)
				if next != nil || rows != 1 {
					t.Errorf("the next change: %v, stored %d times, want once", next, rows)
				}
				return err
			})
		})
	}
}

func TestPanicAndGoexitInASharedCommit(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	release := hold(t, d)
	var wg sync.WaitGroup
	leave := func(how func()) {
		wg.Go(func() {
			defer func() { _ = recover() }()
			_ = d.Write(context.Background(), func(tx *db.Tx) error {
				if err := put("lost")(tx); err != nil {
					return err
				}
				how()
				return nil
			})
		})
	}
	leave(func() { panic("boom") })
	awaitQueued(d, 1)
	leave(runtime.Goexit)
	awaitQueued(d, 2)
	var err error
	wg.Go(func() { err = d.Write(context.Background(), put("kept")) })
	awaitQueued(d, 3)
	release()
	wg.Wait()
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"kept"}, stored(t, d)); diff != "" {
		t.Error(diff)
	}
}

func TestCancelledCallerLeavesTheQueue(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	release := hold(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		left <- d.Write(ctx, func(*db.Tx) error { t.Error("ran although its caller had left"); return nil })
	}()
	awaitQueued(d, 1)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	release()
	mustWrite(t, d, put("next"))
}

func TestQueueIsBounded(t *testing.T) {
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(t, "sqlite"), QueueSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	release := hold(t, d)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			if err := d.Write(context.Background(), put(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	awaitQueued(d, 2)
	err = d.Write(t.Context(), put("one too many"))
	if f, ok := fault.Of(err); !ok || f.Kind != fault.Unavailable || f.RetryAfter == 0 {
		t.Errorf("error = %v, want unavailable with a time to retry", err)
	}
	release()
	wg.Wait()
}

func TestCloseStoresQueuedChanges(t *testing.T) {
	url := dbtest.URL(t, "sqlite")
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, d)
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			if err := d.Write(context.Background(), put(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	awaitQueued(d, 5)
	closed := make(chan error)
	go func() { closed <- d.Close() }()
	release()
	wg.Wait()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	again, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := stored(t, again); len(got) != 5 {
		t.Errorf("stored %v, want all five", got)
	}
}

func TestBackupIsACompleteCopy(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	mustWrite(t, d, put("a"))
	dir := t.TempDir()
	path := dir + "/copy.db"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	// A change runs at the same time, and neither waits for the other.
	mustWrite(t, d, func(tx *db.Tx) error { return errors.Join(put("b")(tx), d.Backup(ctx, path)) })
	if d.Backup(t.Context(), path) == nil {
		t.Error("a backup overwrote a file")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", st, err)
	}
	copied, err := db.Open(t.Context(), db.Config{URL: "sqlite:" + path})
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if diff := cmp.Diff([]string{"a"}, stored(t, copied)); diff != "" {
		t.Error(diff)
	}
}

func TestBackupDoesNotReplaceANewFile(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	mustWrite(t, d, put("a"))
	dir := t.TempDir()
	var wg sync.WaitGroup
	var made atomic.Int32
	for range 4 {
		wg.Go(func() {
			if d.Backup(t.Context(), dir+"/copy.db") == nil {
				made.Add(1)
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(dir); made.Load() != 1 || err != nil || len(left) != 1 {
		t.Errorf("%d backups got one name, left %v, %v", made.Load(), left, err)
	}
}
