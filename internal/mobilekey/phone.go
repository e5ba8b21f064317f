package mobilekey

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"latchkey.dev/ent"
	entkeystatus "latchkey.dev/ent/keystatus"
	entphone "latchkey.dev/ent/phone"
	entphonelink "latchkey.dev/ent/phonelink"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/smartkey"
)

// maxPhones limits the phones of a reservation.
const maxPhones = 100

var (
	errTooManyPhones = fault.New(fault.Precondition, fault.InUse, "this stay has %d phones, which is the maximum", maxPhones)
	errPhoneNotFound = fault.New(fault.NotFound, fault.NotFoundReason, "no such phone")
	errRevokedPhone  = fault.New(fault.Precondition, fault.SmartKeyRefused, "revoked: this phone's access was revoked; ask for a new link")
	errNoAccessNow   = fault.New(fault.Precondition, fault.Reason(access.NotCheckedIn), "this stay has no access now; ask again after check-in")
	errStayEnded     = fault.New(fault.Precondition, fault.StayEnded, "this stay is over: it was checked out or cancelled, or its end has passed. Do not ask again for it")
	errTooEarly      = fault.New(fault.Precondition, fault.Reason(access.WindowInFuture), "the stay begins more than a day from now; ask again then")
	errNoDoors       = fault.New(fault.Precondition, fault.Reason(access.NoLock), "no door of this stay has a lock that opens to a SmartKey")
)

// Row is a stored phone.
type Row = ent.Phone

// Key is a token with what the phone must know about its doors.
type Key struct {
	smartkey.Token
	Doors []KeyDoor
}

// KeyDoor is one door of a token.
type KeyDoor struct {
	ID       smartkey.Door
	Name     string
	Kind     string
	BridgeID string
}

// Enrol adds a phone to the reservation of a link and marks the link as used. possession is the phone's signed answer to the link's
// challenge. name is what the guest calls the phone. The Key is nil if the stay has no access now, is over, begins more than a day from
// now, or has no door that opens with a SmartKey; unless the stay is over, [Renew] may return it later. It returns a fault if the link or
// the answer is not valid, or if the reservation has maxPhones phones, revoked ones included.
func Enrol(tx *db.Tx, keys *keyring.Ring, secret string, possession []byte, name string) (*ent.Phone, *Key, error) {
	ctx := tx.Context()
	l, err := findLink(tx, keys, secret)
	if err != nil {
		return nil, nil, err
	}
	key, _, err := verifyPossession(keys, l.PropertyID, l.ID, smartkey.Enrol, possession, tx.Now())
	if err != nil {
		return nil, nil, err
	}
	companions, err := tx.Phone.Query().Where(entphone.PropertyID(l.PropertyID), entphone.ReservationID(l.ReservationID)).
		Order(entphone.ByID()).Limit(maxPhones).All(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("load the phones of a stay: %w", err)
	}
	if len(companions) >= maxPhones {
		return nil, nil, errTooManyPhones
	}
	subject := ""
	if len(companions) > 0 {
		subject = companions[0].Subject
	} else if subject, err = smartkey.NewSubject(rand.Reader); err != nil {
		return nil, nil, err
	}
	phoneID := id.New(id.Phone)
	label, err := sealLabel(tx, keys, l.PropertyID, phoneID, name)
	if err != nil {
		return nil, nil, err
	}
	p, err := tx.Phone.Create().SetID(phoneID).SetPropertyID(l.PropertyID).SetReservationID(l.ReservationID).SetNillableSession(l.Session).SetNillableGuestID(l.GuestID).
		SetLabel(label).SetKey(key.Encode()).SetKeyID(key.KeyID().String()).SetSubject(subject).SetCreatedAt(tx.Now()).Save(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("store a phone: %w", err)
	}
	if err := tx.PhoneLink.UpdateOne(l).SetUsedAt(tx.Now()).Exec(ctx); err != nil {
		return nil, nil, fmt.Errorf("mark a link as used: %w", err)
	}
	k, err := mintToken(tx, keys, p, key)
	if errors.Is(err, errNoAccessNow) || errors.Is(err, errStayEnded) || errors.Is(err, errNoDoors) || errors.Is(err, errTooEarly) {
		return p, nil, nil
	}
	return p, k, err
}

// sealLabel encrypts what a guest calls a phone, because it is often the guest's name; nil for an empty name.
func sealLabel(tx *db.Tx, keys *keyring.Ring, propertyID, phoneID, name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	sealed, err := keys.Seal(tx.Context(), propertyID, labelPurpose(phoneID), []byte(name))
	if err != nil {
		return nil, fmt.Errorf("seal the name of a phone: %w", err)
	}
	return sealed, nil
}

// Label returns what the guest calls a phone, or "".
func Label(view *db.Tx, keys *keyring.Ring, p *Row) (string, error) {
	if len(p.Label) == 0 {
		return "", nil
	}
	raw, err := keys.Open(view.Context(), p.PropertyID, labelPurpose(p.ID), p.Label)
	if err != nil {
		return "", fmt.Errorf("open the name of a phone: %w", err)
	}
	return string(raw), nil
}

// labelPurpose returns the associated data of the encrypted name of a phone.
func labelPurpose(phoneID string) string { return "phoneName/" + phoneID }

// EraseNames erases what the guests of a reservation call their phones.
func EraseNames(tx *db.Tx, propertyID, reservationID string) error {
	err := tx.Phone.Update().Where(entphone.PropertyID(propertyID), entphone.ReservationID(reservationID), entphone.LabelNotNil()).ClearLabel().Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("erase the names of phones of %s: %w", reservationID, err)
	}
	return nil
}

// NewRenewalChallenge returns the challenge that an enrolled phone must sign within challengeLife to get its next token from [Renew], and
// the phone's property, which the phone signs with it. It does not check whether the phone may renew, only that it exists (else a not-found
// fault).
func NewRenewalChallenge(view *db.Tx, keys *keyring.Ring, phoneID string) (propertyID string, challenge []byte, err error) {
	p, err := findPhone(view, phoneID)
	if err != nil {
		return "", nil, err
	}
	return p.PropertyID, newChallenge(keys, p.ID, view.Now()), nil
}

// findPhone returns a phone of any property, or a not-found fault.
func findPhone(tx *db.Tx, phoneID string) (*ent.Phone, error) {
	p, err := tx.Phone.Query().Where(entphone.ID(phoneID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, errPhoneNotFound
	}
	return p, err
}

// Get returns a phone of a property, or a not-found fault.
func Get(tx *db.Tx, propertyID, phoneID string) (*ent.Phone, error) {
	p, err := tx.Phone.Query().Where(entphone.ID(phoneID), entphone.PropertyID(propertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, errPhoneNotFound
	}
	return p, err
}

// Renew issues the next token of a phone. possession is the phone's signed answer to the challenge of [NewRenewalChallenge]. It returns a
// fault if there is no such phone, if the phone was revoked, or has answered this or a later challenge already. It returns one also if the
// stay has no access now, is over, begins more than a day from now, or has no door that opens with a SmartKey.
func Renew(tx *db.Tx, keys *keyring.Ring, phoneID string, possession []byte) (*Key, error) {
	p, err := findPhone(tx, phoneID)
	if err != nil {
		return nil, err
	}
	key, at, err := verifyPossession(keys, p.PropertyID, p.ID, smartkey.Renew, possession, tx.Now())
	switch {
	case err != nil:
		return nil, err
	case !slices.Equal(key.Encode(), p.Key):
		return nil, refusalFault(&smartkey.Refusal{Reason: smartkey.BadSignature, Detail: "the phone was enrolled with another key"})
	case at <= p.ChallengeAt:
		return nil, errChallenge
	case p.RevokedAt != nil:
		return nil, errRevokedPhone
	}
	if p, err = tx.Phone.UpdateOne(p).SetChallengeAt(at).Save(tx.Context()); err != nil {
		return nil, fmt.Errorf("store the time of a challenge: %w", err)
	}
	return mintToken(tx, keys, p, key)
}

// noAccessReason returns the fault for a phone whose stay has no grant: StayEnded if the stay was checked out, canceled or removed, or its
// end has passed, otherwise NotCheckedIn, also for a checked-in stay that has no grant for another reason.
func noAccessReason(tx *db.Tx, p *ent.Phone) error {
	stay, err := tx.Reservation.Query().Where(entreservation.PropertyID(p.PropertyID), entreservation.ID(p.ReservationID)).Only(tx.Context())
	switch {
	case ent.IsNotFound(err):
		return errStayEnded
	case err != nil:
		return fmt.Errorf("load the stay of a phone: %w", err)
	}
	switch access.State(stay.State) {
	case access.Processed, access.Canceled:
		return errStayEnded
	}
	if !stay.ToAt.After(tx.Now()) {
		return errStayEnded
	}
	return errNoAccessNow
}

// List returns the phones of a reservation, revoked ones included, oldest first, or a not-found fault if there is no such reservation.
func List(tx *db.Tx, propertyID, reservationID string) ([]*ent.Phone, error) {
	if err := requireReservation(tx, propertyID, reservationID); err != nil {
		return nil, err
	}
	return tx.Phone.Query().Where(entphone.PropertyID(propertyID), entphone.ReservationID(reservationID)).
		Order(entphone.ByID()).Limit(maxPhones).All(tx.Context())
}

// Revoke revokes a phone and its tokens, and publishes the status list by which bridges refuse them. It does nothing if the phone is
// revoked already, and returns a not-found fault if the property has no such phone.
func Revoke(tx *db.Tx, keys *keyring.Ring, propertyID, phoneID string) (*ent.Phone, error) {
	p, err := Get(tx, propertyID, phoneID)
	if err != nil || p.RevokedAt != nil {
		return p, err
	}
	if p, err = tx.Phone.UpdateOne(p).SetRevokedAt(tx.Now()).Save(tx.Context()); err != nil {
		return nil, fmt.Errorf("revoke a phone: %w", err)
	}
	held, err := tx.KeyStatus.Query().Where(entkeystatus.PropertyID(propertyID), entkeystatus.PhoneID(p.ID)).IDs(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the tokens of a phone: %w", err)
	}
	_, err = Reconcile(tx, keys, propertyID, held...)
	return p, err
}

// RevokePhonesOfSessions revokes the phones that sessions of guests enrolled, and deletes the unused links of these sessions. The server
// refuses their tokens at once, bridges after the next status list.
func RevokePhonesOfSessions(tx *db.Tx, propertyID string, sessions ...string) error {
	return revokePhones(tx, propertyID, entphone.SessionIn(sessions...), entphonelink.SessionIn(sessions...))
}

// RevokePhonesOfStay revokes all phones of a reservation, and deletes its unused links, like [RevokePhonesOfSessions].
func RevokePhonesOfStay(tx *db.Tx, propertyID, reservationID string) error {
	return revokePhones(tx, propertyID, entphone.ReservationID(reservationID), entphonelink.ReservationID(reservationID))
}

// revokePhones revokes the phones of a property that match a condition, and deletes the unused links that match the other.
func revokePhones(tx *db.Tx, propertyID string, phones predicate.Phone, links predicate.PhoneLink) error {
	n, err := tx.Phone.Update().SetRevokedAt(tx.Now()).Where(entphone.PropertyID(propertyID), phones, entphone.RevokedAtIsNil()).Save(tx.Context())
	if err != nil {
		return fmt.Errorf("revoke phones: %w", err)
	}
	if n > 0 {
		tx.Notify(access.Changed, propertyID)
	}
	_, err = tx.PhoneLink.Delete().Where(entphonelink.PropertyID(propertyID), links, entphonelink.UsedAtIsNil()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("delete the links of phones: %w", err)
	}
	return nil
}
