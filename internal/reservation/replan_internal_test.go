package reservation

import (
	"testing"

	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestPlanNextKeepsItsArguments(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		all := []predicate.Reservation{entreservation.ID("rsv_1"), nil, nil, nil}
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			_, err := Service{}.planNext(tx, "prp_one", all[:1]...)
			return err
		})
		if err != nil || all[1] != nil {
			t.Errorf("the slice of the caller changed; error %v", err)
		}
	})
}
