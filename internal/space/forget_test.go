package space_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/space"
)

func TestClosedConflictsAreForgotten(t *testing.T) {
	each(t, func(h house) {
		h.write(func(tx *db.Tx) error {
			for id, closed := range map[string]time.Duration{"cfl_1": -time.Hour, "cfl_2": -time.Hour, "cfl_3": -time.Hour, "cfl_4": time.Hour, "cfl_open": 0} {
				create := tx.Conflict.Create().SetID(id).SetPropertyID(prp).SetIntegrationID(itg).SetKind(string(space.Missing)).SetExternalID(id).
					SetReservationIds([]string{}).SetOpenedAt(tx.Now().Add(-2 * time.Hour))
				if closed != 0 {
					create.SetClosedAt(tx.Now().Add(closed))
				}
				if err := create.Exec(tx.Context()); err != nil {
					return err
				}
			}
			for _, want := range []int{2, 1, 0} {
				if n, err := space.ForgetConflicts(tx, tx.Now(), 2); err != nil || n != want {
					h.t.Errorf("forgot %d, %v, want %d", n, err, want)
				}
			}
			if left, err := tx.Conflict.Query().Count(tx.Context()); err != nil || left != 2 {
				h.t.Errorf("%d left, %v: want the open one and the one closed since", left, err)
			}
			return nil
		})
	})
}
