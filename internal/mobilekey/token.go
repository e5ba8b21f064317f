package mobilekey

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entdoorrule "latchkey.dev/ent/doorrule"
	entgrant "latchkey.dev/ent/grant"
	entkeystatus "latchkey.dev/ent/keystatus"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/smartkey"
	"latchkey.dev/internal/watch"
)

// mintToken issues a token, bound to key, the public key of the phone p, and stores its status index. The token is for the doors to which
// the phone's stay has access and that SmartKeys can open, at most smartkey.MaxDoors. It returns a fault if the stay has no access, is
// over, begins more than a day from now, or has no such door.
func mintToken(tx *db.Tx, keys *keyring.Ring, p *ent.Phone, key smartkey.PublicKey) (*Key, error) {
	ctx := tx.Context()
	g, err := tx.Grant.Query().Where(entgrant.PropertyID(p.PropertyID), entgrant.OpenKey(p.ReservationID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, noAccessReason(tx, p)
	}
	if err != nil {
		return nil, fmt.Errorf("load the grant of a phone: %w", err)
	}
	opened, err := access.AccessibleDoors(tx, g)
	if err != nil {
		return nil, err
	}
	doors, ids := keyDoors(opened)
	if len(doors) == 0 {
		return nil, errNoDoors
	}
	i, err := loadOrCreateIssuer(tx, keys, p.PropertyID)
	if err != nil {
		return nil, err
	}
	status, err := i.indexForNextToken(p, g, ids)
	if err != nil {
		return nil, err
	}
	mints, err := i.tokenIssuer()
	if err != nil {
		return nil, err
	}
	token, err := mints.Mint(smartkey.Grant{
		Subject: p.Subject, Audience: audience(p.PropertyID, doors), Doors: doorIDs(doors), Operations: []smartkey.Operation{smartkey.Unlock, smartkey.Check},
		Start: tokenStart(g, tx.Now()), End: g.NotAfter, Generation: uint64(i.row.Generation), StatusIndex: uint32(status.Number), Phone: key,
	}, tx.Now())
	switch err {
	case nil:
	case smartkey.ErrGrantOver:
		return nil, errNoAccessNow
	case smartkey.ErrGrantEarly:
		return nil, errTooEarly
	default:
		return nil, fmt.Errorf("mint a token: %w", err)
	}
	if err := i.recordToken(p, status, token.Expires); err != nil {
		return nil, err
	}
	return &Key{token, doors}, nil
}

// tokenStart returns the start of a token's validity: the start of the stay or, if the stay has begun, a little before now.
// Bridges count the uncertainty of their clock against the bearer, and a token cannot be used before it exists.
func tokenStart(g *ent.Grant, now time.Time) time.Time {
	if g.NotBefore.After(now) {
		return g.NotBefore
	}
	return now.Add(-smartkey.MaxBackdate)
}

// keyDoors returns those doors that SmartKeys can open, at most smartkey.MaxDoors, and the sorted ids of their locks.
func keyDoors(opened []access.DoorAccess) (out []KeyDoor, lockIDs []string) {
	for _, o := range opened {
		if !o.Row.Capabilities.RemoteUnlock || len(out) == smartkey.MaxDoors {
			continue
		}
		out = append(out, KeyDoor{DoorOf(o.Row), o.Name, string(o.Kind), o.Row.BridgeID})
		lockIDs = append(lockIDs, o.Row.ID)
	}
	slices.Sort(lockIDs)
	return out, lockIDs
}

// doorIDs returns the ids of doors in a token.
func doorIDs(doors []KeyDoor) []smartkey.Door {
	out := make([]smartkey.Door, len(doors))
	for i, d := range doors {
		out[i] = d.ID
	}
	return out
}

// audience returns the audience of a token: the bridge if one bridge drives all doors, otherwise the site. doors must not be empty.
func audience(propertyID string, doors []KeyDoor) string {
	for _, d := range doors {
		if d.BridgeID != doors[0].BridgeID {
			return Site(propertyID)
		}
	}
	return doors[0].BridgeID
}

// indexForNextToken returns the status index for a phone's next token: that of its last token, even an expired one, or a new one, which it
// stores. The index is new if the phone has none, if its index is revoked, or if the doors or the access of the stay have changed.
func (i *issuer) indexForNextToken(p *ent.Phone, g *ent.Grant, lockIDs []string) (*ent.KeyStatus, error) {
	ctx := i.tx.Context()
	held, err := i.tx.KeyStatus.Query().Where(entkeystatus.PropertyID(p.PropertyID), entkeystatus.PhoneID(p.ID), entkeystatus.GrantID(g.ID),
		entkeystatus.KeyGeneration(g.KeyGeneration), entkeystatus.RevokedAtIsNil()).Order(entkeystatus.ByID()).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the index of a phone: %w", err)
	}
	for _, s := range held {
		if slices.Equal(s.LockIds, lockIDs) {
			return s, nil
		}
	}
	number, err := i.nextFreeIndex()
	if err != nil {
		return nil, err
	}
	s, err := i.tx.KeyStatus.Create().SetID(id.New(id.KeyStatus)).SetPropertyID(p.PropertyID).SetNumber(number).SetPhoneID(p.ID).SetGrantID(g.ID).
		SetKeyGeneration(g.KeyGeneration).SetLockIds(lockIDs).SetSince(i.tx.Now()).SetEndsAt(i.tx.Now()).Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("store an index: %w", err)
	}
	return s, nil
}

// nextFreeIndex returns the next index in the property's status list that no token uses. It stays free until the caller stores a KeyStatus
// row with it. It returns a fault if all are in use.
func (i *issuer) nextFreeIndex() (int64, error) {
	next := i.row.NextNumber
	for range smartkey.MaxStatusIndexes {
		n := next % smartkey.MaxStatusIndexes
		next = n + 1
		taken, err := i.tx.KeyStatus.Query().Where(entkeystatus.PropertyID(i.row.ID), entkeystatus.Number(n)).Exist(i.tx.Context())
		if err != nil {
			return 0, fmt.Errorf("find a free index: %w", err)
		}
		if taken {
			continue
		}
		if i.row, err = i.tx.Issuer.UpdateOne(i.row).SetNextNumber(max(next, i.row.NextNumber)).Save(i.tx.Context()); err != nil {
			return 0, fmt.Errorf("store the next index: %w", err)
		}
		return n, nil
	}
	return 0, fault.New(fault.Exhausted, fault.UnavailableReason, "every index of the status list is in use; indexes of expired tokens become free within a day").Retry(time.Hour)
}

// recordToken stores that the next token of a phone uses an index, until when, and the evidence that it inherits. It marks the stay's grant
// as one with a phone, and notifies the streams that show the stay. If the status list is due, as when the index is beyond its end, it
// publishes the next list and notifies the bridges.
func (i *issuer) recordToken(p *ent.Phone, s *ent.KeyStatus, until time.Time) error {
	ctx := i.tx.Context()
	if err := i.tx.Phone.UpdateOne(p).SetTokenExpiresAt(until).Exec(ctx); err != nil {
		return fmt.Errorf("store the end of a token: %w", err)
	}
	listed, err := i.publishList(false)
	if err != nil {
		return err
	}
	rules, err := i.tx.DoorRule.Query().Where(entdoorrule.PropertyID(i.row.ID), entdoorrule.IDIn(s.LockIds...), entdoorrule.FloorGT(s.Generation)).IDs(ctx)
	if err != nil {
		return fmt.Errorf("load restarted doors: %w", err)
	}
	next := inheritEvidence(s, i.row.LeastVersion, rules, i.tx.Now())
	u := i.tx.KeyStatus.UpdateOne(s).SetSince(next.since).SetCheckedIds(next.checked).SetOpenedIds(next.opened).SetGeneration(i.row.Generation).SetKeySetVersion(i.row.KeySetVersion)
	if until.After(s.EndsAt) {
		u.SetEndsAt(until)
	}
	if s.ListNumber == 0 {
		u.SetListNumber(i.row.ListNumber)
	}
	if err := u.Exec(ctx); err != nil {
		return fmt.Errorf("store the use of an index: %w", err)
	}
	err = i.tx.Grant.Update().Where(entgrant.ID(s.GrantID), entgrant.PropertyID(i.row.ID), entgrant.Keyed(false)).SetKeyed(true).Exec(ctx)
	if err != nil {
		return fmt.Errorf("record that a stay has a phone: %w", err)
	}
	watch.Notify(i.tx, p.PropertyID, watch.Reservations, p.ReservationID)
	if !listed {
		return nil
	}
	return bridge.NotifyKeysChanged(i.tx, i.row.ID)
}

// evidence records, for the tokens of an index, at which locks a token was verified, at which it opened the door (ids of locks), and since
// when reports of bridges count.
type evidence struct {
	since           time.Time
	checked, opened []string
}

// inheritEvidence returns the evidence of an index that its next token keeps. It keeps none if the phone had no valid token, and none for
// restarted doors: the use of an old token proves nothing about the new one, whenever the bridge reports it. restarted are the ids of their
// locks. least is the lowest version of a key set whose tokens count.
func inheritEvidence(s *ent.KeyStatus, least int64, restarted []string, now time.Time) evidence {
	if !s.EndsAt.After(now) || s.KeySetVersion < least {
		return evidence{since: now}
	}
	if len(restarted) == 0 {
		return evidence{s.Since, s.CheckedIds, s.OpenedIds}
	}
	isRestarted := func(lockID string) bool { return slices.Contains(restarted, lockID) }
	return evidence{now, slices.DeleteFunc(slices.Clone(s.CheckedIds), isRestarted), slices.DeleteFunc(slices.Clone(s.OpenedIds), isRestarted)}
}
