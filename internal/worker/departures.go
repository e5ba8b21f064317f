package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/mail"
)

const (
	departureEvery = 10 * time.Minute
	// departureNotice is how long before the departure guests are reminded: the evening before, for most check-out times.
	departureNotice = 18 * time.Hour
	departureBatch  = 200
)

// Departures mails guests who leave soon and have not given an answer that the law wants by the departure. Only one process of an
// installation may run it: see [Lease].
func (m Mails) Departures() Sweep {
	return Sweep{Name: "departures", Every: departureEvery, Run: func(ctx context.Context, d *db.DB) (failed error) {
		for _, law := range rule.AskLater() {
			failed = errors.Join(failed, m.remindDepartures(ctx, d, law))
		}
		return failed
	}}
}

// remindDepartures orders the mails to guests who leave soon and must still complete the official form of a law. A failure at one stay does
// not stop the others.
func (m Mails) remindDepartures(ctx context.Context, d *db.DB, law string) (failed error) {
	for after := ""; ctx.Err() == nil; {
		now := d.View(ctx).Now()
		stays, err := listDepartures(d.View(ctx), law, now, now.Add(departureNotice), after)
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, k := range stays {
			if err := m.remindDeparture(ctx, d, k); err != nil {
				failed = errors.Join(failed, fmt.Errorf("remind the guest of %s before departure: %w", k.ReservationID, err))
			}
			after = k.ReservationID
		}
		if len(stays) < departureBatch {
			return failed
		}
	}
	return errors.Join(failed, ctx.Err())
}

// remindDeparture orders the mail of a stay, once for each time of departure. It orders none if no answer is missing, or if the guest gets
// no mails: then the front desk asks the guest.
func (m Mails) remindDeparture(ctx context.Context, d *db.DB, k guest.StayKey) error {
	view := d.View(ctx)
	p, _, err := guest.ViewParty(view, m.Keys, k.PropertyID, k.ReservationID)
	if err != nil || !isOpenAtDeparture(p) {
		return err
	}
	if to, err := m.Address(view, p); err != nil || to == "" {
		return err
	}
	return d.Write(ctx, func(tx *db.Tx) error {
		_, err := mail.Order(tx, m.Keys, m.Jobs, mail.Mail{
			PropertyID: k.PropertyID, Kind: mail.Departure, ReservationID: k.ReservationID,
			OnceKey: fmt.Sprintf("%s/%s/%s", k.ReservationID, mail.Departure, p.Reservation.ToAt.UTC().Format(time.RFC3339)),
		})
		return err
	})
}

// isOpenAtDeparture reports whether the guests of a stay are checked in and have not given every answer that they must give before they
// leave.
func isOpenAtDeparture(p *guest.Party) bool {
	return p.Reservation.State == string(access.Started) && slices.ContainsFunc(p.Members, func(g guest.Member) bool { return len(g.Open) > 0 })
}
