package db_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	entschema "entgo.io/ent/dialect/sql/schema"

	"latchkey.dev/ent"
	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// A deleted owner must not take these rows along, nor rows that such a row belongs to: a lock may still hold a code, a phone a
// token that its number revokes, and a log outlives what it records.
var neverCascaded = []string{
	"tombstones", "slots", "locks", "bridges", "key_statuses", "phones", "grants", "reservations", "codes", "pins", "acts", "audit_heads", "audit_entries",
}

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

// beginsAnIndex reports whether an index with each row that has a value in the column begins with the column.
func beginsAnIndex(m *entschema.Table, c *entschema.Column) bool {
	return m.PrimaryKey[0] == c || slices.ContainsFunc(m.Indexes, func(i *entschema.Index) bool {
		return i.Columns[0] == c && (i.Annotation == nil || i.Annotation.Where == "" || i.Annotation.Where == c.Name+" IS NOT NULL")
	})
}

// Both engines use also a partial index to find the rows of an owner that is deleted.
func TestRowsOfAnOwnerAreFoundByAnIndex(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var names, statements []string
		for _, m := range tables.Tables {
			names = append(names, m.Name)
			for _, key := range m.ForeignKeys {
				statements = append(statements, fmt.Sprintf("SELECT 1 FROM %s WHERE %s = $1", m.Name, key.Columns[0].Name))
			}
		}
		if d.SQLite() { // its plan contains the search for the rows that refer to the deleted one
			statements = append(statements, "DELETE FROM grants WHERE id = $1", "DELETE FROM codes WHERE id = $1")
		}
		for _, scan := range dbtest.FullScans(t, d, names, statements) {
			t.Error(scan)
		}
	})
}

// A PIN belongs either to a grant or to a code, and neither is deleted before it.
func TestPINsHaveOneOwner(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Insert(t, d, "grants", dbtest.Values{"id": "grt_1", "property_id": "prp_1"})
		dbtest.Insert(t, d, "codes", dbtest.Values{"id": "cod_1", "property_id": "prp_1"})
		pin := func(tx *db.Tx, id string) *ent.PinCreate {
			return tx.Pin.Create().SetID(id).SetPropertyID("prp_1").SetMAC([]byte(id)).SetSealed([]byte(id))
		}
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			for what, refused := range map[string]func() error{
				"no owner":        func() error { return pin(tx, "pin_0").Exec(tx.Context()) },
				"two owners":      func() error { return pin(tx, "pin_2").SetGrantID("grt_1").SetCodeID("cod_1").Exec(tx.Context()) },
				"a missing grant": func() error { return pin(tx, "pin_3").SetGrantID("cod_1").Exec(tx.Context()) },
				"a missing code":  func() error { return pin(tx, "pin_4").SetCodeID("grt_1").Exec(tx.Context()) },
			} {
				if err := tx.Savepoint(refused); !ent.IsConstraintError(err) {
					t.Errorf("a PIN with %s: %v", what, err)
				}
			}
			if err := pin(tx, "pin_5").SetGrantID("grt_1").Exec(tx.Context()); err != nil {
				return err
			}
			return pin(tx, "pin_6").SetCodeID("cod_1").Exec(tx.Context())
		})
		if err != nil {
			t.Fatal(err)
		}
		for what, remove := range map[string]func(tx *db.Tx) error{
			"grant": func(tx *db.Tx) error { return tx.Grant.DeleteOneID("grt_1").Exec(tx.Context()) },
			"code":  func(tx *db.Tx) error { return tx.Code.DeleteOneID("cod_1").Exec(tx.Context()) },
		} {
			if err := d.Write(t.Context(), remove); !ent.IsConstraintError(err) {
				t.Errorf("a %s with a PIN is deleted: %v", what, err)
			}
		}
	})
}

// A row without its owner is refused. In a savepoint it costs only this part of the change, and no other change.
func TestForeignKeysAreEnforced(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		orphan := func(tx *db.Tx) error {
			return tx.Space.Create().SetID("spc_1").SetPropertyID("prp_none").SetType("Room").SetName("1").SetIsPrivate(true).Exec(tx.Context())
		}
		app := func(tx *db.Tx, id string) error { return tx.App.Create().SetID(id).SetName(id).Exec(tx.Context()) }
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				err := d.Write(t.Context(), func(tx *db.Tx) error {
					if err := app(tx, fmt.Sprint("app_", i)); err != nil {
						return err
					}
					if i%5 > 0 {
						return nil
					}
					return orphan(tx)
				})
				if ent.IsConstraintError(err) != (i%5 == 0) {
					t.Errorf("change %d: %v", i, err)
				}
			})
		}
		group.Wait()
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			if err := tx.Savepoint(func() error { return orphan(tx) }); !ent.IsConstraintError(err) {
				t.Errorf("in a savepoint: %v", err)
			}
			return app(tx, "app_savepoint")
		})
		if err != nil {
			t.Error(err)
		}
		if n := d.View(t.Context()).App.Query().CountX(t.Context()); n != 17 {
			t.Errorf("%d apps are stored, want 17", n)
		}
	})
}
