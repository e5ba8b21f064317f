package guest

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/guestsession"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

// Withheld is why a session does not get the PIN of its stay. The values are those of the API.
type Withheld string

const (
	NotWithheld  Withheld = ""
	NotCheckedIn Withheld = "notCheckedIn" // the PMS has not started the stay
	StayOver     Withheld = "ended"        // the stay is over or canceled
	NoCode       Withheld = "noCode"       // no door of the stay has a code now
	OtherSession Withheld = "otherSession" // a session of two facts (booking number and name) that did not check the guest in itself
	ShownBefore  Withheld = "shownBefore"  // a session of a kiosk gets the code once
)

// withheldTexts say why a PIN is withheld, and what to do.
var withheldTexts = map[Withheld]string{
	NotCheckedIn: "there is no PIN yet: the stay is not checked in",
	StayOver:     "there is no PIN any more: the stay has ended",
	NoCode:       "no door of the stay has a code now: read the doors of the stay, or ask the desk",
	OtherSession: "the PIN is shown only to the session that checked the guest in: use the link of the mail, or ask the desk",
	ShownBefore:  "the PIN was shown at this kiosk before: use the link of the mail, or ask the desk",
}

// MetaWithheld is the key of a fault's Meta that has the [Withheld] reason.
const MetaWithheld = "withheld"

// err returns the error of a withheld PIN, with the reason in its Meta. w must not be NotWithheld, for which the error would have no text.
func (w Withheld) err() error {
	return fault.New(fault.Precondition, fault.PINNotShown, "%s", withheldTexts[w]).Put(MetaWithheld, string(w))
}

// WithheldFrom returns why a session does not get the PIN of a stay, or NotWithheld. shown means that the session got the PIN before. It
// does not check whether doors have codes. A session of two facts (booking number and name) gets the PIN only after its own check-in, and
// at a kiosk only once: a person who knows the two facts must not get the PIN of a guest who is in house.
func WithheldFrom(a actor.Actor, state string, stay *ent.Stay, shown bool) Withheld {
	pressed := stay != nil && isPressedBy(a, stay) && mayBeCheckedIn(stay)
	switch {
	case state == "processed" || state == "canceled":
		return StayOver
	case state != string(access.Started):
		return NotCheckedIn
	case a.Origin == OriginMail:
		return NotWithheld
	case !pressed:
		return OtherSession
	case a.Origin != OriginDoor && shown:
		return ShownBefore
	}
	return NotWithheld
}

// mayBeCheckedIn reports whether the PMS accepted the guest's check-in, or could have: a call runs, or its effect is not known.
func mayBeCheckedIn(stay *ent.Stay) bool {
	return stay.AttemptState == "calling" || stay.AttemptState == "accepted"
}

// isPressedBy reports whether check-in was pressed in a session, or in the kiosk's session that handed the stay to this phone. stay must
// not be nil.
func isPressedBy(a actor.Actor, stay *ent.Stay) bool {
	return stay.AttemptSession == a.ID || a.HandedBy != "" && stay.AttemptSession == a.HandedBy
}

// PINWithheld returns why a session does not get the PIN of the party's stay, or NotWithheld. It does not check whether doors have codes.
func (p *Party) PINWithheld(view *db.Tx, a actor.Actor) (Withheld, error) {
	return withheldNow(view, a, p.Reservation.State, p.Stay)
}

// withheldNow returns why a session does not get a PIN, or NotWithheld. It loads whether the session was shown the PIN before.
func withheldNow(view *db.Tx, a actor.Actor, state string, stay *ent.Stay) (Withheld, error) {
	shown := false
	if a.Origin != OriginMail && a.Origin != OriginDoor {
		session, err := view.GuestSession.Query().Where(guestsession.PropertyID(a.PropertyID), guestsession.ID(a.ID)).Only(view.Context())
		if err != nil {
			return "", fmt.Errorf("load a guest's session: %w", err)
		}
		shown = session.PinShown
	}
	return WithheldFrom(a, state, stay, shown), nil
}

// RevealPINs returns the PINs of a session's stay and records that the guest read them, because a kiosk's session gets them only once. It
// appends an event about that, at most one of a session in pinShownAgain. The error has the [Withheld] reason if the session must not get
// them, see [WithheldFrom], or if no door has a code.
func RevealPINs(tx *db.Tx, keys *keyring.Ring, a actor.Actor) (access.StayPINs, error) {
	reserved, err := loadReservation(tx, a.PropertyID, a.ReservationID)
	if err != nil {
		return access.StayPINs{}, err
	}
	stay, err := LoadStay(tx, a.PropertyID, a.ReservationID)
	if err != nil {
		return access.StayPINs{}, err
	}
	withheld, err := withheldNow(tx, a, reserved.State, stay)
	if err != nil {
		return access.StayPINs{}, err
	}
	if withheld != NotWithheld {
		return access.StayPINs{}, withheld.err()
	}
	pins, err := access.RevealPINs(access.Reconciler{Tx: tx, Keys: keys}, a.PropertyID, a.ReservationID)
	if err != nil {
		return access.StayPINs{}, err
	}
	if pins.IsEmpty() {
		return access.StayPINs{}, NoCode.err()
	}
	if a.Origin != OriginMail {
		err := tx.GuestSession.Update().Where(guestsession.PropertyID(a.PropertyID), guestsession.ID(a.ID)).SetPinShown(true).Exec(tx.Context())
		if err != nil {
			return access.StayPINs{}, fmt.Errorf("store that a PIN was shown: %w", err)
		}
	}
	return pins, recordPINShown(tx, a)
}

// pinShownAgain is how long the event that a session read the PIN covers further reads. A page reads the PIN each time it is shown, and
// events are kept for long.
const pinShownAgain = 10 * time.Minute

// recordPINShown records that a session read the PIN of its stay, unless it read it a short time ago.
func recordPINShown(tx *db.Tx, a actor.Actor) error {
	subject := event.InternalSubject(a.ReservationID)
	recent, err := event.Since(tx, a.PropertyID, subject, event.PINShown, tx.Now().Add(-pinShownAgain))
	if err != nil {
		return err
	}
	for _, e := range recent {
		if e.Body["session"] == a.ID {
			return nil
		}
	}
	return event.Append(tx, event.Event{
		PropertyID: a.PropertyID, Subject: subject, Kind: event.PINShown,
		Body: map[string]any{"reservationId": a.ReservationID, "origin": a.Origin, "session": a.ID},
	})
}
