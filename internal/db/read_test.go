package db_test

import (
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
