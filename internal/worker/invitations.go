package worker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/invitation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
)

// Invitations orders the mails that invite guests to fill in their details before they arrive, and remind them. It also ends or extends the
// links and sessions of changed stays, even while invitations are off: see apply.
type Invitations struct {
	Keys         *keyring.Ring
	Jobs         *jobs.Queue
	Reservations reservation.Service
	Every        time.Duration // Every is the interval between sweeps; 0 means 3 s
}

const (
	// invitationHorizon is the most days before arrival at which a property may invite, plus one day for time zones.
	invitationHorizon = 91 * 24 * time.Hour
	// changesOverlap is how many entries of the change log a sweep reads again, because a transaction may commit after another with
	// higher ids.
	changesOverlap  = 1000
	invitationBatch = 100
)

// progress is how far the sweeps of this process have come.
type progress struct {
	begun    bool
	near     time.Time // arrivals up to this time have rows of invitations; zero: none is known to have one
	change   int64     // entries of the change log up to this id were read
	switched string    // the newest time at which the invitations of an integration were switched on; a later one makes near zero again
}

// Sweep evaluates the invitations of reservations that changed or come near, and orders the mails that are due. Only one process of an
// installation may run it: see [Lease].
func (v Invitations) Sweep() Sweep {
	every := v.Every
	if every <= 0 {
		every = 3 * time.Second
	}
	var p progress
	return Sweep{Name: "invitations", Every: every, Run: func(ctx context.Context, d *db.DB) error {
		if err := enqueueInvitations(ctx, d, &p); err != nil {
			return err
		}
		return v.orderDue(ctx, d)
	}}
}

// enqueueInvitations adds rows of invitations for reservations that came within the horizon, and makes the rows of changed reservations
// due. It adds none for integrations whose invitations are off, and searches the whole horizon again after some were switched on. It
// records in p how far it came.
func enqueueInvitations(ctx context.Context, d *db.DB, p *progress) error {
	view := d.View(ctx)
	last, err := reservation.LastChange(view)
	if err != nil {
		return err
	}
	if !p.begun {
		if err := enqueueMissed(ctx, d); err != nil {
			return err
		}
		p.begun, p.change = true, last
	}
	var switched *string
	if _, err := view.ReadOne(newestSwitch, nil, &switched); err != nil {
		return fmt.Errorf("find the integrations with invitations: %w", err)
	}
	if switched != nil && *switched != p.switched {
		p.switched, p.near = *switched, time.Time{}
	}
	now := view.Now()
	if last > p.change {
		err := d.Write(ctx, func(tx *db.Tx) error {
			since, past, until := p.change-changesOverlap, now.Add(-invitationHorizon), now.Add(invitationHorizon)
			if _, err := tx.ExecContext(tx.Context(), enqueueChanged, now, since, last); err != nil || switched == nil {
				return err
			}
			_, err := tx.ExecContext(tx.Context(), enqueueMoved, now, now, since, last, past, until)
			return err
		})
		if err != nil {
			return fmt.Errorf("enqueue invitations of changed reservations: %w", err)
		}
		p.change = last
	}
	if switched == nil {
		return nil
	}
	return enqueueArrivals(ctx, d, p)
}

// enqueueArrivals adds rows of invitations for confirmed reservations whose arrival came within the horizon since p.near, and moves p.near
// to its end. If p.near is zero, it also adds stays that have begun.
func enqueueArrivals(ctx context.Context, d *db.DB, p *progress) error {
	now := d.View(ctx).Now()
	after, until := p.near, now.Add(invitationHorizon)
	if after.IsZero() {
		after = now.Add(-invitationHorizon) // guests whose stay has begun can still check in
	}
	for n := int64(1); n > 0; {
		err := d.Write(ctx, func(tx *db.Tx) (err error) {
			n, err = rowsOf(tx.ExecContext(tx.Context(), enqueueNear, now, now, after, until, invitationBatch))
			return err
		})
		if err != nil {
			return fmt.Errorf("enqueue invitations: %w", err)
		}
	}
	p.near = until
	return nil
}

// enqueueMissed makes the invitations due of reservations that changed while no process ran the sweep. It runs once after a start.
func enqueueMissed(ctx context.Context, d *db.DB) error {
	for after := ""; ; {
		ids, err := d.View(ctx).ReadIDs(findMissed, after, missedPage)
		if err != nil {
			return fmt.Errorf("find missed invitations: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		err = d.Write(ctx, func(tx *db.Tx) error {
			return tx.Invitation.Update().Where(invitation.IDIn(ids...)).SetNextAt(tx.Now()).Exec(tx.Context())
		})
		if err != nil {
			return fmt.Errorf("enqueue missed invitations: %w", err)
		}
		after = ids[len(ids)-1]
	}
}

// missedPage is how many missed rows one statement changes.
const missedPage = 500

// orderDue evaluates the invitations that are due and orders the mails that follow, in batches. If some of a batch fail, it postpones them,
// finishes the batch, and returns their errors. The number of batches is limited: the next sweep evaluates the rest.
func (v Invitations) orderDue(ctx context.Context, d *db.DB) error {
	for range maxArrivalBatches {
		view := d.View(ctx)
		rows, err := view.Invitation.Query().Where(invitation.NextAtLTE(view.Now())).Order(invitation.ByNextAt()).Limit(invitationBatch).All(ctx)
		if err != nil {
			return fmt.Errorf("find due invitations: %w", err)
		}
		var failed error // a failure of one reservation does not stop the others
		for _, row := range rows {
			err := v.evaluate(ctx, d, row)
			if err == nil {
				continue
			}
			failed = errors.Join(failed, fmt.Errorf("evaluate the invitation of %s: %w", row.ID, err))
			if err := postpone(ctx, d, row); err != nil {
				return errors.Join(failed, err)
			}
		}
		if failed != nil || len(rows) < invitationBatch {
			return failed
		}
	}
	return nil
}

// retryInvitation is the wait after which a failed evaluation of an invitation is repeated.
const retryInvitation = 5 * time.Minute

// postpone makes an invitation whose evaluation failed due again after retryInvitation, so that it does not hold up the others.
func postpone(ctx context.Context, d *db.DB, row *ent.Invitation) error {
	err := d.Write(ctx, func(tx *db.Tx) error {
		return tx.Invitation.Update().Where(invitation.PropertyID(row.PropertyID), invitation.ID(row.ID)).SetNextAt(tx.Now().Add(retryInvitation)).Exec(tx.Context())
	})
	if err != nil {
		return fmt.Errorf("postpone an invitation: %w", err)
	}
	return nil
}

// evaluate decides about the booking that a reservation belongs to, and orders its mails in the same transaction. It does nothing if
// another reservation of the group caused the evaluation already.
func (v Invitations) evaluate(ctx context.Context, d *db.DB, row *ent.Invitation) error {
	return d.Write(ctx, func(tx *db.Tx) error {
		due, err := tx.Invitation.Query().Where(invitation.PropertyID(row.PropertyID), invitation.ID(row.ID), invitation.NextAtLTE(tx.Now())).Exist(tx.Context())
		if err != nil || !due {
			return err // nil if the row is no longer due: another reservation of the group caused the evaluation
		}
		stay, err := reservation.Get(tx, reservation.Scope{PropertyID: row.PropertyID}, row.ReservationID)
		if err != nil {
			return err
		}
		b, err := v.loadBooking(tx, stay)
		if err != nil {
			return err
		}
		rooms, err := b.facts(tx)
		if err != nil {
			return err
		}
		return v.apply(tx, b, mail.Decide(rooms, b.grouped, b.schedule, tx.Now()))
	})
}

// rowsOf returns how many rows a statement changed. Its arguments are the results of ExecContext.
func rowsOf(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
