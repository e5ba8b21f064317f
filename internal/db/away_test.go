package db_test

import (
	"errors"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/db/pgtemp"
	"latchkey.dev/internal/fault"
)

// Whoever calls while PostgreSQL is away is told that, and when to come again: it is no defect of ours.
func TestPostgresIsAway(t *testing.T) {
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
	_, read := d.Read().Property.Query().Count(t.Context())
	for name, err := range map[string]error{"a change under way": inside, "a read": read, "a change": d.Write(t.Context(), put("b"))} {
		if f, ok := fault.Of(err); !ok || f.Kind != fault.Unavailable || f.RetryAfter <= 0 || errors.Unwrap(f) == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
