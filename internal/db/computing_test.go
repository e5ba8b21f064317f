package db_test

import (
	"errors"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// A closure that computes between its statements blocks every other change, so it fails its test.
func TestClosuresThatComputeFail(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for name, change := range map[string]func(*db.Tx) error{
			"at the end":          func(tx *db.Tx) error { return errors.Join(put("end")(tx), computeTooLong()) },
			"before a statement":  func(tx *db.Tx) error { return errors.Join(computeTooLong(), put("before")(tx)) },
			"between two of them": func(tx *db.Tx) error { return errors.Join(put("one")(tx), computeTooLong(), put("two")(tx)) },
		} {
			if err := d.Write(t.Context(), change); !errors.Is(err, db.ErrComputes) {
				t.Errorf("%s: %v", name, err)
			}
			if late := dbtest.TakeComputingErrors(); len(late) != 1 {
				t.Errorf("%s: reported %v", name, late)
			}
		}
		mustWrite(t, d, put("short"))
		if got := stored(t, d); len(got) != 1 {
			t.Errorf("stored %q", got)
		}
	})
}

// computeTooLong uses more CPU time than a closure may.
func computeTooLong() error {
	for begun := db.ThreadTime(); db.ThreadTime()-begun <= dbtest.MaxComputing; {
	}
	return nil
}
