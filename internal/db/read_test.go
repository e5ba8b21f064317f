package db_test

import (
	"strings"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestReadOne(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		mustWrite(t, d, put("a"))
		for name, c := range map[string]struct {
			statement, id string
			found, fails  bool
		}{
			"a row":         {"SELECT id FROM secrets WHERE id = $1", "a", true, false},
			"no row":        {"SELECT id FROM secrets WHERE id = $1", "b", false, false},
			"no such table": {"SELECT id FROM nowhere WHERE id = $1", "a", false, true},
			"another type":  {"SELECT sealed FROM secrets WHERE id = $1", "a", true, true},
		} {
			t.Run(name, func(t *testing.T) {
				var id string
				into := any(&id)
				if name == "another type" {
					into = new(int)
				}
				found, err := d.View(t.Context()).ReadOne(c.statement, []any{c.id}, into)
				if found != c.found || (err != nil) != c.fails {
					t.Errorf("found %v, %v", found, err)
				}
				if want := map[bool]string{true: c.id}[c.found && !c.fails]; id != want {
					t.Errorf("read %q, want %q", id, want)
				}
			})
		}
	})
}

// A change cannot hide in a common table expression, which PostgreSQL would run.
func TestViewRefusesAChangeInAnExpression(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for statement, allowed := range map[string]bool{
			"WITH few AS (SELECT id, updated_at FROM reservations) SELECT count(*) FROM few":            true,
			"WITH gone AS (DELETE FROM secrets RETURNING id) SELECT count(*) FROM gone":                 false,
			"with put as (insert into secrets (id) values ('a') returning id) select count(*) from put": false,
			"WITH changed AS (\nUPDATE secrets SET id = 'b' RETURNING id) SELECT count(*) FROM changed": false,
		} {
			_, err := d.View(t.Context()).ReadOne(statement, nil, new(int))
			if refused := err != nil && strings.Contains(err.Error(), "a View changes nothing"); refused == allowed {
				t.Errorf("%s: %v", statement, err)
			}
		}
	})
}

func TestDescribe(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		i, err := d.Describe(t.Context())
		if err != nil || i.Version == "" || i.Bytes < 100_000 || i.Migration == "" {
			t.Errorf("the database is %+v, %v", i, err)
		}
	})
}
