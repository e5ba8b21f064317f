package mobilekey

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entdoorrule "latchkey.dev/ent/doorrule"
	entgrant "latchkey.dev/ent/grant"
	entissuer "latchkey.dev/ent/issuer"
	entkeystatus "latchkey.dev/ent/keystatus"
	entlock "latchkey.dev/ent/lock"
	entphone "latchkey.dev/ent/phone"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/smartkey"
)

const (
	// listInterval is the age at which the server renews an unchanged status list, because doors require a recent one.
	listInterval = time.Hour
	// listsPerMaxAge is how many lists the server issues at least within the maximum age of the strictest door; it issues one each hour
	// anyway.
	listsPerMaxAge = 4
	// A list has more than minSpareIndexes indexes after the last issued one, because bridges refuse an index beyond the end of their
	// list. It grows in steps of spareIndexes.
	spareIndexes    = 1024
	minSpareIndexes = 256
	// statusRetention is how long an index stays reserved after its last token has expired.
	statusRetention = time.Hour
)

// Reconcile does for a property what [Inspect] found to be due. It revokes those of the suspected status indexes (ids of KeyStatus rows)
// whose tokens must no longer open their doors. It takes the next step of a key rotation, and publishes the status list if it has changed
// or is due. It returns true if a key set or list is new; then it also notifies the bridges. It does nothing if the property has no issuer.
func Reconcile(tx *db.Tx, keys *keyring.Ring, propertyID string, suspected ...string) (bool, error) {
	i, err := loadIssuer(tx, keys, propertyID)
	if err != nil || i == nil {
		return false, err
	}
	var ids []string
	if len(suspected) > 0 {
		if ids, err = findOutdated(tx, propertyID, entkeystatus.IDIn(suspected...)); err != nil {
			return false, err
		}
	}
	if len(ids) > 0 {
		err := tx.KeyStatus.Update().Where(entkeystatus.PropertyID(propertyID), entkeystatus.IDIn(ids...)).SetRevokedAt(tx.Now()).Exec(tx.Context())
		if err != nil {
			return false, fmt.Errorf("revoke tokens: %w", err)
		}
	}
	moved, err := i.takeNextStep()
	if err != nil {
		return false, err
	}
	listed, err := i.publishList(false)
	if err != nil {
		return false, err
	}
	if len(ids) > 0 {
		err := tx.KeyStatus.Update().Where(entkeystatus.PropertyID(propertyID), entkeystatus.IDIn(ids...)).SetRevokedList(i.row.ListNumber).Exec(tx.Context())
		if err != nil {
			return false, fmt.Errorf("record which list revokes tokens: %w", err)
		}
	}
	if !moved && !listed {
		return false, nil
	}
	return true, bridge.NotifyKeysChanged(tx, propertyID)
}

// findOutdated returns the ids of those status indexes that match which (empty: all), are neither revoked nor expired, and must be revoked:
// the phone's access was revoked, the stay has ended or changed, or a door no longer belongs to the stay. It revokes none.
func findOutdated(tx *db.Tx, propertyID string, which ...predicate.KeyStatus) ([]string, error) {
	ctx := tx.Context()
	which = append(which, entkeystatus.PropertyID(propertyID), entkeystatus.RevokedAtIsNil(), entkeystatus.EndsAtGT(tx.Now()))
	alive, err := tx.KeyStatus.Query().Where(which...).All(ctx)
	if err != nil || len(alive) == 0 {
		return nil, err
	}
	var phones, grants []string
	for _, s := range alive {
		phones, grants = append(phones, s.PhoneID), append(grants, s.GrantID)
	}
	out, err := tx.Phone.Query().Where(entphone.PropertyID(propertyID), entphone.IDIn(phones...), entphone.RevokedAtNotNil()).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("load revoked phones: %w", err)
	}
	rows, err := tx.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.IDIn(grants...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the grants of phones: %w", err)
	}
	opens := map[string][]string{}
	byID := map[string]*ent.Grant{}
	for _, g := range rows {
		byID[g.ID] = g
		if opens[g.ID], err = lockIDs(tx, g); err != nil {
			return nil, err
		}
	}
	var gone []string
	for _, s := range alive {
		g := byID[s.GrantID]
		if slices.Contains(out, s.PhoneID) || g == nil || g.EndedAt != nil || g.KeyGeneration != s.KeyGeneration || !isSubset(s.LockIds, opens[g.ID]) {
			gone = append(gone, s.ID)
		}
	}
	return gone, nil
}

// lockIDs returns the ids of the locks that a grant opens now, sorted.
func lockIDs(tx *db.Tx, g *ent.Grant) ([]string, error) {
	doors, err := access.AccessibleDoors(tx, g)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(doors))
	for _, d := range doors {
		out = append(out, d.Row.ID)
	}
	slices.Sort(out)
	return out, nil
}

// isSubset reports whether of has every entry of some.
func isSubset(some, of []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(of, s) })
}

// publishList signs and stores the next status list if its content or the current key has changed, the last list is at least
// renewInterval old, or forced is set. It reports whether it did. It does not notify the bridges.
func (i *issuer) publishList(forced bool) (bool, error) {
	spec, digest, err := i.nextListContent()
	if err != nil {
		return false, err
	}
	renewInterval, err := i.renewInterval()
	if err != nil {
		return false, err
	}
	key, signer, err := i.currentKey()
	if err != nil {
		return false, err
	}
	due := i.tx.Now().Sub(i.row.ListAt) >= renewInterval || i.row.ListKey != key.Key.KeyID().String() || !bytes.Equal(digest, i.row.ListDigest)
	if !forced && !due {
		return false, nil
	}
	raw, err := smartkey.SignList(signer, spec)
	if err != nil {
		return false, fmt.Errorf("sign a status list: %w", err)
	}
	i.row, err = i.tx.Issuer.UpdateOne(i.row).SetListNumber(int64(spec.Number)).SetList(raw).SetListKey(key.Key.KeyID().String()).
		SetListDigest(digest).SetListAt(i.tx.Now()).Save(i.tx.Context())
	if err != nil {
		return false, fmt.Errorf("store a status list: %w", err)
	}
	return true, nil
}

// maxSkippedLists limits how far one report of a bridge can advance the numbers of lists: ten years of one list every five
// minutes.
const maxSkippedLists = 1 << 20

// SkipListNumbers publishes a status list with a number above held, the number of the list on a bridge, which this database never issued.
// This happens after a restore from an older copy: the bridge would refuse every list up to its number. Lists issued since the restore may
// differ from those on bridges, so tokens that wait for a list wait for the new one. It ignores a number that newer lists have passed, or
// that is more than maxSkippedLists ahead. It does nothing for a property without an issuer.
func SkipListNumbers(tx *db.Tx, keys *keyring.Ring, propertyID string, held int64) error {
	i, err := loadIssuer(tx, keys, propertyID)
	if err != nil || i == nil || held < i.row.ListNumber || held-i.row.ListNumber > maxSkippedLists {
		return err
	}
	ctx := tx.Context()
	if i.row, err = tx.Issuer.UpdateOne(i.row).SetListNumber(held).Save(ctx); err != nil {
		return fmt.Errorf("raise the number of a status list: %w", err)
	}
	if _, err := i.publishList(true); err != nil {
		return err
	}
	of := func(more predicate.KeyStatus) *ent.KeyStatusUpdate {
		return tx.KeyStatus.Update().Where(entkeystatus.PropertyID(propertyID), more)
	}
	if err := of(entkeystatus.ListNumberGT(0)).SetListNumber(i.row.ListNumber).Exec(ctx); err != nil {
		return fmt.Errorf("record which list reaches tokens: %w", err)
	}
	if err := of(entkeystatus.RevokedListGT(0)).SetRevokedList(i.row.ListNumber).Exec(ctx); err != nil {
		return fmt.Errorf("record which list revokes tokens: %w", err)
	}
	return bridge.NotifyKeysChanged(tx, propertyID)
}

// nextListContent returns the next status list to sign, and a digest of its content without the number and the times. An unchanged digest
// means that no new list is needed.
func (i *issuer) nextListContent() (smartkey.ListSpec, []byte, error) {
	ctx, now := i.tx.Context(), i.tx.Now()
	spec := smartkey.ListSpec{
		Property: i.row.ID, URI: listURI(i.row.ID), Number: uint64(i.row.ListNumber + 1), IssuedAt: now, Expires: now.Add(smartkey.DefaultMaxListAge),
	}
	revoked, err := i.tx.KeyStatus.Query().Where(entkeystatus.PropertyID(i.row.ID), entkeystatus.RevokedAtNotNil(), entkeystatus.EndsAtGT(now.Add(-statusRetention))).
		Order(entkeystatus.ByNumber()).All(ctx)
	if err != nil {
		return spec, nil, fmt.Errorf("load the revoked tokens: %w", err)
	}
	h := sha256.New()
	hash := func(b []byte, n uint64) { h.Write(binary.BigEndian.AppendUint64(b, n)) }
	for _, s := range revoked {
		spec.Revoked = append(spec.Revoked, uint32(s.Number))
		hash([]byte("index"), uint64(s.Number))
	}
	if spec.Floors, err = i.doorFloors(); err != nil {
		return spec, nil, err
	}
	for _, f := range spec.Floors {
		hash(f.Door[:], f.Generation)
	}
	// The size grows in steps, so that a new index seldom needs a new list.
	spec.Size = int(min((i.row.NextNumber+minSpareIndexes)/spareIndexes*spareIndexes+spareIndexes, smartkey.MaxStatusIndexes))
	hash([]byte("size"), uint64(spec.Size))
	return spec, h.Sum(nil), nil
}

// doorFloors returns the lowest accepted generation of each door that was restarted, for the status list: at most smartkey.MaxFloors, the
// latest.
func (i *issuer) doorFloors() ([]smartkey.Floor, error) {
	rules, err := i.tx.DoorRule.Query().Where(entdoorrule.PropertyID(i.row.ID), entdoorrule.FloorGT(0)).
		Order(entdoorrule.ByFloor(), entdoorrule.ByID()).All(i.tx.Context())
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	// A list has room for MaxFloors doors. The oldest rules are no longer needed: all tokens from before them have expired.
	rules = rules[max(0, len(rules)-smartkey.MaxFloors):]
	ids := make([]string, 0, len(rules))
	floor := map[string]uint64{}
	for _, r := range rules {
		ids, floor[r.ID] = append(ids, r.ID), uint64(r.Floor)
	}
	locks, err := i.tx.Lock.Query().Where(entlock.PropertyID(i.row.ID), entlock.IDIn(ids...)).Order(entlock.ByID()).All(i.tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the locks of door rules: %w", err)
	}
	out := make([]smartkey.Floor, 0, len(locks))
	for _, lk := range locks {
		out = append(out, smartkey.Floor{Door: DoorOf(lk), Generation: floor[lk.ID]})
	}
	return out, nil
}

// DoorOf returns the id of a lock's door in tokens.
func DoorOf(lk *ent.Lock) smartkey.Door { return smartkey.DoorID(lk.BridgeID, lk.Address) }

// renewInterval returns the age at which an unchanged status list is published again: listInterval, or less if a door requires a more
// recent list.
func (i *issuer) renewInterval() (time.Duration, error) {
	rule, err := i.tx.DoorRule.Query().Where(entdoorrule.PropertyID(i.row.ID), entdoorrule.ListAgeSecondsGT(0)).
		Order(entdoorrule.ByListAgeSeconds()).First(i.tx.Context())
	if ent.IsNotFound(err) {
		return listInterval, nil
	}
	if err != nil {
		return 0, fmt.Errorf("load the rule of the strictest door: %w", err)
	}
	return min(listInterval, time.Duration(rule.ListAgeSeconds)*time.Second/listsPerMaxAge), nil
}

// IssuersAfter lists up to most ids of properties that have an issuer, in order of the ids, those above after (empty: from the first). The
// sweep calls [Reconcile] for them.
func IssuersAfter(tx *db.Tx, after string, most int) ([]string, error) {
	return tx.Issuer.Query().Where(entissuer.IDGT(after)).Order(entissuer.ByID()).Limit(most).IDs(tx.Context())
}

// Inspect reports in a view, without writing, whether work for [Reconcile] is due. suspected are the ids of the status indexes to pass to
// it. It returns false for a property without an issuer.
func Inspect(view *db.Tx, propertyID string) (due bool, suspected []string, err error) {
	i, err := loadIssuer(view, nil, propertyID)
	if err != nil || i == nil {
		return false, nil, err
	}
	if suspected, err = findOutdated(view, propertyID); err != nil || len(suspected) > 0 {
		return true, suspected, err
	}
	renewInterval, err := i.renewInterval()
	if err != nil || view.Now().Sub(i.row.ListAt) >= renewInterval {
		return true, nil, err
	}
	if next, err := i.nextStep(); err != nil || next != stepWait {
		return true, nil, err
	}
	_, digest, err := i.nextListContent()
	return !bytes.Equal(digest, i.row.ListDigest), nil, err
}

// CheckNoSmartKeysInUse returns a fault, with the time to try again, until statusRetention after the end of the property's last token. A
// revoked token counts too, because a bridge may not know the revocation yet. The deletion of a property calls it, because afterwards the
// server cannot revoke the token.
func CheckNoSmartKeysInUse(tx *db.Tx, propertyID string) error {
	last, err := tx.KeyStatus.Query().Where(entkeystatus.PropertyID(propertyID), entkeystatus.EndsAtGTE(tx.Now().Add(-statusRetention))).
		Order(entkeystatus.ByEndsAt(entsql.OrderDesc())).First(tx.Context())
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find SmartKeys in use: %w", err)
	}
	until := last.EndsAt.Add(statusRetention).UTC().Format(time.RFC3339)
	return fault.New(fault.Precondition, fault.SmartkeysInUse,
		"SmartKeys of phones may still open doors of the property; end the stays, and try again after %s", until).Put("until", until)
}

// Sweep deletes up to most status indexes whose tokens expired more than statusRetention ago, of all properties, and up to most links that
// expired more than linkLifetime ago.
func Sweep(tx *db.Tx, most int) error {
	ids, err := tx.KeyStatus.Query().Where(entkeystatus.EndsAtLT(tx.Now().Add(-statusRetention))).Limit(most).IDs(tx.Context())
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		if _, err := tx.KeyStatus.Delete().Where(entkeystatus.IDIn(ids...)).Exec(tx.Context()); err != nil {
			return err
		}
	}
	return sweepLinks(tx, most)
}
