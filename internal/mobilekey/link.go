package mobilekey

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"latchkey.dev/ent"
	entphonelink "latchkey.dev/ent/phonelink"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/smartkey"
)

const (
	linkMAC      = "smartkey link" // purpose of the MAC by which links are stored
	linkLifetime = 24 * time.Hour  // life of a link without a LinkSpec.Lifetime
	// maxOpenLinks limits the unused links of a reservation that have not expired. A further one is refused.
	maxOpenLinks = 20
)

var (
	errInvalidLink  = fault.New(fault.Invalid, fault.LinkInvalid, "the link is not valid: it is mistyped, used by another phone, or expired; ask for a new one")
	errTooManyLinks = fault.New(fault.Precondition, fault.InUse, "this stay has %d open links; wait until one is used or expires", maxOpenLinks)
	errChallenge    = fault.New(fault.Invalid, fault.SmartKeyRefused, "wrongChallenge: the challenge has expired or was answered before; ask for a new one")
)

// Link is a new link for enrolling a phone for a reservation. Its secret is not stored and cannot be shown again.
type Link struct {
	Secret  string
	Expires time.Time
}

// LinkSpec describes a link to create.
type LinkSpec struct {
	PropertyID, ReservationID string
	Session                   string        // the guest's session whose phone enrols, or empty: staff make the link
	GuestID                   string        // the companion of the session; empty: the main guest, also for a link of staff
	Lifetime                  time.Duration // 0: a day
}

// CreateLink creates a link with which one phone enrols for a reservation, and the property's issuer if there is none. A new link for a
// guest's session replaces the session's former unused link. It returns a fault if the reservation does not exist, or has maxOpenLinks
// unused links that have not expired. It does not check whether the stay has access.
func CreateLink(tx *db.Tx, keys *keyring.Ring, spec LinkSpec) (Link, error) {
	ctx := tx.Context()
	if err := requireReservation(tx, spec.PropertyID, spec.ReservationID); err != nil {
		return Link{}, err
	}
	if _, err := loadOrCreateIssuer(tx, keys, spec.PropertyID); err != nil {
		return Link{}, err
	}
	unused := []predicate.PhoneLink{entphonelink.PropertyID(spec.PropertyID), entphonelink.ReservationID(spec.ReservationID), entphonelink.UsedAtIsNil()}
	if spec.Session != "" {
		if _, err := tx.PhoneLink.Delete().Where(append(unused, entphonelink.Session(spec.Session))...).Exec(ctx); err != nil {
			return Link{}, fmt.Errorf("replace the link of a session: %w", err)
		}
	}
	open, err := tx.PhoneLink.Query().Where(append(unused, entphonelink.ExpiresAtGT(tx.Now()))...).Count(ctx)
	switch {
	case err != nil:
		return Link{}, fmt.Errorf("count the links of a stay: %w", err)
	case open >= maxOpenLinks:
		return Link{}, errTooManyLinks
	}
	l := Link{Secret: keyring.NewToken(keyring.PhoneLink), Expires: tx.Now().Add(cmp.Or(spec.Lifetime, linkLifetime))}
	create := tx.PhoneLink.Create().SetGuestID(spec.GuestID)
	if spec.Session != "" {
		create.SetSession(spec.Session)
	}
	err = create.SetID(id.New(id.PhoneLink)).SetPropertyID(spec.PropertyID).SetReservationID(spec.ReservationID).
		SetMAC(keys.MAC(linkMAC, l.Secret)).SetExpiresAt(l.Expires).SetCreatedAt(tx.Now()).Exec(ctx)
	if err != nil {
		return Link{}, fmt.Errorf("store a link: %w", err)
	}
	return l, nil
}

// requireReservation returns a not-found fault if the property has no such reservation.
func requireReservation(tx *db.Tx, propertyID, reservationID string) error {
	found, err := tx.Reservation.Query().Where(entreservation.ID(reservationID), entreservation.PropertyID(propertyID)).Exist(tx.Context())
	if err == nil && !found {
		err = fault.New(fault.NotFound, fault.ReservationNotFound, "no reservation %s at this property", reservationID)
	}
	return err
}

// findLink returns the open link with a secret, or a fault if it does not exist, has expired or was used.
func findLink(tx *db.Tx, keys *keyring.Ring, secret string) (*ent.PhoneLink, error) {
	if !keyring.IsToken(secret, keyring.PhoneLink) {
		return nil, errInvalidLink
	}
	l, err := tx.PhoneLink.Query().Where(entphonelink.MAC(keys.MAC(linkMAC, secret))).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, errInvalidLink
	}
	if err != nil {
		return nil, fmt.Errorf("load a link: %w", err)
	}
	if l.UsedAt != nil || !tx.Now().Before(l.ExpiresAt) {
		return nil, errInvalidLink
	}
	return l, nil
}

// LinkOffer is what an open link shows to the phone before it enrols.
type LinkOffer struct {
	PropertyID, PropertyName string
	Challenge                []byte    // Challenge must be signed by the phone within challengeLife to enrol
	Expires                  time.Time // Expires is the end of the link, not of the challenge
}

// DescribeLink returns what a phone needs to know about a link before it enrols, with the challenge to sign within challengeLife. It does
// not use up the link. It returns a fault if the link does not exist, has expired or was used.
func DescribeLink(view *db.Tx, keys *keyring.Ring, secret string) (LinkOffer, error) {
	l, err := findLink(view, keys, secret)
	if err != nil {
		return LinkOffer{}, err
	}
	p, err := view.Property.Get(view.Context(), l.PropertyID)
	if err != nil {
		return LinkOffer{}, fmt.Errorf("load the property of a link: %w", err)
	}
	return LinkOffer{p.ID, p.Name, newChallenge(keys, l.ID, view.Now()), l.ExpiresAt}, nil
}

// A challenge contains the time of its creation in microseconds, random bytes, and a MAC over both and the subject it was
// created for. So the server stores nothing until the challenge is answered.
const (
	challengeTime = 8               // bytes of the time
	challengeBody = 16              // bytes of the time and the random bytes, which the MAC follows
	challengeMAC  = 16              // bytes of the MAC
	challengeLife = 5 * time.Minute // how long a challenge can be answered
)

// newChallenge returns a challenge that a phone must sign within challengeLife of now. The server does not store it: see [verifyChallenge].
// subject is the id of the link or of the enrolled phone.
func newChallenge(keys *keyring.Ring, subject string, now time.Time) []byte {
	body := make([]byte, challengeBody, challengeBody+challengeMAC)
	binary.BigEndian.PutUint64(body, uint64(now.UnixMicro()))
	_, _ = rand.Read(body[challengeTime:])
	return append(body, challengeMACOf(keys, subject, body)...)
}

// challengeMACOf returns the MAC in a challenge, over its body and the subject it was created for.
func challengeMACOf(keys *keyring.Ring, subject string, body []byte) []byte {
	return keys.MAC("smartkey challenge", subject, string(body))[:challengeMAC]
}

// verifyChallenge checks that the server created a challenge for a subject, less than challengeLife ago, and otherwise returns the fault
// errChallenge. It returns when it was created, in microseconds since 1970. It does not check whether the challenge was used before.
func verifyChallenge(keys *keyring.Ring, subject string, challenge []byte, now time.Time) (int64, error) {
	if len(challenge) != challengeBody+challengeMAC || !hmac.Equal(challenge[challengeBody:], challengeMACOf(keys, subject, challenge[:challengeBody])) {
		return 0, errChallenge
	}
	at := int64(binary.BigEndian.Uint64(challenge))
	if age := now.Sub(time.UnixMicro(at)); age < 0 || age >= challengeLife {
		return 0, errChallenge
	}
	return at, nil
}

// verifyPossession checks that a phone signed the challenge of a subject (see newChallenge) for a purpose. raw is the phone's signed
// statement. It returns the phone's key and when the challenge was created, in microseconds since 1970. Every error is a fault for the
// phone. It does not check whether the challenge was used before.
func verifyPossession(keys *keyring.Ring, propertyID, subject string, purpose smartkey.Purpose, raw []byte, now time.Time) (smartkey.PublicKey, int64, error) {
	answered, err := smartkey.ChallengeOf(raw)
	if err != nil {
		return smartkey.PublicKey{}, 0, refusalFault(err)
	}
	key, err := smartkey.VerifyPossession(raw, smartkey.PossessionSpec{Property: propertyID, Purpose: purpose, Challenge: answered})
	if err != nil {
		return key, 0, refusalFault(err)
	}
	at, err := verifyChallenge(keys, subject, answered, now)
	return key, at, err
}

// refusalFault converts any error of package smartkey into a fault of the API (SmartKeyRefused) for the phone, with the reason in its text.
func refusalFault(err error) error {
	return fault.New(fault.Invalid, fault.SmartKeyRefused, "%s: see docs/smartkey.md for the meaning", smartkey.ReasonOf(err)).With(err)
}

// sweepLinks deletes up to most links, of all properties, that expired more than linkLifetime ago.
func sweepLinks(tx *db.Tx, most int) error {
	ids, err := tx.PhoneLink.Query().Where(entphonelink.ExpiresAtLT(tx.Now().Add(-linkLifetime))).Limit(most).IDs(tx.Context())
	if err != nil || len(ids) == 0 {
		return err
	}
	_, err = tx.PhoneLink.Delete().Where(entphonelink.IDIn(ids...)).Exec(tx.Context())
	return err
}
