package worker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"latchkey.dev/ent"
	"latchkey.dev/ent/reservation"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/test/dbtest"
)

// All reservations with dates only are recomputed, and their arrivals are checked again.
func TestDatesAreRecomputed(t *testing.T) {
	const stays = 2*daysBatch + 1
	// A day that is over: the queue, which follows the machine's clock, does nothing before its time.
	day := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	at, err := time.Parse(time.RFC3339, day+"T15:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	later := at.Add(-time.Hour)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insertProperty(t, d)
		write(t, d, func(tx *db.Tx) error {
			if err := tx.Property.UpdateOneID("prp_one").SetTimeZone("UTC").SetCheckInTime("16:00").SetCheckOutTime("20:00").Exec(tx.Context()); err != nil {
				return err
			}
			rows := make([]*ent.ReservationCreate, stays)
			for i := range rows {
				rows[i] = tx.Reservation.Create().SetID(fmt.Sprintf("rsv_%04d", i)).SetPropertyID("prp_one").SetIntegrationID("int_one").
					SetPmsID(fmt.Sprint(i)).SetPmsNumber("N").SetBooker([]byte("sealed")).SetState("confirmed").SetFromDate(day).SetToDate(day).
					SetFromAt(at).SetToAt(at.Add(time.Hour)).SetCreatedAt(tx.Now()).SetUpdatedAt(tx.Now())
			}
			if err := tx.Reservation.CreateBulk(rows...).Exec(tx.Context()); err != nil {
				return err
			}
			return tx.Arrival.Create().SetID("rsv_0007").SetPropertyID("prp_one").SetFromAt(at).SetMinutes(120).SetVerdict("ready").
				SetJudgedAt(tx.Now()).SetAgainAt(later).Exec(tx.Context())
		})
		q, err := jobs.Open(d, quiet)
		if err != nil {
			t.Fatal(err)
		}
		days, workers := Days{DB: d, Jobs: q}, river.NewWorkers()
		days.AddTo(workers)
		write(t, d, func(tx *db.Tx) error { return days.Soon(tx, "prp_one") })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- q.Run(ctx, workers) }()
		followed := reservation.And(reservation.FromAt(at.Add(time.Hour)), reservation.ToAt(at.Add(5*time.Hour)))
		for n := 0; n < stays; {
			if n, err = d.View(t.Context()).Reservation.Query().Where(followed).Count(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		a, err := d.View(t.Context()).Arrival.Get(t.Context(), "rsv_0007")
		if err != nil || !a.AgainAt.Before(later) {
			t.Errorf("checked again at %v: %v", a.AgainAt, err)
		}
	}, dbtest.Clock(clock.At(at.Add(-5*time.Hour))))
}
