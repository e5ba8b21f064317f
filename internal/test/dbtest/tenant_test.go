package dbtest

import (
	"testing"

	"latchkey.dev/ent/reservation"
	"latchkey.dev/internal/db"
)

func TestUnscopedTable(t *testing.T) {
	for statement, want := range map[string]string{
		"SELECT `slots`.`id`, `slots`.`property_id` FROM `slots` WHERE `slots`.`id` = ?":        "slots",
		"SELECT `slots`.`id` FROM `slots` WHERE `slots`.`property_id` = ? AND `slots`.`id` = ?": "",
		"SELECT id FROM slots":                        "slots",
		`UPDATE "slots" SET "property_id" = $1`:       "slots",
		`DELETE FROM "slots" WHERE "slots"."id" = $1`: "slots",
		"SELECT 1":                                    "",
		"SELECT id FROM secrets WHERE id = $1":        "",
		"INSERT INTO slots (property_id) VALUES ($1)": "",
		"SELECT l.id FROM doors AS d JOIN locks AS l ON l.property_id = d.property_id": "",
		"SELECT l.id FROM secrets AS d JOIN locks AS l ON l.id = d.id":                 "locks",
	} {
		if got := unscopedTable(statement); got != want {
			t.Errorf("%s: %q, want %q", statement, got, want)
		}
	}
}

// Each statement of the product reaches the watcher, in changes and in reads, on both engines.
func TestStatementsAreWatched(t *testing.T) {
	Each(t, func(t *testing.T, d *db.DB) {
		seen := Statements(t, nil, func() {
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Reservation.Query().Where(reservation.ID("rsv_1")).Exist(tx.Context())
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		if len(seen) != 1 || unscopedTable(seen[0]) != "reservations" {
			t.Errorf("in a change: %q", seen)
		}
		seen = Statements(t, nil, func() {
			if _, err := d.View(t.Context()).Reservation.Query().Where(reservation.PropertyID("prp_1")).Exist(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if len(seen) != 1 || unscopedTable(seen[0]) != "" {
			t.Errorf("in a read: %q", seen)
		}
	})
}
