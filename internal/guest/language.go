package guest

import (
	"fmt"
	"strings"

	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/watch"
)

// ChooseLanguage stores the language that the guest of a session reads. ofBrowser means that only the browser asked for it: see
// [KeepLanguage]. It refuses a session that must not change the stay.
func ChooseLanguage(tx *db.Tx, keys *keyring.Ring, a actor.Actor, language string, ofBrowser bool) error {
	if _, err := loadTrustedParty(tx, keys, a); err != nil {
		return err
	}
	return KeepLanguage(tx, a, language, ofBrowser)
}

// KeepLanguage stores the language of the page on which a guest did something. A language that only the browser asked for is stored as by
// [SetFirstLanguage], any other as by [SetLanguage]. Unlike [ChooseLanguage] it does not check the session.
func KeepLanguage(tx *db.Tx, a actor.Actor, language string, ofBrowser bool) error {
	if ofBrowser {
		return SetFirstLanguage(tx, a.PropertyID, a.ReservationID, a.GuestID, language)
	}
	return SetLanguage(tx, a.PropertyID, a.ReservationID, a.GuestID, language)
}

// SetLanguage stores the language that a guest of a stored party reads: a companion, or the main guest if guestID is empty. Mails to the
// guest use it. An empty language changes nothing, and one without texts is an error.
func SetLanguage(tx *db.Tx, propertyID, reservationID, guestID, language string) error {
	return setLanguage(tx, propertyID, reservationID, guestID, language)
}

// SetFirstLanguage is [SetLanguage] for the language of a browser. It sets the language only if the guest has none: the guest did not
// choose it, and another device of the guest may have another language.
func SetFirstLanguage(tx *db.Tx, propertyID, reservationID, guestID, language string) error {
	return setLanguage(tx, propertyID, reservationID, guestID, language, entguest.Language(""))
}

// setLanguage is SetLanguage for a guest who also matches which. For another guest it changes nothing.
func setLanguage(tx *db.Tx, propertyID, reservationID, guestID, language string, which ...predicate.Guest) error {
	if language == "" {
		return nil
	}
	known, ok := message.Find(language)
	if !ok {
		return fault.Fields(fault.Field{Path: "language", Reason: fault.WrongValue, Message: "has no texts: send one of " + strings.Join(message.Languages(), ", ")})
	}
	change := tx.Guest.Update().SetLanguage(known).
		Where(entguest.PropertyID(propertyID), entguest.ReservationID(reservationID), entguest.LanguageNEQ(known)).Where(which...)
	if guestID == "" {
		change.Where(entguest.Role(Main))
	} else {
		change.Where(entguest.ID(guestID))
	}
	n, err := change.Save(tx.Context())
	if err != nil {
		return fmt.Errorf("store the language of a guest: %w", err)
	}
	if n > 0 {
		watch.Notify(tx, propertyID, watch.Reservations, reservationID)
	}
	return nil
}

// LanguageOf returns the language that a guest reads: a companion, or the main guest if guestID is empty. A companion whose language is not
// known has that of the main guest. It returns "" if none is known.
func LanguageOf(view *db.Tx, propertyID, reservationID, guestID string) (language string, err error) {
	guests, err := ListGuests(view, propertyID, reservationID)
	if err != nil {
		return "", err
	}
	for _, g := range guests {
		if g.ID == guestID && g.Language != "" {
			return g.Language, nil
		}
		if g.Role == Main {
			language = g.Language
		}
	}
	return language, nil
}
