package db_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/pgtemp"
)

// wantUnavailable fails unless err tells the caller to retry, keeps its cause for the log, and contains words in its message.
func wantUnavailable(t *testing.T, what string, err error, words string) {
	t.Helper()
	f, ok := fault.Of(err)
	if !ok || f.Kind != fault.Unavailable || f.RetryAfter <= 0 || errors.Unwrap(f) == nil || !strings.Contains(f.Message, words) {
		t.Errorf("%s: %v; want it unavailable with a time to retry and %q", what, err, words)
	}
}

func TestPostgresIsUnreachable(t *testing.T) {
	cluster, err := pgtemp.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := db.Open(t.Context(), db.Config{URL: cluster.URL("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, d, put("a"))
	inside := d.Write(t.Context(), func(tx *db.Tx) error {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
		_, err := tx.Property.Query().Count(tx.Context())
		if err == nil {
			t.Error("a query of a change found the database")
		}
		return err
	})
	_, read := d.View(t.Context()).Property.Query().Count(t.Context())
	wantUnavailable(t, "a change under way", inside, "database")
	wantUnavailable(t, "a read", read, "cannot be reached")
	wantUnavailable(t, "a change", d.Write(t.Context(), put("b")), "cannot be reached")
}

// openWith opens a migrated PostgreSQL database with settings for its sessions.
func openWith(t *testing.T, settings ...string) *db.DB {
	t.Helper()
	u, err := url.Parse(dbtest.URL(t, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for i := 0; i < len(settings); i += 2 {
		q.Set(settings[i], settings[i+1])
	}
	u.RawQuery = q.Encode()
	d, err := db.Open(t.Context(), db.Config{URL: u.String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// run executes a statement as a change.
func run(d *db.DB, ctx context.Context, statement string) error {
	return d.Write(ctx, func(tx *db.Tx) error {
		_, err := tx.ExecContext(tx.Context(), statement)
		return err
	})
}

func TestPostgresStatementTimeout(t *testing.T) {
	d := openWith(t, "statement_timeout", "500")
	wantUnavailable(t, "a change", run(d, t.Context(), "SELECT pg_sleep(30)"), "too long")
	_, err := d.View(t.Context()).QueryContext(t.Context(), "SELECT pg_sleep(30)")
	wantUnavailable(t, "a read", err, "too long")
	// The timeout comes after the first rows, so only the reader of the rows receives it.
	rows, err := d.View(t.Context()).QueryContext(t.Context(), "SELECT pg_sleep(CASE WHEN n < 3 THEN 0 ELSE 30 END) FROM generate_series(1, 3) AS n")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
	}
	wantUnavailable(t, "rows", db.Explain(rows.Err()), "too long")
	if err := d.Check(t.Context()); err != nil {
		t.Errorf("changes are stored, and the check says %v", err)
	}
}

// The change may be stored if its time is over before the server answers the commit.
func TestPostgresCommitWithoutAnAnswerInTime(t *testing.T) {
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(t, "postgres"), WriteTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	for _, statement := range []string{
		`CREATE FUNCTION dally() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(30); RETURN NULL; END'`,
		`CREATE CONSTRAINT TRIGGER dally AFTER INSERT ON secrets DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dally()`,
	} {
		if err := run(d, t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	notified := subscribe(d)
	err = d.Write(t.Context(), func(tx *db.Tx) error {
		if _, err := tx.ExecContext(tx.Context(), "SET LOCAL statement_timeout = 0"); err != nil {
			return err
		}
		tx.Notify(changed, "a")
		return put("a")(tx)
	})
	wantUnavailable(t, "a commit without an answer", err, "may be stored")
	if got := notified(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("notified of %v", got)
	}
}

func TestPostgresIsReadOnly(t *testing.T) {
	d := openWith(t, "default_transaction_read_only", "on")
	wantUnavailable(t, "a change", d.Write(t.Context(), put("a")), "read-only")
	if err := d.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("the check says %v", err)
	}
}

func TestPostgresFaults(t *testing.T) {
	d := dbtest.Open(t, "postgres")
	for code, words := range map[string]string{
		"53100": "no space left", "53300": "no more connections", "55P03": "too long", "57014": "too long", "57P03": "cannot be reached",
		"58030": "its files", "08006": "cannot be reached",
	} {
		wantUnavailable(t, code, run(d, t.Context(), "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '"+code+"'; END $$"), words)
	}
	if err := run(d, t.Context(), "SELECT 1/0"); err == nil {
		t.Error("a division by zero went well")
	} else if _, ok := fault.Of(err); ok {
		t.Errorf("a defect of a statement looks like trouble of the storage: %v", err)
	}
}

func TestPostgresHasTooManyConnections(t *testing.T) {
	d := dbtest.Open(t, "postgres")
	for _, s := range []string{"DROP ROLE IF EXISTS crowd", "CREATE ROLE crowd LOGIN CONNECTION LIMIT 0"} {
		if err := run(d, t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	u, err := url.Parse(db.URL(d))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User("crowd")
	_, err = db.Open(t.Context(), db.Config{URL: u.String()})
	wantUnavailable(t, "a connection", db.Explain(err), "no more connections")
}

// A full disk refuses changes but not reads, and changes work again when there is room.
func TestSQLiteOnAFullDisk(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	mustWrite(t, d, put("a"))
	db.FillDisk(t, d)
	fill := func(tx *db.Tx) error {
		return tx.Secret.Create().SetID("big").SetSealed(make([]byte, 1<<20)).Exec(tx.Context())
	}
	wantUnavailable(t, "a change", d.Write(t.Context(), fill), "no space left")
	for i, err := range together(t, d, fill, fill, fill) {
		if err == nil {
			t.Errorf("change %d of several went well", i)
			continue
		}
		wantUnavailable(t, "one of several changes", err, "no space left")
	}
	if ids := stored(t, d); len(ids) != 1 {
		t.Errorf("stored %v, want the first alone", ids)
	}
	if err := d.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("the check says %v", err)
	}
	db.MakeRoom(t, d)
	mustWrite(t, d, fill)
	db.ProbeNow(d)
	if err := d.Check(t.Context()); err != nil {
		t.Errorf("with room again the check says %v", err)
	}
}
