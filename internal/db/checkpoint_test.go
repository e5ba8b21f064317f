package db_test

import (
	"fmt"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// Without the checkpointer the log would grow to db.LogMax, which so few changes do not reach.
func TestCheckpointerCopiesTheLog(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	const long = 64
	db.CheckpointFrom(d, long)
	length := 0
	for n := range 20_000 {
		mustWrite(t, d, put(fmt.Sprint(n)))
		before := length
		if length = db.LogLength(t, d); length < before && before >= long {
			return
		}
		if length >= db.LogMax {
			break
		}
	}
	t.Errorf("the log has %d pages and never restarted", length)
}

func TestCheckpointLosesNoChange(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	db.CheckpointFrom(d, 1)
	const changes = 500
	for n := range changes {
		mustWrite(t, d, put(fmt.Sprint(n)))
	}
	if got := len(stored(t, d)); got != changes {
		t.Errorf("%d of %d changes are stored", got, changes)
	}
}
