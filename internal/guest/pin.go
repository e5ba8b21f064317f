package guest

import (
	"fmt"

	"latchkey.dev/ent/guestsession"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

var errPINNotShown = fault.New(fault.Precondition, fault.PINNotShown, "there is no PIN to show here: the stay has no access now, or its PIN was shown or mailed before; use the link of the mail, or ask the desk")

// RevealPINs returns the PINs of a session's stay and records that the guest read them. A session that rests on two facts gets them
// only after its own check-in, and at a kiosk only once: who knows a number and a name must not get the PIN of a guest who is in.
func RevealPINs(tx *db.Tx, keys *keyring.Ring, a actor.Actor) (access.StayPINs, error) {
	reserved, err := loadReservation(tx, a.PropertyID, a.ReservationID)
	if err != nil {
		return access.StayPINs{}, err
	}
	if reserved.State != string(access.Started) {
		return access.StayPINs{}, errPINNotShown
	}
	pins, err := access.RevealPINs(access.Reconciler{Tx: tx, Keys: keys}, a.PropertyID, a.ReservationID)
	if err != nil {
		return access.StayPINs{}, err
	}
	if pins.PIN == "" && len(pins.Gates) == 0 {
		return access.StayPINs{}, errPINNotShown
	}
	if a.Origin != OriginMail {
		if err := useOnlyReveal(tx, a); err != nil {
			return access.StayPINs{}, err
		}
	}
	err = event.Append(tx, event.Event{
		PropertyID: a.PropertyID, Subject: event.Inside(a.ReservationID), Kind: event.PINShown,
		Body: map[string]any{"reservationId": a.ReservationID, "origin": a.Origin, "session": a.ID},
	})
	return pins, err
}

// useOnlyReveal refuses a session that did not check the guest in itself, and a kiosk's second reading.
func useOnlyReveal(tx *db.Tx, a actor.Actor) error {
	session, err := tx.GuestSession.Query().Where(guestsession.PropertyID(a.PropertyID), guestsession.ID(a.ID)).Only(tx.Context())
	if err != nil {
		return fmt.Errorf("load a guest's session: %w", err)
	}
	own, err := tx.Stay.Query().Where(entstay.PropertyID(a.PropertyID), entstay.ReservationID(a.ReservationID), entstay.AttemptSession(a.ID),
		entstay.AttemptStateIn("calling", "accepted")).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("load the check-in of a stay: %w", err)
	}
	if !own || a.Origin != OriginDoor && session.PinShown {
		return errPINNotShown
	}
	err = tx.GuestSession.Update().Where(guestsession.PropertyID(a.PropertyID), guestsession.ID(a.ID)).SetPinShown(true).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store that a PIN was shown: %w", err)
	}
	return nil
}
