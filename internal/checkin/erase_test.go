package checkin_test

import (
	"fmt"
	"testing"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// The answers of a canceled stay are kept for 30 days after the latest cancelation, whatever the state was before.
func TestEraseCanceled(t *testing.T) {
	type step struct {
		after time.Duration // since the step before
		state string        // the PMS sends it; empty: nothing changes
		erase int           // what the sweep erases then
	}
	const wait = checkin.CanceledRetention
	for name, steps := range map[string][]step{
		"canceled":                           {{time.Hour, "canceled", 0}, {wait - time.Second, "", 0}, {time.Second, "", 1}, {0, "", 0}},
		"started, then canceled":             {{time.Hour, "started", 0}, {time.Hour, "canceled", 0}, {wait - time.Second, "", 0}, {time.Second, "", 1}},
		"processed, then canceled":           {{time.Hour, "started", 0}, {time.Hour, "processed", 0}, {time.Hour, "canceled", 0}, {wait, "", 1}},
		"taken back":                         {{time.Hour, "canceled", 0}, {time.Hour, "confirmed", 0}, {wait, "", 0}},
		"canceled again at the end":          {{time.Hour, "canceled", 0}, {wait, "confirmed", 0}, {0, "canceled", 0}, {wait - time.Second, "", 0}, {time.Second, "", 1}},
		"canceled, and sent again unchanged": {{time.Hour, "canceled", 0}, {wait - time.Second, "canceled", 0}, {time.Second, "", 1}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.begin()
				for i, s := range steps {
					x.clock.Advance(s.after)
					if s.state != "" {
						x.push(reservation.Patch{reservation.State: s.state, reservation.ToDate: fmt.Sprintf("2027-11-%02d", 10+i)})
						x.sweep()
					}
					x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
						n, err := checkin.EraseCanceled(tx, tx.Now().Add(-wait), 10)
						if n != s.erase {
							x.Errorf("step %d: erased %d, want %d", i, n, s.erase)
						}
						return err
					}))
				}
			})
		})
	}
}

// The answers of a stay that was checked in or processed before it was canceled are erased too.
func TestEraseCanceledAfterCheckIn(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		x.push(reservation.Patch{reservation.State: "canceled"})
		x.sweep()
		x.clock.Advance(checkin.CanceledRetention + time.Hour)
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
			n, err := checkin.EraseCanceled(tx, tx.Now().Add(-checkin.CanceledRetention), 10)
			if n != 1 {
				x.Errorf("erased %d guests, want 1", n)
			}
			return err
		}))
	})
}
