package phone

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entdoorrule "latchkey.dev/ent/doorrule"
	entgrant "latchkey.dev/ent/grant"
	entkeystatus "latchkey.dev/ent/keystatus"
	entphone "latchkey.dev/ent/phone"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/smartkey"
)

// mostPhones bounds the phones of a stay.
const mostPhones = 100

var (
	errPhones  = fault.New(fault.Precondition, fault.InUse, "this stay has %d phones, which is the most", mostPhones)
	errPhone   = fault.New(fault.NotFound, fault.NotFoundReason, "no such phone")
	errShut    = fault.New(fault.Precondition, fault.SmartKeyRefused, "revoked: this phone was shut out; ask for a new link")
	errNoStay  = fault.New(fault.Precondition, fault.NotCheckedIn, "this stay has no access now; ask again after check-in")
	errEnded   = fault.New(fault.Precondition, fault.StayEnded, "this stay is over: it was checked out or cancelled, or its end has passed. Do not ask again for it")
	errNoDoors = fault.New(fault.Precondition, fault.NoLock, "no door of this stay has a lock that opens to a SmartKey")
)

// Row is a phone as it is stored.
type Row = ent.Phone

// Key is a token with what its phone has to know.
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

// Enrol binds a phone to the stay of a link and uses the link up. The token is nil while the stay has no access.
func Enrol(tx *db.Tx, keys *keyring.Ring, secret string, possession []byte, name string) (*ent.Phone, *Key, error) {
	ctx := tx.Context()
	l, err := find(tx, keys, secret)
	if err != nil {
		return nil, nil, err
	}
	key, _, err := possessed(keys, l.PropertyID, l.ID, smartkey.Enrol, possession, tx.Now())
	if err != nil {
		return nil, nil, err
	}
	companions, err := tx.Phone.Query().Where(entphone.PropertyID(l.PropertyID), entphone.ReservationID(l.ReservationID)).
		Order(entphone.ByID()).Limit(mostPhones).All(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("load the phones of a stay: %w", err)
	}
	if len(companions) >= mostPhones {
		return nil, nil, errPhones
	}
	subject := ""
	if len(companions) > 0 {
		subject = companions[0].Subject
	} else if subject, err = smartkey.NewSubject(rand.Reader); err != nil {
		return nil, nil, err
	}
	p, err := tx.Phone.Create().SetID(id.New(id.Phone)).SetPropertyID(l.PropertyID).SetReservationID(l.ReservationID).SetName(name).
		SetKey(key.Encode()).SetKeyID(key.KeyID().String()).SetSubject(subject).SetCreatedAt(tx.Now()).Save(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("store a phone: %w", err)
	}
	if err := tx.PhoneLink.UpdateOne(l).SetUsedAt(tx.Now()).Exec(ctx); err != nil {
		return nil, nil, fmt.Errorf("use a link up: %w", err)
	}
	k, err := mint(tx, keys, p, key)
	if fault.Has(err, fault.NotCheckedIn) || fault.Has(err, fault.StayEnded) || fault.Has(err, fault.NoLock) || fault.Has(err, fault.WindowInFuture) {
		return p, nil, nil
	}
	return p, k, err
}

// Question is what a phone that was enrolled has to sign for its next token.
func Question(view *db.Tx, keys *keyring.Ring, phoneID string) (propertyID string, asked []byte, err error) {
	p, err := Get(view.Context(), view.Client, phoneID)
	if err != nil {
		return "", nil, err
	}
	return p.PropertyID, challenge(keys, p.ID, view.Now()), nil
}

// Get finds a phone by its id.
func Get(ctx context.Context, c *ent.Client, phoneID string) (*ent.Phone, error) {
	p, err := c.Phone.Query().Where(entphone.ID(phoneID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, errPhone
	}
	return p, err
}

// Renew mints the next token of a phone.
func Renew(tx *db.Tx, keys *keyring.Ring, phoneID string, possession []byte) (*Key, error) {
	p, err := Get(tx.Context(), tx.Client, phoneID)
	if err != nil {
		return nil, err
	}
	key, at, err := possessed(keys, p.PropertyID, p.ID, smartkey.Renew, possession, tx.Now())
	switch {
	case err != nil:
		return nil, err
	case !slices.Equal(key.Encode(), p.Key):
		return nil, refusal(&smartkey.Refusal{Reason: smartkey.BadSignature, Detail: "the phone was enrolled with another key"})
	case at <= p.ChallengeAt:
		return nil, errChallenge
	case p.RevokedAt != nil:
		return nil, errShut
	}
	if p, err = tx.Phone.UpdateOne(p).SetChallengeAt(at).Save(tx.Context()); err != nil {
		return nil, fmt.Errorf("note a challenge: %w", err)
	}
	return mint(tx, keys, p, key)
}

// noAccess says why a stay without access has none: it is over, or may still be checked in.
func noAccess(tx *db.Tx, p *ent.Phone) error {
	stay, err := tx.Reservation.Query().Where(entreservation.PropertyID(p.PropertyID), entreservation.ID(p.ReservationID)).Only(tx.Context())
	switch {
	case ent.IsNotFound(err):
		return errEnded
	case err != nil:
		return fmt.Errorf("load the stay of a phone: %w", err)
	}
	switch access.State(stay.State) {
	case access.Processed, access.Canceled:
		return errEnded
	}
	if !stay.ToAt.After(tx.Now()) {
		return errEnded
	}
	return errNoStay
}

// mint makes a token for what the phone's stay may open now.
func mint(tx *db.Tx, keys *keyring.Ring, p *ent.Phone, key smartkey.PublicKey) (*Key, error) {
	ctx := tx.Context()
	g, err := tx.Grant.Query().Where(entgrant.PropertyID(p.PropertyID), entgrant.OpenKey(p.ReservationID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, noAccess(tx, p)
	}
	if err != nil {
		return nil, fmt.Errorf("load the grant of a phone: %w", err)
	}
	opened, err := access.Opens(tx, g)
	if err != nil {
		return nil, err
	}
	doors, ids := keyDoors(opened)
	if len(doors) == 0 {
		return nil, errNoDoors
	}
	i, err := ensure(tx, keys, p.PropertyID)
	if err != nil {
		return nil, err
	}
	status, err := i.status(p, g, ids)
	if err != nil {
		return nil, err
	}
	mints, err := i.issues()
	if err != nil {
		return nil, err
	}
	token, err := mints.Mint(smartkey.Grant{
		Subject: p.Subject, Audience: audience(p.PropertyID, doors), Doors: doorIDs(doors), Operations: []smartkey.Operation{smartkey.Unlock, smartkey.Check},
		Start: begins(g, tx.Now()), End: g.NotAfter, Generation: uint64(i.row.Generation), StatusIndex: uint32(status.Number), Phone: key,
	}, tx.Now())
	switch err {
	case nil:
	case smartkey.ErrGrantOver:
		return nil, errNoStay
	case smartkey.ErrGrantEarly:
		return nil, fault.New(fault.Precondition, fault.WindowInFuture, "the stay begins more than a day from now; ask again then")
	default:
		return nil, fmt.Errorf("mint a token: %w", err)
	}
	if err := i.served(p, status, token.Expires); err != nil {
		return nil, err
	}
	return &Key{token, doors}, nil
}

// begins is from when a token opens: not before the stay may enter, and a little before now where it may already. Bridges count
// their clock's error against the bearer, and nobody can use a token before it is made.
func begins(g *ent.Grant, now time.Time) time.Time {
	if g.NotBefore.After(now) {
		return g.NotBefore
	}
	return now.Add(-smartkey.MaxBackdate)
}

func keyDoors(opened []access.Opened) (out []KeyDoor, lockIDs []string) {
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

func doorIDs(doors []KeyDoor) []smartkey.Door {
	out := make([]smartkey.Door, len(doors))
	for i, d := range doors {
		out[i] = d.ID
	}
	return out
}

// audience is the bridge where one drives all doors, else the site.
func audience(propertyID string, doors []KeyDoor) string {
	for _, d := range doors {
		if d.BridgeID != doors[0].BridgeID {
			return Site(propertyID)
		}
	}
	return doors[0].BridgeID
}

// status is the index for a phone's next token: the one it has, unless what the stay may open has changed since.
func (i *issuer) status(p *ent.Phone, g *ent.Grant, lockIDs []string) (*ent.KeyStatus, error) {
	ctx := i.tx.Context()
	held, err := i.tx.KeyStatus.Query().Where(entkeystatus.PropertyID(p.PropertyID), entkeystatus.PhoneID(p.ID), entkeystatus.GrantID(g.ID),
		entkeystatus.KeyGeneration(g.KeyGeneration), entkeystatus.RevokedAtIsNil()).Order(entkeystatus.ByID()).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for the index of a phone: %w", err)
	}
	for _, s := range held {
		if slices.Equal(s.LockIds, lockIDs) {
			return s, nil
		}
	}
	number, err := i.number()
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

// number takes the next index that no token bears.
func (i *issuer) number() (int64, error) {
	next := i.row.NextNumber
	for range smartkey.MaxStatusIndexes {
		n := next % smartkey.MaxStatusIndexes
		next = n + 1
		taken, err := i.tx.KeyStatus.Query().Where(entkeystatus.PropertyID(i.row.ID), entkeystatus.Number(n)).Exist(i.tx.Context())
		if err != nil {
			return 0, fmt.Errorf("look for a free index: %w", err)
		}
		if taken {
			continue
		}
		if i.row, err = i.tx.Issuer.UpdateOne(i.row).SetNextNumber(max(next, i.row.NextNumber)).Save(i.tx.Context()); err != nil {
			return 0, fmt.Errorf("count indexes: %w", err)
		}
		return n, nil
	}
	return 0, fault.New(fault.Exhausted, fault.UnavailableReason, "every index of the status list is in use; tokens of a day ago free theirs").Retry(time.Hour)
}

// served notes what tokens bear an index and until when, and publishes a longer list where bridges' would not reach it.
func (i *issuer) served(p *ent.Phone, s *ent.KeyStatus, until time.Time) error {
	ctx := i.tx.Context()
	if err := i.tx.Phone.UpdateOne(p).SetTokenExpiresAt(until).Exec(ctx); err != nil {
		return fmt.Errorf("note the end of a token: %w", err)
	}
	listed, err := i.publish(false)
	if err != nil {
		return err
	}
	rules, err := i.tx.DoorRule.Query().Where(entdoorrule.PropertyID(i.row.ID), entdoorrule.IDIn(s.LockIds...), entdoorrule.FloorGT(s.Generation)).IDs(ctx)
	if err != nil {
		return fmt.Errorf("look for doors that started anew: %w", err)
	}
	next := inherits(s, i.row.LeastVersion, rules, i.tx.Now())
	u := i.tx.KeyStatus.UpdateOne(s).SetSince(next.since).SetCheckedIds(next.checked).SetOpenedIds(next.opened).SetGeneration(i.row.Generation).SetKeySetVersion(i.row.KeySetVersion)
	if until.After(s.EndsAt) {
		u.SetEndsAt(until)
	}
	if s.ListNumber == 0 {
		u.SetListNumber(i.row.ListNumber)
	}
	if err := u.Exec(ctx); err != nil {
		return fmt.Errorf("note a token: %w", err)
	}
	err = i.tx.Grant.Update().Where(entgrant.ID(s.GrantID), entgrant.PropertyID(i.row.ID), entgrant.Keyed(false)).SetKeyed(true).Exec(ctx)
	if err != nil {
		return fmt.Errorf("note that a stay has a phone: %w", err)
	}
	if !listed {
		return nil
	}
	return lock.WakeKeys(i.tx, i.row.ID)
}

// proven is what is noted of the tokens under an index: at which locks one was found good, which one opened, and from when on
// what happens counts towards that.
type proven struct {
	since           time.Time
	checked, opened []string
}

// inherits is what the next token under an index inherits of those before. Nothing, if the phone held none that was good any
// more, and nothing at locks that started anew since: what was done with those proves nothing of the new token, whenever it is
// told. least is the least version of a key set whose tokens count.
func inherits(s *ent.KeyStatus, least int64, anew []string, now time.Time) proven {
	if !s.EndsAt.After(now) || s.KeySetVersion < least {
		return proven{since: now}
	}
	if len(anew) == 0 {
		return proven{s.Since, s.CheckedIds, s.OpenedIds}
	}
	gone := func(lockID string) bool { return slices.Contains(anew, lockID) }
	return proven{now, slices.DeleteFunc(slices.Clone(s.CheckedIds), gone), slices.DeleteFunc(slices.Clone(s.OpenedIds), gone)}
}

// List is the phones of a stay, oldest first.
func List(tx *db.Tx, propertyID, reservationID string) ([]*ent.Phone, error) {
	if err := exists(tx, propertyID, reservationID); err != nil {
		return nil, err
	}
	return tx.Phone.Query().Where(entphone.PropertyID(propertyID), entphone.ReservationID(reservationID)).
		Order(entphone.ByID()).Limit(mostPhones).All(tx.Context())
}

// Revoke shuts a phone of the property out.
func Revoke(tx *db.Tx, keys *keyring.Ring, propertyID, phoneID string) (*ent.Phone, error) {
	p, err := tx.Phone.Query().Where(entphone.ID(phoneID), entphone.PropertyID(propertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, errPhone
	}
	if err != nil || p.RevokedAt != nil {
		return p, err
	}
	if p, err = tx.Phone.UpdateOne(p).SetRevokedAt(tx.Now()).Save(tx.Context()); err != nil {
		return nil, fmt.Errorf("shut a phone out: %w", err)
	}
	held, err := tx.KeyStatus.Query().Where(entkeystatus.PropertyID(propertyID), entkeystatus.PhoneID(p.ID)).IDs(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the tokens of a phone: %w", err)
	}
	_, err = Reconcile(tx, keys, propertyID, held...)
	return p, err
}
