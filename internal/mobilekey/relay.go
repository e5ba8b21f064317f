package mobilekey

import (
	"errors"
	"fmt"
	"time"

	"latchkey.dev/ent"
	entkeystatus "latchkey.dev/ent/keystatus"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/smartkey"
)

// Bearer is a token that a phone has presented to the server. Only the property's signature was verified; the bridge verifies everything
// else.
type Bearer struct {
	smartkey.Token
	PhoneID string // PhoneID is empty if the phone no longer exists
}

// Identify parses a token that a phone presents to the server, and verifies its issuer, so that the server forwards it only to bridges of
// the token's property. It returns a fault for a token that the issuer did not sign. It checks neither the token's times nor whether it is
// revoked.
func Identify(view *db.Tx, raw []byte) (Bearer, error) {
	propertyID, err := smartkey.ClaimedProperty(raw)
	if err != nil {
		return Bearer{}, refusalFault(err)
	}
	row, err := view.Issuer.Get(view.Context(), propertyID)
	if ent.IsNotFound(err) {
		return Bearer{}, refusalFault(&smartkey.Refusal{Reason: smartkey.UnknownIssuer, Detail: "no issuer of that name"})
	}
	if err != nil {
		return Bearer{}, fmt.Errorf("load an issuer: %w", err)
	}
	set, err := loadNewestKeySet(view, row)
	if err != nil {
		return Bearer{}, err
	}
	token, err := set.OpenToken(raw)
	if err != nil {
		return Bearer{}, refusalFault(err)
	}
	b := Bearer{Token: token}
	p, err := findByKey(view, propertyID, token.Phone.KeyID().String())
	if err != nil {
		return Bearer{}, err
	}
	if p != nil {
		b.PhoneID = p.ID
	}
	return b, nil
}

// Actor returns the actor for records of door openings: [lock.PhoneActorPrefix] and the phone's id, or "phone" if the phone no longer
// exists.
func (b Bearer) Actor() string {
	if b.PhoneID == "" {
		return "phone"
	}
	return actorName(b.PhoneID)
}

var errWrongDoor = fault.New(fault.Invalid, fault.SmartKeyRefused, "wrongDoor: not one of the token's doors, or not a door of this property")

// LockAt returns the lock of a door, or a fault if the token does not cover the door or its property has no such lock.
func (b Bearer) LockAt(tx *db.Tx, door smartkey.Door) (*ent.Lock, error) {
	if !b.CoversDoor(door) {
		return nil, errWrongDoor
	}
	query := tx.Lock.Query().Where(entlock.PropertyID(b.Property))
	if b.Audience != Site(b.Property) {
		query = query.Where(entlock.BridgeID(b.Audience))
	}
	locks, err := query.All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the locks of a token: %w", err)
	}
	for _, lk := range locks {
		if DoorOf(lk) == door {
			return lk, nil
		}
	}
	return nil, errWrongDoor
}

// StoreCommand stores the use of a token as a command, which the caller then sends to the bridge. It returns [ErrRevoked] for a revoked
// token, and fails like [lock.StoreCommand] if the bridge cannot be reached. presentation is what the phone sent, with its proof; the
// bridge verifies it. It is not stored, only set in the result. here is the caller's node. The command expires at until.
func (b Bearer) StoreCommand(tx *db.Tx, here lock.Node, lk *ent.Lock, proof smartkey.Proof, presentation []byte, until time.Time) (lock.UnlockCommand, error) {
	if err := b.refuseRevoked(tx); err != nil {
		return lock.UnlockCommand{}, err
	}
	operation := lock.SmartKeyUnlock
	if proof.Operation == smartkey.Check {
		operation = lock.SmartKeyCheck
	}
	grantID, err := b.grantID(tx)
	if err != nil {
		return lock.UnlockCommand{}, err
	}
	o, err := lock.StoreSmartKeyCommand(tx, here, b.Property, lk.ID, b.Actor(), grantID, operation, until)
	o.Presentation = presentation
	return o, err
}

// ErrRevoked is the error of StoreCommand for a token whose phone was revoked or whose stay has ended or changed since the issue.
var ErrRevoked = fault.New(fault.Precondition, fault.SmartKeyRefused, "revoked: the stay has ended or changed since this token was issued; renew the SmartKey once and try again")

// refuseRevoked returns [ErrRevoked] for a token whose phone was revoked or whose stay has ended or changed, as soon as that change is
// committed. The bridge refuses the token only after it has received the next status list.
func (b Bearer) refuseRevoked(tx *db.Tx) error {
	index := entkeystatus.Number(int64(b.StatusIndex))
	revoked, err := tx.KeyStatus.Query().Where(entkeystatus.PropertyID(b.Property), index, entkeystatus.RevokedAtNotNil(),
		entkeystatus.EndsAtGT(tx.Now())).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("check for a revoked token: %w", err)
	}
	if revoked {
		return ErrRevoked
	}
	outdated, err := findOutdated(tx, b.Property, index)
	if err != nil {
		return err
	}
	if len(outdated) > 0 {
		return ErrRevoked
	}
	return nil
}

// grantID returns the id of the access grant of the phone's stay, or "" if the phone or the grant does not exist.
func (b Bearer) grantID(tx *db.Tx) (string, error) {
	if b.PhoneID == "" {
		return "", nil
	}
	p, err := findPhone(tx, b.PhoneID)
	if errors.Is(err, errPhoneNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("load the phone of an opening: %w", err)
	}
	return grantAt(tx, p, tx.Now())
}
