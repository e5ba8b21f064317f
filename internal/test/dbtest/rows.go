package dbtest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"

	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/internal/db"
)

// Values are the values of a row by column.
type Values map[string]any

// Insert inserts a row with values, and the missing rows that its foreign keys refer to. Other required columns get a placeholder.
func Insert(t testing.TB, d *db.DB, table string, values Values) {
	t.Helper()
	if err := d.Write(t.Context(), func(tx *db.Tx) error { return insert(tx, table, values) }); err != nil {
		t.Fatalf("insert into %s: %v", table, err)
	}
}

// InsertOnce is Insert, but does nothing if the row exists.
func InsertOnce(t testing.TB, d *db.DB, table string, values Values) {
	t.Helper()
	if err := d.Write(t.Context(), func(tx *db.Tx) error { return insert(tx, table, values, entsql.DoNothing()) }); err != nil {
		t.Fatalf("insert into %s: %v", table, err)
	}
}

// insert implements Insert inside a change.
func insert(tx *db.Tx, table string, values Values, onConflict ...entsql.ConflictOption) error {
	row := Row(table, values)
	for _, key := range Table(table).ForeignKeys {
		if id := row[key.Columns[0].Name]; id != nil {
			owner := Values{"id": id}
			if findColumn(key.RefTable, tenantColumn) != nil {
				owner[tenantColumn] = row[tenantColumn]
			}
			if err := insert(tx, key.RefTable.Name, owner, entsql.DoNothing()); err != nil {
				return err
			}
		}
	}
	if findColumn(Table(table), tenantColumn) == nil {
		delete(row, tenantColumn) // it was only for the owners
	}
	statement := entsql.Insert(table)
	for _, name := range slices.Sorted(maps.Keys(row)) {
		statement.Set(name, row[name])
	}
	if len(onConflict) > 0 {
		statement.OnConflict(onConflict...)
	}
	_, err := tx.Insert(statement)
	return err
}

var valueCount atomic.Int64

// Row returns values, completed with placeholders for the other required columns. A foreign key refers to a row whose id is made of its
// table's name and the property.
func Row(table string, values Values) Values {
	row := maps.Clone(values)
	m := Table(table)
	for _, key := range m.ForeignKeys {
		c := key.Columns[0]
		if row[c.Name] == nil && !c.Nullable && key.RefTable != tables.PropertiesTable {
			row[c.Name] = fmt.Sprintf("%s of %v", key.RefTable.Name, row[tenantColumn])
		}
	}
	for _, c := range m.Columns {
		if _, given := row[c.Name]; given || c.Nullable || c.Increment || c.Default != nil {
			continue
		}
		row[c.Name] = placeholderValue(c)
	}
	return row
}

// placeholderValue returns a valid value for a required column, if possible a different one at each call.
func placeholderValue(c *schema.Column) any {
	n := valueCount.Add(1)
	switch {
	case c.Name == "time_zone":
		return "UTC"
	case c.Type == field.TypeString:
		return fmt.Sprintf("%s %d", c.Name, n)
	case c.Type == field.TypeTime:
		return time.Unix(1_700_000_000, 0).UTC()
	case c.Type == field.TypeBytes:
		return fmt.Append(nil, n)
	case c.Type == field.TypeJSON:
		return "null"
	case c.Type == field.TypeBool:
		return false
	default:
		return n
	}
}

// Table returns ent's model of a table.
func Table(name string) *schema.Table {
	i := slices.IndexFunc(tables.Tables, func(m *schema.Table) bool { return m.Name == name })
	return tables.Tables[i]
}

// findColumn returns the column of a table with a name, or nil.
func findColumn(m *schema.Table, name string) *schema.Column {
	if i := slices.IndexFunc(m.Columns, func(c *schema.Column) bool { return c.Name == name }); i >= 0 {
		return m.Columns[i]
	}
	return nil
}

var placeholder = regexp.MustCompile(`\$(\d+)`)

// PrepareAll prepares hand-written statements, which fails the test if one names a missing table or column. Parameters must first appear
// in ascending order, because SQLite numbers them by appearance.
func PrepareAll(t *testing.T, d *db.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		next := 1
		for _, m := range placeholder.FindAllStringSubmatch(statement, -1) {
			switch n, _ := strconv.Atoi(m[1]); {
			case n > next:
				t.Errorf("%s: $%d appears before $%d", statement, n, next)
			case n == next:
				next++
			}
		}
		if err := d.Write(t.Context(), func(tx *db.Tx) error {
			s, err := tx.SQL().PrepareContext(t.Context(), statement)
			if err != nil {
				return err
			}
			return s.Close()
		}); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
