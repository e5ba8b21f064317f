package access

import (
	"strings"
	"testing"

	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestStatementsFitTheSchema(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.PrepareAll(t, d, locksOnDoorsQuery, listOpenings, listPINs)
	})
	for _, column := range entlock.Columns {
		if column != entlock.FieldPropertyID && !strings.Contains(locksOnDoorsQuery, " l."+column+",") && !strings.Contains(locksOnDoorsQuery, "\tl."+column+",") {
			t.Errorf("the row of a lock is read without its column %s", column)
		}
	}
}
