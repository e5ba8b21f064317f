// Package guest stores what guests enter about themselves and their stay, and the links and sessions that they use for it.
// What the PMS sends stays in the reservation.
package guest

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entattempts "latchkey.dev/ent/attempts"
	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	"latchkey.dev/ent/predicate"
	entprofilelink "latchkey.dev/ent/profilelink"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mobilekey"
)

// Session is a new session with its token, which is not stored.
type Session struct {
	ID, Token, PropertyID string
	ReservationID         string // empty: the session opens a profile and no stay
	GuestID               string // of a companion; empty: the session acts for the whole party
	ExpiresAt             time.Time
}

// Origins of sessions. OriginMail is a mailed link, or a link that such a session made. OriginDoor is a QR code, or a phone that took the
// stay from a kiosk. The origin of a kiosk's session is the kiosk's id.
const (
	OriginMail = actor.OriginMail
	OriginDoor = actor.OriginDoor
)

// SessionSpec describes a session to create: the guest, where it began, and how long it lasts.
type SessionSpec struct {
	PropertyID, ReservationID string
	GuestID                   string // of a companion; empty: the session acts for the whole party
	Origin                    string // mail, door, or the id of a kiosk
	Device                    string // how the device describes itself, or ""
	HandedBy                  string // the session that handed the stay to this device, or empty
	TTL                       time.Duration
}

// CreateSession creates a session. The caller has verified the link or the two facts (booking number and name) of the guest. The oldest
// sessions of the guest with the same origin end, beyond maxSessions: see endOldest.
func CreateSession(tx *db.Tx, keys *keyring.Ring, s SessionSpec) (Session, error) {
	out := Session{
		ID: id.New(id.Session), Token: keyring.NewToken(keyring.SessionToken), PropertyID: s.PropertyID, ReservationID: s.ReservationID, GuestID: s.GuestID,
		ExpiresAt: tx.Now().Add(s.TTL),
	}
	err := tx.GuestSession.Create().SetID(out.ID).SetPropertyID(s.PropertyID).SetReservationID(s.ReservationID).SetGuestID(s.GuestID).
		SetOrigin(s.Origin).SetHandedBy(s.HandedBy).SetDevice(s.Device).SetUsedAt(tx.Now()).SetMAC(sessionMAC(keys, out.Token)).SetExpiresAt(out.ExpiresAt).SetCreatedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return Session{}, fmt.Errorf("store a guest's session: %w", err)
	}
	return out, endOldest(tx, s)
}

// maxSessions limits the active sessions of a guest that began in the same way: see [sameOrigin]. A further one ends the oldest: see
// [endOldest].
const maxSessions = 10

// sameOrigin returns the condition for the sessions that began in the same way as those of s. There are three ways: a mailed link; a QR
// code; a kiosk, with the phones that took the stay from it. Sessions of different ways do not end each other. So strangers who know two
// facts cannot end the session of a guest with a link, nor from afar that of a guest at the property.
func sameOrigin(s SessionSpec) predicate.GuestSession {
	fromAfar := guestsession.And(guestsession.Origin(OriginDoor), guestsession.HandedBy(""))
	switch {
	case s.Origin == OriginMail:
		return guestsession.Origin(OriginMail)
	case s.Origin == OriginDoor && s.HandedBy == "":
		return fromAfar
	}
	return guestsession.And(guestsession.OriginNEQ(OriginMail), guestsession.Not(fromAfar))
}

// endOldest ends the oldest active sessions beyond maxSessions among those that the guest of s began in the same way: see [sameOrigin]. It
// keeps the session that pressed check-in, and the phone that took the stay from it: their guest waits for the PIN.
func endOldest(tx *db.Tx, s SessionSpec) error {
	stay, err := LoadStay(tx, s.PropertyID, s.ReservationID)
	if err != nil {
		return err
	}
	alike := []predicate.GuestSession{
		guestsession.PropertyID(s.PropertyID), guestsession.ReservationID(s.ReservationID), guestsession.GuestID(s.GuestID),
		guestsession.RevokedAtIsNil(), guestsession.ExpiresAtGT(tx.Now()), sameOrigin(s),
	}
	if stay != nil && stay.AttemptSession != "" {
		alike = append(alike, guestsession.IDNEQ(stay.AttemptSession), guestsession.HandedByNEQ(stay.AttemptSession))
	}
	ids, err := tx.GuestSession.Query().Where(alike...).Order(ent.Desc(guestsession.FieldCreatedAt), ent.Desc(guestsession.FieldID)).
		Limit(2 * maxSessions).IDs(tx.Context())
	if err != nil {
		return fmt.Errorf("list the sessions of a stay: %w", err)
	}
	if len(ids) <= maxSessions {
		return nil
	}
	return endSessions(tx, s.PropertyID, guestsession.IDIn(ids[maxSessions:]...))
}

// sessionMAC returns the keyed hash under which the token of a guest's session is stored and found.
func sessionMAC(keys *keyring.Ring, token string) []byte { return keys.MAC("guestSession", token) }

// Authenticate returns the guest whose session has the token, of a stay or of a profile. An actor of a profile has a ProfileID and no
// ReservationID. For an unknown or ended session it returns [credential.Refused].
func Authenticate(view *db.Tx, keys *keyring.Ring, token string) (actor.Actor, error) {
	if !keyring.IsToken(token, keyring.SessionToken) {
		return actor.Actor{}, credential.Refused()
	}
	a, found, err := findSession(view, sessionMAC(keys, token))
	if err == nil && !found {
		a, found, err = findProfileSession(view, sessionMAC(keys, token))
	}
	if err == nil && !found {
		err = credential.Refused()
	}
	if err != nil {
		return actor.Actor{}, err
	}
	return a, nil
}

// IsSessionActive reports whether a session of a stay has neither expired nor been ended. It does not check whether the stay was canceled.
func IsSessionActive(view *db.Tx, propertyID, sessionID string) (bool, error) {
	found, err := view.GuestSession.Query().Where(active(view, propertyID, []predicate.GuestSession{guestsession.ID(sessionID)})...).Exist(view.Context())
	if err != nil {
		return false, fmt.Errorf("find whether a guest's session has ended: %w", err)
	}
	return found, nil
}

// EndSessions ends one session of a reservation, or all of them if sessionID is empty, with the SmartKeys of their browsers. It does
// nothing if none is active.
func EndSessions(tx *db.Tx, propertyID, reservationID, sessionID string) error {
	which := []predicate.GuestSession{guestsession.ReservationID(reservationID)}
	if sessionID != "" {
		which = append(which, guestsession.ID(sessionID))
	}
	return endSessions(tx, propertyID, which...)
}

// endSessionsOfCompanion ends all sessions of a companion. An empty guestID would end those of all main guests of the property.
func endSessionsOfCompanion(tx *db.Tx, propertyID, guestID string) error {
	return endSessions(tx, propertyID, guestsession.GuestID(guestID))
}

// EndKioskSessions ends the sessions that began at a kiosk. Those of phones that took a stay from it go on.
func EndKioskSessions(tx *db.Tx, propertyID, kioskID string) error {
	return endSessions(tx, propertyID, guestsession.Origin(kioskID))
}

// endSessions ends the sessions of a property that match all of which, and the SmartKeys of their browsers. It does nothing if there is
// none.
func endSessions(tx *db.Tx, propertyID string, which ...predicate.GuestSession) error {
	which = append(which, guestsession.PropertyID(propertyID), guestsession.RevokedAtIsNil())
	ids, err := tx.GuestSession.Query().Where(which...).IDs(tx.Context())
	if err != nil || len(ids) == 0 {
		return err
	}
	err = tx.GuestSession.Update().SetRevokedAt(tx.Now()).Where(guestsession.PropertyID(propertyID), guestsession.IDIn(ids...)).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("end sessions of guests: %w", err)
	}
	return mobilekey.RevokePhonesOfSessions(tx, propertyID, ids...)
}

// ExpiredRetention is how long links and sessions of guests are kept after they expire, and counts of failed searches after they begin.
const ExpiredRetention = 24 * time.Hour

// DeleteExpired deletes links and sessions that expired before a time, and counts of failed searches that began before it, of all
// properties. It deletes at most limit of each kind, and returns the largest number of a kind: with limit, more may remain.
func DeleteExpired(tx *db.Tx, before time.Time, limit int) (int, error) {
	ctx := tx.Context()
	sessions, err := tx.GuestSession.Query().Where(guestsession.ExpiresAtLT(before)).Limit(limit).IDs(ctx)
	if err == nil {
		_, err = tx.GuestSession.Delete().Where(guestsession.IDIn(sessions...)).Exec(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("delete expired sessions of guests: %w", err)
	}
	links, err := tx.GuestLink.Query().Where(guestlink.ExpiresAtLT(before)).Limit(limit).IDs(ctx)
	if err == nil {
		_, err = tx.GuestLink.Delete().Where(guestlink.IDIn(links...)).Exec(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("delete expired links of guests: %w", err)
	}
	profiles, err := tx.ProfileLink.Query().Where(entprofilelink.ExpiresAtLT(before)).Limit(limit).IDs(ctx)
	if err == nil {
		_, err = tx.ProfileLink.Delete().Where(entprofilelink.IDIn(profiles...)).Exec(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("delete expired links to profiles: %w", err)
	}
	counts, err := tx.Attempts.Query().Where(entattempts.BeganAtLT(before)).Limit(limit).IDs(ctx)
	if err == nil {
		_, err = tx.Attempts.Delete().Where(entattempts.IDIn(counts...)).Exec(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("delete counts of failed searches: %w", err)
	}
	return max(len(sessions), len(links), len(profiles), len(counts)), nil
}
