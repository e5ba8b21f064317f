package worker

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"latchkey.dev/ent/reservation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	domain "latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// A worker that is stopped, or a stay that cannot be planned, leaves the others to be planned.
func TestDuePlansAreMade(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insertProperty(t, d)
		keys := dbtest.Keys(t, d)
		now := time.Now().UTC()
		write(t, d, func(tx *db.Tx) error {
			for _, id := range []string{"rsv_1", "rsv_2", "rsv_3"} {
				state := "confirmed"
				if id == "rsv_2" {
					state = "started" // its plan fails, because the property has no key to seal PINs with
				}
				err := tx.Reservation.Create().SetID(id).SetPropertyID("prp_one").SetIntegrationID("int_one").SetPmsID(id).SetPmsNumber("N").
					SetBooker([]byte("sealed")).SetState(state).SetFromAt(now.Add(-time.Hour)).SetToAt(now.Add(time.Hour)).SetCreatedAt(tx.Now()).SetUpdatedAt(tx.Now()).
					SetPlanDueAt(tx.Now()).SetOwnSpaceID("spc_1").Exec(tx.Context())
				if err != nil {
					return err
				}
			}
			return errors.Join(
				tx.Space.Create().SetID("spc_1").SetPropertyID("prp_one").SetName("1").SetType("Room").SetIsPrivate(true).Exec(tx.Context()),
				tx.Bridge.Create().SetID("brg_1").SetPropertyID("prp_one").SetName("cellar").SetEnrolledAt(tx.Now()).SetOnline(true).SetLastSeenAt(tx.Now()).SetEpoch(1).Exec(tx.Context()),
				tx.Lock.Create().SetID("lck_1").SetPropertyID("prp_one").SetName("1").SetBridgeID("brg_1").SetAddress("1").SetDoorID("spc_1").
					SetCapabilities(slot.Capabilities{PINMin: 4, PINMax: 8, Slots: 4}).SetStatus(lock.Status{Online: true}).Exec(tx.Context()))
		})
		plans := Plans{Reservations: domain.Service{Keys: keys}, Log: slog.New(slog.DiscardHandler)}
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		if err := plans.Sweep().Run(stopped, d); err == nil {
			t.Error("a worker that was stopped says that all is planned")
		}
		if err := plans.Sweep().Run(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		due, err := d.View(t.Context()).Reservation.Query().Where(reservation.PlanDueAtNotNil()).All(t.Context())
		if err != nil || len(due) != 1 || due[0].ID != "rsv_2" || !due[0].PlanDueAt.After(d.Clock().Now()) {
			t.Errorf("%v, %v", due, err)
		}
	})
}
