package guest

import (
	"fmt"

	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/watch"
)

// RecordCompletion stores when the party has given every required answer, and appends an event. If an answer becomes missing, it clears the
// time without an event, so that the next completion is recorded again. It does nothing if neither changed, or if the party's data were
// erased. The party must be from [LoadParty], because p.Stay is changed too.
func (p *Party) RecordCompletion(tx *db.Tx) error {
	if p.Reservation.ErasedAt != nil {
		return nil
	}
	complete := len(p.Incomplete()) == 0
	if complete == (p.Stay.FormCompletedAt != nil) {
		return nil
	}
	watch.Notify(tx, p.Stay.PropertyID, watch.Reservations, p.Stay.ReservationID)
	update := tx.Stay.Update().Where(entstay.PropertyID(p.Stay.PropertyID), entstay.ID(p.Stay.ID))
	if !complete {
		p.Stay.FormCompletedAt = nil
		update.ClearFormCompletedAt()
	} else {
		p.Stay.FormCompletedAt = new(tx.Now())
		update.SetFormCompletedAt(tx.Now())
	}
	if err := update.Exec(tx.Context()); err != nil {
		return fmt.Errorf("store that a form is complete: %w", err)
	}
	if !complete {
		return nil
	}
	return event.Append(tx, event.Event{
		PropertyID: p.Stay.PropertyID, Subject: p.Stay.ReservationID, Kind: event.PreCheckInCompleted,
		Body: map[string]any{"reservationId": p.Stay.ReservationID},
	})
}

// recordCompletion calls [Party.RecordCompletion] after a change of the party. It reads the party again with [LoadParty], because the
// answers of one guest decide what is asked of another. That also adds missing guests and removes surplus companions.
func recordCompletion(tx *db.Tx, keys *keyring.Ring, a actor.Actor) error {
	watch.Notify(tx, a.PropertyID, watch.Reservations, a.ReservationID)
	p, err := LoadParty(tx, keys, a.PropertyID, a.ReservationID)
	if err != nil {
		return err
	}
	return p.RecordCompletion(tx)
}
