package db_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// cachedSecrets caches the secrets of a database and counts how often they are read.
type cachedSecrets struct {
	t     *testing.T
	d     *db.DB
	reads int
}

type shelfKey struct{ name string }

// list lists the secrets within a change, from the cache where possible.
func (s *cachedSecrets) list(tx *db.Tx) string {
	s.t.Helper()
	ids, err := db.Cached(tx, []string{"secrets"}, shelfKey{"all"}, func() (string, error) {
		s.reads++
		ids, err := tx.Secret.Query().Order().IDs(tx.Context())
		return strings.Join(ids, " "), err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return ids
}

// expect checks, within a change of its own, which secrets exist and how often they were read since the last list.
func (s *cachedSecrets) expect(step, want string, reads int) {
	s.t.Helper()
	before := s.reads
	err := s.d.Write(s.t.Context(), func(tx *db.Tx) error {
		if got := s.list(tx); got != want {
			s.t.Errorf("%s: %q, want %q", step, got, want)
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if !s.d.SQLite() {
		reads = 1 // always
	}
	if got := s.reads - before; got != reads {
		s.t.Errorf("%s: read %d times, want %d", step, got, reads)
	}
}

var errChanged = errors.New("changed its mind")

func TestCached(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := &cachedSecrets{t: t, d: d}
		write := func(fn func(tx *db.Tx) error, want error) {
			t.Helper()
			if err := d.Write(t.Context(), fn); !errors.Is(err, want) {
				t.Fatal(err)
			}
		}
		s.expect("nothing", "", 1)
		s.expect("again", "", 0)
		write(put("a"), nil)
		s.expect("one was added", "a", 1)
		s.expect("again", "a", 0)
		write(func(tx *db.Tx) error {
			return tx.Property.Create().SetID("prp_1").SetName("P").SetTimeZone("Europe/Lisbon").Exec(tx.Context())
		}, nil)
		s.expect("another table changed", "a", 0)
		write(func(tx *db.Tx) error {
			if err := put("b")(tx); err != nil {
				return err
			}
			if got := s.list(tx); got != "a b" {
				t.Errorf("within the change: %q", got)
			}
			return errChanged
		}, errChanged)
		s.expect("a change was undone after it was read", "a", 1)
		write(func(tx *db.Tx) error {
			err := tx.Savepoint(func() error {
				if err := put("c")(tx); err != nil {
					return err
				}
				s.list(tx)
				return errChanged
			})
			if got := s.list(tx); !errors.Is(err, errChanged) || got != "a" {
				t.Errorf("after a part was undone: %q, %v", got, err)
			}
			return nil
		}, nil)
		s.expect("a part was undone after it was read", "a", 0)
		write(func(tx *db.Tx) error { return tx.Secret.DeleteOneID("a").Exec(tx.Context()) }, nil)
		s.expect("one was deleted", "", 1)
		if view := d.View(t.Context()); s.list(view) != "" {
			t.Error("a view sees something else")
		}
	})
}

// Another process may change an SQLite database too.
func TestCachedDetectsOtherProcesses(t *testing.T) {
	url := dbtest.URL(t, "sqlite")
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	s := &cachedSecrets{t: t, d: d}
	s.expect("nothing", "", 1)
	other, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(url, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "INSERT INTO secrets (id, sealed, created_at) VALUES ('theirs', x'00', '2026-01-01 00:00:00')"); err != nil {
		t.Fatal(err)
	}
	s.expect("another process wrote", "theirs", 1)
	s.expect("again", "theirs", 0)
}

// A rollback by SQLite itself clears the cache too.
func TestCachedForgetsRolledBackTransactions(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	s := &cachedSecrets{t: t, d: d}
	s.expect("nothing", "", 1)
	errs := together(t, d,
		func(tx *db.Tx) error {
			if err := put("innocent")(tx); err != nil {
				return err
			}
			s.list(tx)
			return nil
		},
		func(tx *db.Tx) error {
			s.list(tx)
			_, err := tx.SQL().Exec("ROLLBACK") // as SQLite does when the disk fails
			return errors.Join(err, errChanged)
		})
	if errs[0] != nil || !errors.Is(errs[1], errChanged) {
		t.Fatal(errs)
	}
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		stored, err := tx.Secret.Query().IDs(tx.Context())
		if got, want := s.list(tx), strings.Join(stored, " "); got != want {
			t.Errorf("remembered %q, stored are %q", got, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
