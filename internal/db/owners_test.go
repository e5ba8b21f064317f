package db_test

import (
	"fmt"
	"slices"
	"strings"
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

// Reasons why a column with an id is no foreign key.
const (
	record   = "the row records what happened, and outlives the row with this id"
	external = "an id of the PMS, which is no row here"
	named    = "the name of a key or of a start, which is no row"
	orEmpty  = "a text that is empty if there is none, which no foreign key allows; the code checks the id when it stores it"
	removed  = "a guest can be erased while the row remains"
	twoKinds = "the id of a space or of a gate: one column cannot refer to two tables"
)

// references are the columns with the id of another row that have no foreign key, besides that of the property.
var references = map[string]string{
	"acts.lock_id": record, "acts.grant_id": record, "disclosures.reservation_id": record, "disclosures.integration_id": record,
	"erasures.reservation_id": record, "erasures.guest_id": record, "erasures.mail_id": record, "events.grant_id": record,
	"former_people.person_id": record, "register_entries.guest_id": record,
	"reservation_changes.integration_id": record, "reservation_changes.reservation_id": record,

	"conflicts.external_id": external, "mappings.external_id": external, "mappings.parent_external_id": external, "partner_spaces.external_id": external,
	"partner_spaces.parent_external_id": external, "reservations.pms_id": external, "reservations.pms_group_id": external,
	"reservations.pms_space_id": external, "reservations.pms_parent_space_id": external,

	"bridges.boot_id": named, "issuer_keys.key_id": named, "phones.key_id": named,

	"codes.lock_id": orEmpty, "grants.space_id": orEmpty, "grants.from_space_id": orEmpty, "grants.pin_id": orEmpty, "guest_links.guest_id": orEmpty,
	"guest_sessions.guest_id": orEmpty, "invitations.mail_id": orEmpty,
	"invitations.reminder_id": orEmpty, "mails.reservation_id": orEmpty, "mails.guest_id": orEmpty, "slots.grant_id": orEmpty, "slots.pin_id": orEmpty,
	"slots.stay_space_id": orEmpty, "spaces.parent_id": orEmpty, "stays.profile_id": orEmpty,

	"phones.guest_id": removed, "phone_links.guest_id": removed,

	"locks.door_id": twoKinds, "pins.door_id": twoKinds, "slots.door_id": twoKinds,

	"messages.reservation_id":   "the guest of the message refers to the reservation",
	"reservations.own_space_id": "the PMS sends it; a space that is deleted leaves the stay without a room",
	"tokens.parent_id":          "a session ends with the operator's token, which each call checks",
}

func TestEachReferenceIsAForeignKeyOrHasAReason(t *testing.T) {
	found := map[string]bool{}
	for _, m := range tables.Tables {
		for _, c := range m.Columns {
			isKey := slices.ContainsFunc(m.ForeignKeys, func(k *entschema.ForeignKey) bool { return k.Columns[0] == c })
			if name := m.Name + "." + c.Name; strings.HasSuffix(c.Name, "_id") && c.Name != "property_id" && !isKey {
				if found[name] = true; references[name] == "" {
					t.Errorf("%s is no foreign key: declare it in ent/schema/edges.go, or give the reason here", name)
				}
			}
		}
	}
	for name := range references {
		if !found[name] {
			t.Errorf("%s is a foreign key or does not exist: remove it from the list", name)
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
