package db_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	atlasschema "ariga.io/atlas/sql/schema"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	entschema "entgo.io/ent/dialect/sql/schema"

	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// oldDatabase is a database before the foreign keys.
type oldDatabase struct {
	t    *testing.T
	name string
	pool *sql.DB
	old  *atlasschema.Schema
}

// insert inserts a row into the columns that the table has at that time.
func (o oldDatabase) insert(table string, values dbtest.Values) {
	o.t.Helper()
	statement := entsql.Dialect(o.name).Insert(table)
	row := dbtest.Row(table, values)
	for _, c := range slices.Sorted(maps.Keys(row)) {
		if slices.Contains(o.columns(table), c) {
			statement.Set(c, row[c])
		}
	}
	query, args := statement.Query()
	if _, err := o.pool.Exec(query, args...); err != nil {
		o.t.Fatalf("%s: %v", query, err)
	}
}

// tables returns the tables that the database has at that time.
func (o oldDatabase) tables() []*entschema.Table {
	return slices.DeleteFunc(slices.Clone(tables.Tables), func(m *entschema.Table) bool {
		return !slices.ContainsFunc(o.old.Tables, func(old *atlasschema.Table) bool { return old.Name == m.Name })
	})
}

func (o oldDatabase) columns(table string) (names []string) {
	i := slices.IndexFunc(o.old.Tables, func(m *atlasschema.Table) bool { return m.Name == table })
	for _, c := range o.old.Tables[i].Columns {
		names = append(names, c.Name)
	}
	return names
}

// row returns the row with an id as text, "" if there is none.
func (o oldDatabase) row(table string, id any) string {
	o.t.Helper()
	quoted := "\"" + strings.Join(o.columns(table), "\", \"") + "\""
	placeholder := map[string]string{dialect.SQLite: "?", dialect.Postgres: "$1"}[o.name]
	values := make([]any, len(o.columns(table)))
	var into []any
	for i := range values {
		into = append(into, &values[i])
	}
	err := o.pool.QueryRow("SELECT "+quoted+" FROM "+table+" WHERE id = "+placeholder, id).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return ""
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return fmt.Sprint(values)
}

// orphan is a row whose foreign key refers to nothing.
type orphan struct {
	table string
	key   *entschema.ForeignKey
	id    any
}

const tenant = "prp_good"

// rowID returns the id of a row of a table; the ids of some tables are those of their owners.
func rowID(m *entschema.Table, n int) any {
	if m.PrimaryKey[0].Increment {
		return n
	}
	if m == tables.PropertiesTable || m == tables.IssuersTable {
		return tenant
	}
	if sharesID(m) {
		return rowID(m.ForeignKeys[0].RefTable, n)
	}
	return fmt.Sprintf("%s_%d", m.Name[:3], n)
}

func sharesID(m *entschema.Table) bool {
	return len(m.ForeignKeys) == 1 && m.ForeignKeys[0].Columns[0] == m.PrimaryKey[0]
}

// populate inserts a row with its owners into each table, and for each foreign key a row without that owner.
func (o oldDatabase) populate() (orphans []orphan) {
	inOrder := o.tables()
	slices.SortStableFunc(inOrder, func(a, b *entschema.Table) int { // the old database has one foreign key: that of names
		return len(o.references(a)) - len(o.references(b))
	})
	for _, m := range inOrder {
		o.insert(m.Name, o.owned(m, 1))
	}
	n := 1
	for _, m := range o.tables() {
		if len(o.references(m)) > 0 {
			continue
		}
		for _, key := range m.ForeignKeys {
			if !slices.Contains(o.columns(m.Name), key.Columns[0].Name) { // a later migration adds it
				continue
			}
			n++
			values, c := o.owned(m, n), key.Columns[0].Name
			values[c] = fmt.Sprintf("gon_%s_%d", key.RefTable.Name, n)
			if key.RefTable == tables.PropertiesTable && c == "property_id" {
				values["property_id"] = values[c]
			}
			o.insert(m.Name, values)
			orphans = append(orphans, orphan{m.Name, key, values["id"]})
		}
	}
	return orphans
}

// references returns the foreign keys that a table of the old database has.
func (o oldDatabase) references(m *entschema.Table) []*atlasschema.ForeignKey {
	i := slices.IndexFunc(o.old.Tables, func(old *atlasschema.Table) bool { return old.Name == m.Name })
	return o.old.Tables[i].ForeignKeys
}

// owned returns the values of the row n, whose owners are the rows 1.
func (o oldDatabase) owned(m *entschema.Table, n int) dbtest.Values {
	values := dbtest.Values{"id": rowID(m, n), "property_id": tenant}
	if !slices.Contains(o.columns(m.Name), "property_id") {
		delete(values, "property_id")
	}
	for _, key := range m.ForeignKeys {
		if c := key.Columns[0].Name; c != "id" {
			values[c] = rowID(key.RefTable, 1)
		}
	}
	return values
}

// TestUpgradeRemovesOrphans upgrades a database in which each table has a row with its owners, and rows without.
func TestUpgradeRemovesOrphans(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			url := dbtest.Empty(t, engine)
			d, err := db.Open(t.Context(), db.Config{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			db.MigrateTo(t, d, 1)
			o := oldDatabase{t: t}
			o.name, o.pool = openRaw(t, url)
			_, o.old = inspect(t, o.name, o.pool)
			orphans := o.populate()
			o.insert("tokens", dbtest.Values{"id": "tok_operator"})
			o.insert("pins", dbtest.Values{"id": "pin_code", "property_id": tenant, "grant_id": rowID(tables.CodesTable, 1)})
			before := map[string]string{}
			for _, m := range o.tables() {
				if before[m.Name] = o.row(m.Name, rowID(m, 1)); before[m.Name] == "" {
					t.Fatalf("%s: no row", m.Name)
				}
			}
			db.MigrateTo(t, d, 2)
			for _, m := range o.tables() {
				if after := o.row(m.Name, rowID(m, 1)); after != before[m.Name] {
					t.Errorf("%s: was %s, is %s", m.Name, before[m.Name], after)
				}
			}
			for _, x := range orphans {
				if x.table == "tokens" { // a later migration
					continue
				}
				kept := x.key.OnDelete == entschema.NoAction && x.key.Symbol != "mappings_spaces_space"
				if got := o.row(x.table, x.id) != ""; got != kept {
					t.Errorf("%s: a row without %s: kept = %v, want %v", x.table, x.key.RefTable.Name, got, kept)
				}
			}
			var live int
			if err := o.pool.QueryRow("SELECT count(*) FROM key_statuses WHERE revoked_at IS NULL").Scan(&live); err != nil || live != 1 {
				t.Errorf("%d numbers of the status list are not revoked, want 1: %v", live, err)
			}
			if _, err := d.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			var tokens, unowned int
			count := "SELECT count(*), sum(CASE WHEN property_id IS NULL AND integration_id IS NULL AND app_id IS NULL THEN 1 ELSE 0 END) FROM tokens"
			if err := o.pool.QueryRow(count).Scan(&tokens, &unowned); err != nil || tokens != 2 || unowned != 1 {
				t.Errorf("%d tokens, %d of the installation; want 2 and 1: %v", tokens, unowned, err)
			}
			if got, want := o.ownersOfPINs(), "pin_1: gra_1 -, pin_code: - cod_1"; got != want {
				t.Errorf("PINs with their grants and codes: %s, want %s", got, want)
			}
			o.checkKeys()
		})
	}
}

// ownersOfPINs lists the PINs, each with its grant and its code.
func (o oldDatabase) ownersOfPINs() string {
	o.t.Helper()
	rows, err := o.pool.Query("SELECT id, coalesce(grant_id, '-'), coalesce(code_id, '-') FROM pins ORDER BY id")
	if err != nil {
		o.t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var id, grant, code string
		if err := rows.Scan(&id, &grant, &code); err != nil {
			o.t.Fatal(err)
		}
		list = append(list, id+": "+grant+" "+code)
	}
	if err := rows.Err(); err != nil {
		o.t.Fatal(err)
	}
	return strings.Join(list, ", ")
}

// TestUpgradeDeliversEventsOnce upgrades a database with an event that was delivered and one that was not.
func TestUpgradeDeliversEventsOnce(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			url := dbtest.Empty(t, engine)
			d, err := db.Open(t.Context(), db.Config{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			db.MigrateTo(t, d, 2)
			_, pool := openRaw(t, url)
			for id, dispatched := range []string{"NULL", "'2026-11-22 09:00:00'"} {
				_, err := pool.Exec(fmt.Sprintf(`INSERT INTO events (id, property_id, subject, subject_sequence, kind, body, occurred_at, dispatched_at, created_at)
					VALUES (%d, 'prp_one', 'rsv_one', %d, 'access.issued', '{}', '2026-11-22 09:00:00', %s, '2026-11-22 09:00:00')`, id+1, id+1, dispatched))
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := d.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			var waiting, delivered int
			if err := pool.QueryRow("SELECT sum(CASE WHEN position IS NULL THEN id END), sum(CASE WHEN position = 0 THEN id END) FROM events").Scan(&waiting, &delivered); err != nil {
				t.Fatal(err)
			}
			if waiting != 1 || delivered != 2 {
				t.Errorf("event %d waits and event %d is delivered, want 1 and 2", waiting, delivered)
			}
		})
	}
}

// checkKeys checks that the database has each foreign key, and that no row violates one.
func (o oldDatabase) checkKeys() {
	o.t.Helper()
	want := 0
	for _, m := range tables.Tables {
		want += len(m.ForeignKeys)
	}
	keys := "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND convalidated AND connamespace = 'public'::regnamespace AND conrelid::regclass::text NOT LIKE 'river%'"
	if o.name == dialect.SQLite {
		keys = `SELECT count(*) FROM sqlite_master AS m, pragma_foreign_key_list(m.name) WHERE m.type = 'table' AND m.name NOT LIKE 'river%'`
		var table string
		if err := o.pool.QueryRow(`SELECT "table" FROM pragma_foreign_key_check`).Scan(&table); err != sql.ErrNoRows {
			o.t.Errorf("%s has a row without its owner (%v)", table, err)
		}
	}
	var got int
	if err := o.pool.QueryRow(keys).Scan(&got); err != nil || got != want {
		o.t.Errorf("%d foreign keys hold, want %d: %v", got, want, err)
	}
}
