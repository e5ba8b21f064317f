package dbtest

import (
	"fmt"
	"strings"
	"testing"

	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/internal/db"
)

// Text returns all that the database stores, as text: the values of each table, and of the jobs, by table. rows is the number of all
// rows. Tests search it for data that must not be there.
func Text(t testing.TB, d *db.DB) (found map[string]string, rows int) {
	t.Helper()
	found = map[string]string{}
	names := []string{"river_job"}
	for _, m := range tables.Tables {
		names = append(names, m.Name)
	}
	for _, name := range names {
		text, n, err := textOf(t, d, name)
		if err != nil {
			t.Fatalf("read %s: %v", name, err)
		}
		found[name] = text
		rows += n
	}
	return found, rows
}

// textOf returns the values of a table as text, and the number n of its rows.
func textOf(t testing.TB, d *db.DB, table string) (text string, n int, err error) {
	rows, err := d.View(t.Context()).QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return "", 0, err
	}
	var out strings.Builder
	for ; rows.Next(); n++ {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return "", 0, err
		}
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			fmt.Fprintf(&out, "%s=%v ", names[i], v)
		}
	}
	return out.String(), n, rows.Err()
}
