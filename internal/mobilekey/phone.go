package mobilekey

import (
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entdoorrule "latchkey.dev/ent/doorrule"
	entgrant "latchkey.dev/ent/grant"
	entkeystatus "latchkey.dev/ent/keystatus"
	entphone "latchkey.dev/ent/phone"
	entphonelink "latchkey.dev/ent/phonelink"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/bridge"
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
	errNoAccessNow   = fault.New(fault.Precondition, access.NotCheckedIn, "this stay has no access now; ask again after check-in")
	errStayEnded     = fault.New(fault.Precondition, fault.StayEnded, "this stay is over: it was checked out or cancelled, or its end has passed. Do not ask again for it")
	errNoDoors       = fault.New(fault.Precondition, access.NoLock, "no door of this stay has a lock that opens to a SmartKey")
)

// Row is a stored phone.
type Row = ent.Phone

// Key is a token with the information that its phone needs.
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

// Enrol adds a phone to the reservation of a link and marks the link as used. The token is nil while the stay has no access.
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
	p, err := tx.Phone.Create().SetID(phoneID).SetPropertyID(l.PropertyID).SetReservationID(l.ReservationID).SetNillableSession(l.Session).SetLabel(label).
		SetKey(key.Encode()).SetKeyID(key.KeyID().String()).SetSubject(subject).SetCreatedAt(tx.Now()).Save(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("store a phone: %w", err)
	}
	if err := tx.PhoneLink.UpdateOne(l).SetUsedAt(tx.Now()).Exec(ctx); err != nil {
		return nil, nil, fmt.Errorf("mark a link as used: %w", err)
	}
	k, err := mintToken(tx, keys, p, key)
	if fault.Has(err, access.NotCheckedIn) || fault.Has(err, fault.StayEnded) || fault.Has(err, access.NoLock) || fault.Has(err, access.WindowInFuture) {
		return p, nil, nil
	}
	return p, k, err
}

// sealLabel encrypts what a guest calls a phone: it is often the guest's name.
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

func labelPurpose(phoneID string) string { return "phoneName/" + phoneID }

// NewRenewalChallenge returns the challenge that an enrolled phone must sign for its next token.
func NewRenewalChallenge(view *db.Tx, keys *keyring.Ring, phoneID string) (propertyID string, challenge []byte, err error) {
	p, err := Get(view, phoneID)
	if err != nil {
		return "", nil, err
	}
	return p.PropertyID, newChallenge(keys, p.ID, view.Now()), nil
}

// Get returns the phone with an id.
func Get(tx *db.Tx, phoneID string) (*ent.Phone, error) {
	p, err := tx.Phone.Query().Where(entphone.ID(phoneID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, errPhoneNotFound
	}
	return p, err
}

// Renew issues the next token of a phone.
func Renew(tx *db.Tx, keys *keyring.Ring, phoneID string, possession []byte) (*Key, error) {
	p, err := Get(tx, phoneID)
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

// noAccessReason returns the error for a stay without access: it is over, or it may still be checked in.
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

// mintToken issues a token for the doors that the phone's stay may open now.
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
		return nil, fault.New(fault.Precondition, access.WindowInFuture, "the stay begins more than a day from now; ask again then")
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

func doorIDs(doors []KeyDoor) []smartkey.Door {
	out := make([]smartkey.Door, len(doors))
	for i, d := range doors {
		out[i] = d.ID
	}
	return out
}

// audience returns the bridge if one bridge drives all doors, otherwise the site.
func audience(propertyID string, doors []KeyDoor) string {
	for _, d := range doors {
		if d.BridgeID != doors[0].BridgeID {
			return Site(propertyID)
		}
	}
	return doors[0].BridgeID
}

// indexForNextToken returns the status index for a phone's next token: the present one, or a new one if the doors of the stay have
// changed.
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

// nextFreeIndex reserves the next status index that no token uses.
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

// recordToken records which token uses an index and until when. It publishes a longer list if the list of the bridges would
// end before the index.
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
	if !listed {
		return nil
	}
	return bridge.NotifyKeysChanged(i.tx, i.row.ID)
}

// evidence records, for the tokens of an index, at which locks a token was verified, which doors it opened, and since when
// reports count.
type evidence struct {
	since           time.Time
	checked, opened []string
}

// inheritEvidence returns the evidence that the next token of an index keeps. It keeps none if the phone had no valid token,
// and none for restarted doors: the use of an old token proves nothing about the new one, whenever the bridge reports it.
// least is the lowest version of a key set whose tokens count.
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

// List returns the phones of a reservation, oldest first.
func List(tx *db.Tx, propertyID, reservationID string) ([]*ent.Phone, error) {
	if err := requireReservation(tx, propertyID, reservationID); err != nil {
		return nil, err
	}
	return tx.Phone.Query().Where(entphone.PropertyID(propertyID), entphone.ReservationID(reservationID)).
		Order(entphone.ByID()).Limit(maxPhones).All(tx.Context())
}

// Revoke revokes the access of a phone.
func Revoke(tx *db.Tx, keys *keyring.Ring, propertyID, phoneID string) (*ent.Phone, error) {
	p, err := tx.Phone.Query().Where(entphone.ID(phoneID), entphone.PropertyID(propertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, errPhoneNotFound
	}
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

// RevokeSessions revokes the phones that sessions of guests enrolled. Their tokens are refused here at once, and by bridges after the next
// status list.
func RevokeSessions(tx *db.Tx, propertyID string, sessions ...string) error {
	n, err := tx.Phone.Update().SetRevokedAt(tx.Now()).
		Where(entphone.PropertyID(propertyID), entphone.SessionIn(sessions...), entphone.RevokedAtIsNil()).Save(tx.Context())
	if err != nil {
		return fmt.Errorf("revoke the phones of sessions: %w", err)
	}
	if n > 0 {
		tx.Notify(access.Changed, propertyID)
	}
	_, err = tx.PhoneLink.Delete().Where(entphonelink.PropertyID(propertyID), entphonelink.SessionIn(sessions...), entphonelink.UsedAtIsNil()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("delete the links of sessions: %w", err)
	}
	return nil
}
