package checkin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
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
		x.push(reservation.Patch{reservation.Owing: 84.0, reservation.Currency: "EUR"})
		if b := brief(); b.Owing != nil {
			x.Errorf("the guest pays when the desk checks them in: %+v", b)
		}
		dbtest.Insert(x, x.d, "endpoints", dbtest.Values{"id": "end_1", "property_id": propertyID, "integration_id": integrationID, "action": partner.CheckIn})
		if b := brief(); b.Stage != checkin.NotStarted || b.Owing == nil || b.Owing.String() != "84.00 EUR" || len(b.Stops) > 0 {
			x.Errorf("an amount that will stop it: %+v", b)
		}
		x.clock.Advance(-24 * time.Hour)
		if b := brief(); b.Stage != checkin.NotToday || b.Owing == nil {
			x.Errorf("the day before: %+v", b)
		}
		x.clock.Advance(24 * time.Hour)
		x.policy(checkin.OwingAllowed)
		if b := brief(); b.Owing != nil {
			x.Errorf("guests who owe may check in: %+v", b)
		}
		x.policy(checkin.OwingBlocks)
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

// policy sets the property's rule about unpaid amounts.
func (x *fixture) policy(rule checkin.OwingRule) {
	x.Helper()
	x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
		return tx.Property.UpdateOneID(propertyID).SetOwingPolicy(string(rule)).Exec(tx.Context())
	}))
}
