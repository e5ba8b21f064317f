package db_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"entgo.io/ent/dialect/sql/schema"

	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// A statement that names the property and a column with an index of its own does not read all rows of the property.
func TestSQLiteReadsFewRowsOfAProperty(t *testing.T) {
	url := dbtest.Empty(t, "sqlite")
	for _, when := range []string{"after the migration", "after a restart"} {
		d, err := db.Open(t.Context(), db.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		// Each pool has read the schema before it changes.
		if err := d.Write(t.Context(), func(tx *db.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := d.View(t.Context()).ReadOne("SELECT count(*) FROM sqlite_schema", nil, new(int)); err != nil {
			t.Fatal(err)
		}
		if err := d.EnsureSchema(t.Context()); err != nil {
			t.Fatal(err)
		}
		checked := 0
		for _, table := range tables.Tables {
			if !slices.ContainsFunc(table.Columns, func(c *schema.Column) bool { return c.Name == "property_id" }) {
				continue
			}
			columns := []string{"id"}
			for _, i := range table.Indexes {
				if first := i.Columns[0].Name; i.Annotation == nil || i.Annotation.Where == "" || i.Annotation.Where == first+" IS NOT NULL" {
					columns = append(columns, first)
				}
			}
			for _, column := range columns {
				if column == "property_id" {
					continue
				}
				for _, condition := range []string{"= 'a'", "IN ('a', 'b', 'c', 'd')"} {
					query := fmt.Sprintf("SELECT * FROM %s WHERE property_id = 'p' AND %s %s", table.Name, column, condition)
					plan := planOf(t, d, query)
					if !strings.Contains(plan, column+"=?") {
						t.Errorf("%s: %s: %s", when, query, plan)
					}
					checked++
				}
			}
		}
		if checked < 50 {
			t.Errorf("%d statements checked", checked)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A search of a day, and a count of its arrivals, read the stays that arrive in a limited time.
func TestSQLiteReadsADayByItsArrivals(t *testing.T) {
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.Empty(t, "sqlite")})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"SELECT * FROM reservations WHERE property_id = 'p' AND from_at < 'b' AND from_at >= 'a' AND to_at > 'a' ORDER BY from_at DESC LIMIT 200",
		"SELECT count(*) FROM reservations WHERE property_id = 'p' AND from_at < 'b' AND from_at >= 'a' AND state IN ('confirmed', 'started', 'processed')",
	} {
		if plan := planOf(t, d, query); !strings.Contains(plan, "from_at>? AND from_at<?") {
			t.Errorf("%s: %s", query, plan)
		}
	}
}

// A search by number, id or the code of a group reads an index for each of them.
func TestSQLiteFindsNumbersAndGroupsByIndexes(t *testing.T) {
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.Empty(t, "sqlite")})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	const query = "SELECT id FROM reservations WHERE property_id = 'p' AND (pms_number = 'x' OR id = 'x' OR (integration_id IN ('a', 'b') AND pms_id = 'x') OR (integration_id IN ('a', 'b') AND pms_group_id = 'x')) LIMIT 500"
	if plan := planOf(t, d, query); !strings.Contains(plan, "pms_group_id=?") {
		t.Error(plan)
	}
}

// planOf is how the readers and the writer carry out a query.
func planOf(t *testing.T, d *db.DB, query string) string {
	t.Helper()
	var id, parent, unused int
	var read, write string
	if _, err := d.View(t.Context()).ReadOne("EXPLAIN QUERY PLAN "+query, nil, &id, &parent, &unused, &read); err != nil {
		t.Fatal(err)
	}
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		_, err := tx.ReadOne("EXPLAIN QUERY PLAN "+query, nil, &id, &parent, &unused, &write)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if read != write {
		t.Errorf("%s: the readers %s, the writer %s", query, read, write)
	}
	return read
}
