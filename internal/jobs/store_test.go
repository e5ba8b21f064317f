package jobs

import (
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestStatementsFitTheSchema(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		failed := failedPostgres
		if d.SQLite() {
			failed = failedSQLite
		}
		dbtest.PrepareAll(t, d, countsQuery, oldestQuery, stateQuery, failed)
	})
}
