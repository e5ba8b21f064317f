package db_test

import (
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestInfo(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		i, err := d.Info(t.Context())
		if err != nil || i.Version == "" || i.Bytes < 100_000 || i.Migration == "" {
			t.Errorf("the database is %+v, %v", i, err)
		}
	})
}
