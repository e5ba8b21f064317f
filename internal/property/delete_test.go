package property_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"entgo.io/ent/schema/field"

	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/test/dbtest"
)

const gone, stays = "prp_gone", "prp_stays"

// ofInstallation are the tables whose rows belong to no property.
var ofInstallation = []string{"apps", "nodes", "secrets", "people", "person_sessions", "recovery_codes", "sign_in_attempts", "passkeys", "used_challenges"}

// fill inserts three rows of a property into each table. The ids and all other texts name the property.
func fill(t *testing.T, d *db.DB, propertyID string) {
	t.Helper()
	dbtest.Insert(t, d, "properties", dbtest.Values{"id": propertyID})
	dbtest.Insert(t, d, "property_keys", dbtest.Values{"id": propertyID})
	dbtest.Insert(t, d, "issuers", dbtest.Values{"id": propertyID})
	for n := range 3 {
		dbtest.InsertOnce(t, d, "people", dbtest.Values{"id": fmt.Sprintf("prs_%d", n), "email_mac": []byte{byte(n)}})
	}
	for _, m := range tables.Tables {
		if slices.Contains([]string{"properties", "property_keys", "issuers"}, m.Name) || slices.Contains(ofInstallation, m.Name) { // above, or of no property
			continue
		}
		for n := range 3 {
			values := dbtest.Values{}
			for _, c := range m.Columns {
				if c.Type == field.TypeString {
					values[c.Name] = fmt.Sprintf("%s %s %d", propertyID, c.Name, n)
				}
			}
			_, ofProperty := values["property_id"]
			if ofProperty || m.Name == "event_cursors" { // a cursor names its property through its webhook
				values["property_id"] = propertyID
			}
			for _, key := range m.ForeignKeys {
				if c := key.Columns[0].Name; c != "property_id" {
					values[c] = fmt.Sprintf("%s id %d", propertyID, n)
				}
			}
			if _, ok := values["person_id"]; ok { // a person belongs to no property
				values["person_id"] = fmt.Sprintf("prs_%d", n)
			}
			if _, ok := values["app_id"]; ok { // an app belongs to no property
				values["app_id"] = nil
			}
			if m.Name == "pins" { // of a grant or a code
				values[[]string{"grant_id", "code_id"}[n%2]] = nil
			}
			if m.PrimaryKey[0].Increment {
				delete(values, "id")
			} else {
				values["id"] = fmt.Sprintf("%s id %d", propertyID, n)
			}
			dbtest.InsertOnce(t, d, m.Name, values)
		}
	}
}

// mentions counts the rows of each table in which some text names the property.
func mentions(t *testing.T, d *db.DB, propertyID string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, m := range tables.Tables {
		var where []string
		for _, c := range m.Columns {
			if c.Type == field.TypeString || c.Type == field.TypeJSON {
				where = append(where, fmt.Sprintf(`CAST("%s" AS text) LIKE '%%%s%%'`, c.Name, propertyID))
			}
		}
		if len(where) == 0 {
			continue
		}
		var n int
		rows, err := d.View(t.Context()).QueryContext(t.Context(), `SELECT count(*) FROM "`+m.Name+`" WHERE `+strings.Join(where, " OR "))
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			err = rows.Scan(&n)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			found[m.Name] = n
		}
	}
	return found
}

// A deletion that a kill interrupts goes on in the next process: each batch is a transaction.
func TestDeleteTakesAllRowsOfOneProperty(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		open := func() *db.DB {
			d, err := db.Open(t.Context(), db.Config{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		d := open()
		fill(t, d, gone)
		fill(t, d, stays)
		before := mentions(t, d, stays)
		if len(before) != len(tables.Tables)-len(ofInstallation) || len(mentions(t, d, gone)) != len(before) {
			t.Fatalf("rows of %d tables", len(before))
		}
		batches := 0
		for left := true; left; batches++ {
			err := d.Write(t.Context(), func(tx *db.Tx) (err error) {
				left, err = property.DeleteRows(tx, gone, 7)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			d = open()
		}
		if batches < 5 {
			t.Errorf("%d batches", batches)
		}
		if err := property.DeleteUnindexed(t.Context(), d, gone); err != nil {
			t.Fatal(err)
		}
		if err := d.Write(t.Context(), func(tx *db.Tx) error { return property.Delete(tx, gone) }); err != nil {
			t.Fatal(err)
		}
		if rest := mentions(t, d, gone); len(rest) > 0 {
			t.Errorf("left: %v", rest)
		}
		if after := mentions(t, d, stays); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("the other property had %v, has %v", before, after)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The jobs of the property go, whatever their state, except those that run: their worker ends them, and finds no row to work on.
func TestDeleteTakesTheJobsOfOneProperty(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, id := range []string{gone, stays} {
			for _, state := range []string{"available", "scheduled", "retryable", "running"} {
				insertJob(t, d, id, state)
			}
		}
		if err := property.DeleteUnindexed(t.Context(), d, gone); err != nil {
			t.Fatal(err)
		}
		var left []string
		rows, err := d.View(t.Context()).QueryContext(t.Context(), "SELECT args ->> 'propertyId', CAST(state AS text) FROM river_job ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, state string
			if err := rows.Scan(&id, &state); err != nil {
				t.Fatal(err)
			}
			left = append(left, id+" "+state)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		want := []string{gone + " running", stays + " available", stays + " scheduled", stays + " retryable", stays + " running"}
		if !slices.Equal(left, want) {
			t.Errorf("left %q, want %q", left, want)
		}
	})
}

func insertJob(t *testing.T, d *db.DB, propertyID, state string) {
	t.Helper()
	statement := fmt.Sprintf(`INSERT INTO river_job (kind, args, max_attempts, state) VALUES ('test', '{"propertyId": %q}', 3, '%s')`, propertyID, state)
	if err := d.Write(t.Context(), func(tx *db.Tx) error {
		_, err := tx.ExecContext(tx.Context(), statement)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// Each statement reads only its range of ids, however large the table is.
func TestUnindexedRowsAreReadInRanges(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for table, statement := range property.Unindexed {
			explain, want := "EXPLAIN QUERY PLAN ", "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
			if !d.SQLite() {
				explain, want = "EXPLAIN ", table+"_pkey"
			}
			plan := ""
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				if !d.SQLite() {
					if _, err := tx.ExecContext(tx.Context(), "SET LOCAL enable_seqscan = off"); err != nil {
						return err
					}
				}
				rows, err := tx.QueryContext(tx.Context(), explain+strings.NewReplacer("$1", "'prp_gone'", "$2", "5", "$3", "10").Replace(statement))
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, rows.Close()) }()
				for rows.Next() {
					columns, err := rows.Columns()
					if err != nil {
						return err
					}
					into, line := make([]any, len(columns)), ""
					for i := range into {
						into[i] = new(any)
					}
					into[len(into)-1] = &line
					if err := rows.Scan(into...); err != nil {
						return err
					}
					plan += line + "\n"
				}
				return rows.Err()
			})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(plan, want) {
				t.Errorf("%s: %s", table, plan)
			}
		}
	})
}
