package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
)

// registerSweep closes the official forms of stays that have ended or were canceled: the forms of guests who arrived go to the guest
// register, see [guest.CloseForms]. It erases the answers of closed forms whose legal retention is over.
func (m Maintenance) registerSweep() Sweep {
	return Sweep{Name: "official forms of guests", Every: 6 * time.Hour, Run: func(ctx context.Context, d *db.DB) error {
		return errors.Join(m.forStays(ctx, d, guest.StaysToClose, guest.CloseForms), m.forStays(ctx, d, guest.StaysToErase, guest.EraseForms))
	}}
}

// forStays changes each of the listed stays in a transaction of its own. A failure at one stay does not stop the others.
func (m Maintenance) forStays(ctx context.Context, d *db.DB, list func(view *db.Tx, after string, limit int) ([]guest.StayKey, error),
	change func(tx *db.Tx, keys *keyring.Ring, propertyID, reservationID string) error) (failed error) {
	for after := ""; ; {
		stays, err := list(d.View(ctx), after, linkBatch)
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, k := range stays {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := d.Write(ctx, func(tx *db.Tx) error { return change(tx, m.Keys, k.PropertyID, k.ReservationID) }); err != nil {
				failed = errors.Join(failed, fmt.Errorf("official forms of %s: %w", k.ReservationID, err))
			}
			after = k.ReservationID
		}
		if len(stays) < linkBatch {
			return failed
		}
	}
}
