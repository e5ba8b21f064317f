package event

import (
	"fmt"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestStatementsFitTheSchema(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.PrepareAll(t, d, insertEvent, selectLastPosition, selectLeastCursor, selectCursors, insertCursor, insertHeldBack,
			moveCursor, postponeCursor, deleteCursor, clearEvent,
			fmt.Sprintf(assignPositions, "(1, 2), (3, 4)"), selectUnpositioned, selectRefs, fmt.Sprintf(deleteUnknown, " AND subscriber <> $2"),
			deleteWebhookCursors, retryNow, restartRetries, fmt.Sprintf(countEvents, afterMain, maxBacklog), fmt.Sprintf(oldestEvent, afterHeldBack))
	})
}
