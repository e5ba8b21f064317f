package conversation

import (
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestStatementsFitTheSchema(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.PrepareAll(t, d, insertMessage, findUnread, selectLatest(Search{}), selectLatest(Search{UnreadOnly: true}), selectAllEnded, selectOneEnded)
	})
}
