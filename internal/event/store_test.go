package event

import (
	"errors"
	"fmt"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestStatementsFitTheSchema(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.PrepareAll(t, d, insertEvent, selectLastPosition, selectLeastCursor, selectCursors, insertCursor, insertHeldBack,
			moveCursor, postponeCursor, deleteCursor, clearEvent,
			assignToRange, fmt.Sprintf(assignPositions, "(1, 2), (3, 4)"), selectUnpositioned, selectRefs, fmt.Sprintf(deleteUnknown, " AND subscriber <> $2"),
			deleteWebhookCursors, retryNow, restartRetries, fmt.Sprintf(countEvents, afterMain, maxBacklog), fmt.Sprintf(oldestEvent, afterHeldBack))
	})
}

// Events get ascending positions, with a gap in their ids and without.
func TestAssignPositions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for name, kinds := range map[string][]Kind{
			"no gap": {DoorOpened, DoorOpened, DoorOpened},
			"a gap":  {DoorOpened, GuestsRead, DoorOpened},
		} {
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				for _, k := range kinds {
					if err := Append(tx, Event{PropertyID: "prp_1", Subject: "lck_1", Kind: k}); err != nil {
						return err
					}
				}
				events, last, err := Unpositioned(tx, 10)
				if err != nil {
					return err
				}
				if err := AssignPositions(tx, events, last); err != nil {
					return err
				}
				refs, err := RefsAfter(tx, last, 10)
				if err != nil || len(refs) != len(events) {
					t.Errorf("%s: %d of %d events have a position, %v", name, len(refs), len(events), err)
				}
				for i, r := range refs {
					if r.Position != last+int64(i)+1 {
						t.Errorf("%s: event %d has the position %d after the last, want %d", name, i, r.Position-last, i+1)
					}
				}
				if err := AssignPositions(tx, events, last); !errors.Is(err, ErrMoved) {
					t.Errorf("%s: positions are assigned twice: %v", name, err)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
