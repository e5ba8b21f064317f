package phone

import (
	"context"
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

// Bearer is who shows a token. That the property's issuer made it is all that was verified: the bridge verifies the rest.
type Bearer struct {
	smartkey.Token
	PhoneID string // empty: the phone is not known any more
}

// Identify opens a token as a courier does: to know whose bridges it may bother.
func Identify(view *db.Tx, raw []byte) (Bearer, error) {
	propertyID, err := smartkey.ClaimedProperty(raw)
	if err != nil {
		return Bearer{}, refusal(err)
	}
	row, err := view.Issuer.Get(view.Context(), propertyID)
	if ent.IsNotFound(err) {
		return Bearer{}, refusal(&smartkey.Refusal{Reason: smartkey.UnknownIssuer, Detail: "no issuer of that name"})
	}
	if err != nil {
		return Bearer{}, fmt.Errorf("load an issuer: %w", err)
	}
	set, err := currentSet(view.Context(), view.Client, row)
	if err != nil {
		return Bearer{}, err
	}
	token, err := set.OpenToken(raw)
	if err != nil {
		return Bearer{}, refusal(err)
	}
	b := Bearer{Token: token}
	p, err := byKey(view, propertyID, token.Phone.KeyID().String())
	if err != nil {
		return Bearer{}, err
	}
	if p != nil {
		b.PhoneID = p.ID
	}
	return b, nil
}

// Actor is the phone in the record of an opening.
func (b Bearer) Actor() string {
	if b.PhoneID == "" {
		return "phone"
	}
	return actorOf(b.PhoneID)
}

var errDoor = fault.New(fault.Invalid, fault.SmartKeyRefused, "wrongDoor: not one of the token's doors, or not a door of this property")

// LockAt finds the lock of a door of the token.
func (b Bearer) LockAt(ctx context.Context, c *ent.Client, door smartkey.Door) (*ent.Lock, error) {
	if !b.Opens(door) {
		return nil, errDoor
	}
	query := c.Lock.Query().Where(entlock.PropertyID(b.Property))
	if b.Audience != Site(b.Property) {
		query = query.Where(entlock.BridgeID(b.Audience))
	}
	locks, err := query.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for a door: %w", err)
	}
	for _, lk := range locks {
		if DoorOf(lk) == door {
			return lk, nil
		}
	}
	return nil, errDoor
}

// Store writes the use of a token down before it is sent. Whatever the presentation says, the bridge verifies it.
func (b Bearer) Store(tx *db.Tx, lk *ent.Lock, proof smartkey.Proof, presentation []byte, until time.Time) (lock.Order, error) {
	if err := b.refuseRevoked(tx); err != nil {
		return lock.Order{}, err
	}
	operation := lock.SmartKeyUnlock
	if proof.Operation == smartkey.Check {
		operation = lock.SmartKeyCheck
	}
	grantID, err := b.grant(tx)
	if err != nil {
		return lock.Order{}, err
	}
	o, err := lock.StorePresentation(tx, b.Property, lk.ID, b.Actor(), grantID, operation, until)
	o.Presentation = presentation
	return o, err
}

// ErrRevoked is the error of Store for a token whose stay has ended or changed since it was made.
var ErrRevoked = fault.New(fault.Precondition, fault.SmartKeyRefused, "revoked: the stay has ended or changed since this token was made; renew the SmartKey once and try again")

// refuseRevoked refuses a token whose stay has ended or changed, from the commit of that change on. The bridge refuses it only
// when the next status list has reached it.
func (b Bearer) refuseRevoked(tx *db.Tx) error {
	index := entkeystatus.Number(int64(b.StatusIndex))
	revoked, err := tx.KeyStatus.Query().Where(entkeystatus.PropertyID(b.Property), index, entkeystatus.RevokedAtNotNil(),
		entkeystatus.EndsAtGT(tx.Now())).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("look for a revoked token: %w", err)
	}
	if revoked {
		return ErrRevoked
	}
	outdated, err := over(tx, b.Property, index)
	if err != nil {
		return err
	}
	if len(outdated) > 0 {
		return ErrRevoked
	}
	return nil
}

// grant is the access of the stay whose phone it is, by id; empty: the phone is not known any more.
func (b Bearer) grant(tx *db.Tx) (string, error) {
	if b.PhoneID == "" {
		return "", nil
	}
	p, err := Get(tx.Context(), tx.Client, b.PhoneID)
	if errors.Is(err, errPhone) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("load the phone of an opening: %w", err)
	}
	return grantAt(tx, p, tx.Now())
}
