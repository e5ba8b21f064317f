package phone

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"latchkey.dev/ent"
	entphonelink "latchkey.dev/ent/phonelink"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/smartkey"
)

const (
	linkMAC  = "smartkey link"
	linkLife = 24 * time.Hour
	// mostLinks bounds the links of a stay that can be used.
	mostLinks = 20
)

var (
	errLink      = fault.New(fault.Invalid, fault.LinkInvalid, "the link is not valid: mistyped, used by another phone, or over; ask for a new one")
	errTooMany   = fault.New(fault.Precondition, fault.InUse, "this stay has %d open links; wait until one is used or over", mostLinks)
	errChallenge = fault.New(fault.Invalid, fault.SmartKeyRefused, "wrongChallenge: the challenge is over or was answered before; ask for a new one")
)

// Link is a link as it is shown once.
type Link struct {
	Secret  string
	Expires time.Time
}

// CreateLink makes a link with which one phone joins a stay.
func CreateLink(tx *db.Tx, keys *keyring.Ring, propertyID, reservationID string, life time.Duration) (Link, error) {
	ctx := tx.Context()
	if err := exists(tx, propertyID, reservationID); err != nil {
		return Link{}, err
	}
	if _, err := ensure(tx, keys, propertyID); err != nil {
		return Link{}, err
	}
	open, err := tx.PhoneLink.Query().Where(entphonelink.PropertyID(propertyID), entphonelink.ReservationID(reservationID),
		entphonelink.UsedAtIsNil(), entphonelink.ExpiresAtGT(tx.Now())).Count(ctx)
	switch {
	case err != nil:
		return Link{}, fmt.Errorf("count the links of a stay: %w", err)
	case open >= mostLinks:
		return Link{}, errTooMany
	case life <= 0:
		life = linkLife
	}
	l := Link{Secret: keyring.NewToken(keyring.PhoneLink), Expires: tx.Now().Add(life)}
	err = tx.PhoneLink.Create().SetID(id.New(id.PhoneLink)).SetPropertyID(propertyID).SetReservationID(reservationID).
		SetMAC(keys.MAC(linkMAC, l.Secret)).SetExpiresAt(l.Expires).SetCreatedAt(tx.Now()).Exec(ctx)
	if err != nil {
		return Link{}, fmt.Errorf("store a link: %w", err)
	}
	return l, nil
}

func exists(tx *db.Tx, propertyID, reservationID string) error {
	found, err := tx.Reservation.Query().Where(entreservation.ID(reservationID), entreservation.PropertyID(propertyID)).Exist(tx.Context())
	if err == nil && !found {
		err = fault.New(fault.NotFound, fault.ReservationNotFound, "no reservation %s at this property", reservationID)
	}
	return err
}

// find is an open link by its secret.
func find(tx *db.Tx, keys *keyring.Ring, secret string) (*ent.PhoneLink, error) {
	if !keyring.IsToken(secret, keyring.PhoneLink) {
		return nil, errLink
	}
	l, err := tx.PhoneLink.Query().Where(entphonelink.MAC(keys.MAC(linkMAC, secret))).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, errLink
	}
	if err != nil {
		return nil, fmt.Errorf("look for a link: %w", err)
	}
	if l.UsedAt != nil || !tx.Now().Before(l.ExpiresAt) {
		return nil, errLink
	}
	return l, nil
}

// Look says what a link is for. It reads only.
type Look struct {
	PropertyID, PropertyName string
	Challenge                []byte
	Expires                  time.Time
}

// LookAt looks at a link without using it up.
func LookAt(view *db.Tx, keys *keyring.Ring, secret string) (Look, error) {
	l, err := find(view, keys, secret)
	if err != nil {
		return Look{}, err
	}
	p, err := view.Property.Get(view.Context(), l.PropertyID)
	if err != nil {
		return Look{}, fmt.Errorf("load the property of a link: %w", err)
	}
	return Look{p.ID, p.Name, challenge(keys, l.ID, view.Now()), l.ExpiresAt}, nil
}

// A challenge is when it was drawn, in microseconds, chance, and a MAC over both and whom it was drawn for: nothing has to
// be stored until it is answered.
const (
	challengeTime = 8
	challengeBody = 16
	challengeMAC  = 16
	challengeLife = 5 * time.Minute
)

func challenge(keys *keyring.Ring, subject string, now time.Time) []byte {
	body := make([]byte, challengeBody, challengeBody+challengeMAC)
	binary.BigEndian.PutUint64(body, uint64(now.UnixMicro()))
	_, _ = rand.Read(body[challengeTime:])
	return append(body, challengeSum(keys, subject, body)...)
}

func challengeSum(keys *keyring.Ring, subject string, body []byte) []byte {
	return keys.MAC("smartkey challenge", subject, string(body))[:challengeMAC]
}

// drawn says when a challenge was drawn for a subject, in microseconds.
func drawn(keys *keyring.Ring, subject string, challenge []byte, now time.Time) (int64, error) {
	if len(challenge) != challengeBody+challengeMAC || !hmac.Equal(challenge[challengeBody:], challengeSum(keys, subject, challenge[:challengeBody])) {
		return 0, errChallenge
	}
	at := int64(binary.BigEndian.Uint64(challenge))
	if age := now.Sub(time.UnixMicro(at)); age < 0 || age >= challengeLife {
		return 0, errChallenge
	}
	return at, nil
}

// possessed checks a phone's statement against the challenge that it answers. It returns the key and when the challenge was
// drawn.
func possessed(keys *keyring.Ring, propertyID, subject string, purpose smartkey.Purpose, raw []byte, now time.Time) (smartkey.PublicKey, int64, error) {
	answered, err := smartkey.ChallengeOf(raw)
	if err != nil {
		return smartkey.PublicKey{}, 0, refusal(err)
	}
	key, err := smartkey.VerifyPossession(raw, smartkey.Question{Property: propertyID, Purpose: purpose, Challenge: answered})
	if err != nil {
		return key, 0, refusal(err)
	}
	at, err := drawn(keys, subject, answered, now)
	return key, at, err
}

// refusal tells a phone which word of the specification its document deserves.
func refusal(err error) error {
	return fault.New(fault.Invalid, fault.SmartKeyRefused, "%s: see docs/smartkey.md for the word", smartkey.ReasonOf(err)).With(err)
}

func sweepLinks(tx *db.Tx, most int) error {
	ids, err := tx.PhoneLink.Query().Where(entphonelink.ExpiresAtLT(tx.Now().Add(-linkLife))).Limit(most).IDs(tx.Context())
	if err != nil || len(ids) == 0 {
		return err
	}
	_, err = tx.PhoneLink.Delete().Where(entphonelink.IDIn(ids...)).Exec(tx.Context())
	return err
}
