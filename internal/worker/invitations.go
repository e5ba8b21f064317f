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

// Invitations orders the mails that invite guests to fill in their details before they arrive, and remind them.
type Invitations struct {
	Keys         *keyring.Ring
	Jobs         *jobs.Queue
	Reservations reservation.Service
	Every        time.Duration // Every is the interval between sweeps; 0 means 3 s
}

const (
	// invitationHorizon is the most days before arrival at which a property may invite, and one for time zones.
	invitationHorizon = 91 * 24 * time.Hour
	// changesOverlap is how many entries of the change log a sweep reads again, because a transaction may commit after another with
	// higher ids.
	changesOverlap  = 1000
	invitationBatch = 100
)

// A row of invitations is added when the arrival of a reservation comes within the horizon, and evaluated when next_at comes or the
// reservation changes. So no sweep reads reservations that are far away, past or unchanged.
const (
	insertInvitations = `INSERT INTO invitations (id, property_id, reservation_id, seen_at, next_at, created_at)
		SELECT r.id, r.property_id, r.id, r.created_at, $1, $2 FROM `
	isInvited   = `JOIN integrations AS g ON g.id = r.integration_id AND g.property_id = r.property_id AND g.invitations_at IS NOT NULL`
	enqueueNear = insertInvitations + `reservations AS r ` + isInvited + ` WHERE r.from_at > $3 AND r.from_at <= $4 AND r.state = 'confirmed'
		AND NOT EXISTS (SELECT 1 FROM invitations AS i WHERE i.id = r.id) ORDER BY r.from_at LIMIT $5 ON CONFLICT (id) DO NOTHING`
	enqueueMoved = insertInvitations + `reservation_changes AS c JOIN reservations AS r ON r.id = c.reservation_id AND r.property_id = c.property_id ` + isInvited + `
		WHERE c.id > $3 AND c.id <= $4 AND r.updated_at = c.changed_at AND r.from_at > $5 AND r.from_at <= $6
		AND NOT EXISTS (SELECT 1 FROM invitations AS i WHERE i.id = r.id AND i.seen_at = r.updated_at)
		ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at`
	newestSwitch = `SELECT MAX(invitations_at) FROM integrations`
)

// progress is how far the sweeps of a process have come.
type progress struct {
	near     time.Time // arrivals until then have rows
	change   int64     // entries of the change log until then were read
	switched string    // the newest time at which an integration was switched on
}

// Sweep orders due mails. Only one process of an installation may run it: see [Lease].
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

// enqueueInvitations adds rows for reservations that came within the horizon or changed since the last sweep.
func enqueueInvitations(ctx context.Context, d *db.DB, p *progress) error {
	view := d.View(ctx)
	last, err := reservation.LastChange(view)
	if err != nil {
		return err
	}
	now := view.Now()
	var switched *string
	if _, err := view.ReadOne(newestSwitch, nil, &switched); err != nil {
		return fmt.Errorf("find the integrations with invitations: %w", err)
	}
	if switched == nil {
		return nil
	}
	if *switched != p.switched {
		*p = progress{switched: *switched, change: last}
	}
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
	if last > p.change {
		err := d.Write(ctx, func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), enqueueMoved, now, now, p.change-changesOverlap, last, now.Add(-invitationHorizon), until)
			return err
		})
		if err != nil {
			return fmt.Errorf("enqueue invitations of changed reservations: %w", err)
		}
		p.change = last
	}
	return nil
}

// orderDue evaluates the rows that are due.
func (v Invitations) orderDue(ctx context.Context, d *db.DB) error {
	for range maxArrivalBatches {
		view := d.View(ctx)
		rows, err := view.Invitation.Query().Where(invitation.NextAtLTE(view.Now())).Order(invitation.ByNextAt()).Limit(invitationBatch).All(ctx)
		if err != nil {
			return fmt.Errorf("find due invitations: %w", err)
		}
		var failed error // a failure of one reservation does not stop the others
		for _, row := range rows {
			if err := v.evaluate(ctx, d, row); err != nil {
				failed = errors.Join(failed, fmt.Errorf("evaluate the invitation of %s: %w", row.ID, err))
			}
		}
		if failed != nil || len(rows) < invitationBatch {
			return failed
		}
	}
	return nil
}

// evaluate decides about one reservation, in one transaction with the mail that it orders.
func (v Invitations) evaluate(ctx context.Context, d *db.DB, row *ent.Invitation) error {
	return d.Write(ctx, func(tx *db.Tx) error {
		stay, err := reservation.Get(tx, reservation.Scope{PropertyID: row.PropertyID}, row.ReservationID)
		if err != nil {
			return err
		}
		e, err := v.load(tx, row.PropertyID, stay)
		if err != nil {
			return err
		}
		due, next := mail.DueMail(e.stayOf(row), e.schedule, tx.Now())
		update := tx.Invitation.Update().Where(invitation.PropertyID(row.PropertyID), invitation.ID(row.ID)).SetSeenAt(stay.UpdatedAt)
		if next.IsZero() {
			update.ClearNextAt()
		} else {
			update.SetNextAt(next.UTC())
		}
		if err := update.Exec(tx.Context()); err != nil {
			return fmt.Errorf("store the next decision: %w", err)
		}
		return v.order(tx, e, row, due)
	})
}

func rowsOf(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
