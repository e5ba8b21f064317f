package worker

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent/reservation"
	"latchkey.dev/ent/reservationchange"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestSweepsToCover(t *testing.T) {
	var got []int
	for sweep := range 17 {
		got = append(got, sweepsToCover(sweep))
	}
	if diff := cmp.Diff([]int{fullSweepInterval, 1, 2, 1, 4, 1, 2, 1, 8, 1, 2, 1, 4, 1, 2, 1, 16}, got); diff != "" {
		t.Error(diff)
	}
	looks := map[int]int{} // of the sweeps of an hour, at what came just after the first of them
	for sweep := 1; sweep <= fullSweepInterval; sweep++ {
		if sweep <= sweepsToCover(sweep) {
			looks[sweep]++
		}
	}
	if diff := cmp.Diff(map[int]int{1: 1, 2: 1, 4: 1, 8: 1, 16: 1, 32: 1, 64: 1}, looks); diff != "" {
		t.Error(diff)
	}
	if sweepsToCover(2*fullSweepInterval) != fullSweepInterval || sweepsToCover(2*fullSweepInterval+6) != 2 {
		t.Error("the second round is not as the first")
	}
}

func TestSweepOfChanges(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insertProperty(t, d)
		at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
		// change stores a change of a reservation at a minute.
		change := func(reservationID string, minute int) {
			write(t, d, func(tx *db.Tx) error {
				now := at.Add(time.Duration(minute) * time.Minute)
				n, err := tx.Reservation.Update().Where(reservation.ID(reservationID)).SetUpdatedAt(now).Save(tx.Context())
				if err == nil && n == 0 {
					err = tx.Reservation.Create().SetID(reservationID).SetPropertyID("prp_one").SetIntegrationID("int_one").SetPmsID(reservationID).
						SetPmsNumber("N").SetBooker([]byte("sealed")).SetState("confirmed").SetFromAt(at).SetToAt(at).SetCreatedAt(now).SetUpdatedAt(now).Exec(tx.Context())
				}
				if err != nil {
					return err
				}
				return tx.ReservationChange.Create().SetPropertyID("prp_one").SetIntegrationID("int_one").SetReservationID(reservationID).SetChangedAt(now).Exec(tx.Context())
			})
		}
		left := func() (minutes map[string][]int) {
			rows, err := d.View(t.Context()).ReservationChange.Query().Order(reservationchange.ByID()).All(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			minutes = map[string][]int{}
			for _, r := range rows {
				minutes[r.ReservationID] = append(minutes[r.ReservationID], int(r.ChangedAt.Sub(at).Minutes()))
			}
			return minutes
		}
		expect := func(what string, want map[string][]int) {
			t.Helper()
			if diff := cmp.Diff(want, left()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		s := changesSweep()
		sweep := func(n int) {
			t.Helper()
			for range n {
				if err := s.Run(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
		}
		change("rsv_busy", 0)
		change("rsv_busy", 1)
		sweep(1) // the first checks all
		expect("what was there before", map[string][]int{"rsv_busy": {1}})
		for minute := 2; minute < 10; minute++ {
			change("rsv_busy", minute)
		}
		change("rsv_calm", 10)
		cut, cancel := context.WithCancel(t.Context())
		cancel()
		if s.Run(cut, d) == nil {
			t.Error("a sweep that was cut short says nothing")
		}
		sweep(1)
		expect("the last minute, also after a failure", map[string][]int{"rsv_busy": {1, 9}, "rsv_calm": {10}})
		change("rsv_calm", 11)
		sweep(1) // looks back over two
		expect("two minutes", map[string][]int{"rsv_busy": {1, 9}, "rsv_calm": {11}})
		sweep(fullSweepInterval - 3)
		change("rsv_calm", 12)
		expect("an hour, but for what is older", map[string][]int{"rsv_busy": {1, 9}, "rsv_calm": {11, 12}})
		sweep(1)
		expect("all", map[string][]int{"rsv_busy": {9}, "rsv_calm": {12}})
	})
}

// There are more simultaneous changes than one step covers.
func TestSweepOfManyChanges(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		write(t, d, func(tx *db.Tx) error { // of reservations that are not there
			for range 3*sweepBatch + 1 {
				err := tx.ReservationChange.Create().SetPropertyID("prp_one").SetIntegrationID("int_one").SetReservationID(rand.Text()).SetChangedAt(tx.Now()).Exec(tx.Context())
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err := changesSweep().Run(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if n, err := d.View(t.Context()).ReservationChange.Query().Count(t.Context()); err != nil || n != 0 {
			t.Errorf("%d left, %v", n, err)
		}
	})
}
