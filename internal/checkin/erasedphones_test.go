package checkin_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// What the guests of a canceled stay call their phones is erased with the rest that they left.
func TestEraseCanceledErasesTheNamesOfPhones(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		dbtest.Insert(x, x.d, "phones", dbtest.Values{"id": "phn_1", "property_id": propertyID, "reservation_id": x.key.ReservationID, "label": []byte("sealed")})
		x.push(reservation.Patch{reservation.State: "canceled"})
		x.sweep()
		for _, step := range []struct {
			after time.Duration
			named bool
		}{{checkin.CanceledRetention - time.Second, true}, {time.Second, false}} {
			x.clock.Advance(step.after)
			x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
				_, err := checkin.EraseCanceled(tx, tx.Now().Add(-checkin.CanceledRetention), 10)
				return err
			}))
			if named := len(x.d.View(x.Context()).Phone.GetX(x.Context(), "phn_1").Label) > 0; named != step.named {
				t.Errorf("after %s the phone has a name: %t", step.after, named)
			}
		}
	})
}
