package checkin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

func TestBriefs(t *testing.T) {
	each(t, func(x *fixture) {
		brief := func() checkin.Brief {
			x.Helper()
			view := x.d.View(x.Context())
			row, err := property.Get(view, propertyID)
			x.must(err)
			stay, err := reservation.Get(view, reservation.Scope{PropertyID: propertyID}, x.key.ReservationID)
			x.must(err)
			briefs, err := x.service.Briefs(view, row, []*reservation.Row{stay})
			x.must(err)
			full, err := x.get()
			x.must(err)
			if full.Stage != briefs[0].Stage {
				x.Errorf("the list says %s, the check-in %s", briefs[0].Stage, full.Stage)
			}
			return briefs[0]
		}
		if b := brief(); b.Stage != checkin.NotStarted || !b.BeganAt.IsZero() {
			x.Errorf("before it began: %+v", b)
		}
		x.desk.set(func() { x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":false}` })
		x.do("start", x.start, checkin.Stopped, checkin.StopOwing, checkin.StopRoomNotReady)
		b := brief()
		if diff := cmp.Diff([]checkin.StopReason{checkin.StopOwing, checkin.StopRoomNotReady}, b.Stops); diff != "" || b.Stage != checkin.Stopped || b.BeganAt.IsZero() || !b.FormComplete || b.Owing == nil || b.Owing.String() != "84.00 EUR" {
			x.Errorf("stopped: %+v", b)
		}
		x.do("waive", func() (v checkin.View, err error) {
			x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
				v, err = x.service.WaiveOwing(tx, x.key, "Marta", "84.00 EUR")
				return err
			}))
			return v, nil
		}, checkin.Stopped, checkin.StopRoomNotReady)
		if b := brief(); b.Owing != nil {
			x.Errorf("waived: %+v", b)
		}
		x.push(reservation.Patch{reservation.State: "started"})
		if b := brief(); b.Stage != checkin.CheckedIn {
			x.Errorf("started: %+v", b)
		}
		x.push(reservation.Patch{reservation.State: "processed"})
		if b := brief(); b.Stage != checkin.Ended {
			x.Errorf("processed: %+v", b)
		}
	})
}
