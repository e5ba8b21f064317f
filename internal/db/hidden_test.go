package db_test

import (
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// readHalf reads the first of two rows and closes them, as ent does after an UpdateOne. Computing the second row fails, and
// no caller sees that error.
func readHalf(t *testing.T, tx *db.Tx) {
	t.Helper()
	rows, err := tx.SQL().QueryContext(tx.Context(), "SELECT 1 / (2 - n) FROM generate_series(1, 2) AS n")
	if err != nil {
		t.Fatal(err)
	}
	if !rows.Next() {
		t.Error("there is no first row")
	}
	_ = rows.Close()
}

func TestUnreadErrorMakesTheChangeRunAgain(t *testing.T) {
	d := dbtest.Open(t, "postgres")
	for name, then := range map[string]func(*db.Tx) error{
		"before another statement": put("a"),
		"last of all":              func(*db.Tx) error { return nil },
	} {
		runs := 0
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			if runs++; runs == 1 {
				readHalf(t, tx)
			}
			return then(tx)
		})
		if err != nil || runs != 2 {
			t.Errorf("%s: %d runs, %v", name, runs, err)
		}
	}
	if got := stored(t, d); len(got) != 1 {
		t.Errorf("stored %v", got)
	}
}

func TestReadErrorIsReturned(t *testing.T) {
	d := dbtest.Open(t, "postgres")
	mustWrite(t, d, put("a"))
	runs := 0
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		runs++
		_ = put("a")(tx)
		return put("b")(tx)
	})
	if err == nil || runs != 1 {
		t.Errorf("%d runs, %v", runs, err)
	}
}
