package db_test

import (
	"slices"
	"testing"

	entschema "entgo.io/ent/dialect/sql/schema"

	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/ent/schema"
)

// A deleted owner must not take these rows along, nor rows that such a row belongs to: a lock may still hold a code, a phone a
// token that its number revokes.
var neverCascaded = []string{"slots", "locks", "bridges", "key_statuses", "phones", "grants", "reservations", "codes"}

func TestEachTableRefersToItsOwner(t *testing.T) {
	known := map[string]bool{}
	for _, m := range tables.Tables {
		known[m.Name] = true
		reason, excepted := schema.WithoutOwner[m.Name]
		if excepted == (len(m.ForeignKeys) > 0) {
			t.Errorf("table %s has %d foreign keys, and in WithoutOwner the reason %q", m.Name, len(m.ForeignKeys), reason)
		}
		for _, key := range m.ForeignKeys {
			c := key.Columns[0]
			if key.OnDelete != entschema.NoAction && key.OnDelete != entschema.Cascade {
				t.Errorf("%s.%s: delete rule %q", m.Name, c.Name, key.OnDelete)
			}
			if key.OnDelete == entschema.Cascade && slices.Contains(neverCascaded, m.Name) {
				t.Errorf("%s.%s: rows of %s go with their owner", m.Name, c.Name, m.Name)
			}
			if !beginsAnIndex(m, c) {
				t.Errorf("%s.%s: no index begins with this column; each deleted owner reads the whole table", m.Name, c.Name)
			}
		}
	}
	for name, reason := range schema.WithoutOwner {
		if !known[name] || reason == "" {
			t.Errorf("WithoutOwner: %s: %q", name, reason)
		}
	}
}

func beginsAnIndex(m *entschema.Table, c *entschema.Column) bool {
	return m.PrimaryKey[0] == c || slices.ContainsFunc(m.Indexes, func(i *entschema.Index) bool {
		return i.Columns[0] == c && (i.Annotation == nil || i.Annotation.Where == "")
	})
}
