package audit

import (
	"fmt"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestStatementsFitTheSchema(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.PrepareAll(t, d, selectHeadSQL, storeHeadSQL, insertEntrySQL, fmt.Sprintf(selectOldestChainSQL, " AND p.id <> $2"))
	})
}
