package phone

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entdoorrule "latchkey.dev/ent/doorrule"
	entgrant "latchkey.dev/ent/grant"
	entissuer "latchkey.dev/ent/issuer"
	entkeystatus "latchkey.dev/ent/keystatus"
	entlock "latchkey.dev/ent/lock"
	entphone "latchkey.dev/ent/phone"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/smartkey"
)

const (
	// listEvery is how old a status list becomes before it is made anew although nothing changed: doors ask for young ones.
	listEvery = time.Hour
	// listParts is how often a list is made anew within the age that the strictest door accepts.
	listParts = 4
	// spareIndexes are those beyond the last one given: bridges refuse an index that their list does not reach.
	spareIndexes = 1024
	leastSpare   = 256
	// keptStatus is how long an index stays taken after its last token.
	keptStatus = time.Hour
)

// Reconcile revokes those of the suspected tokens that may no longer open what they name, takes the next step of a rotation, and
// publishes the status list if it says something new, or is due. It reports whether bridges have to be told; they are woken.
// Who suspects what is said by [Inspect].
func Reconcile(tx *db.Tx, keys *keyring.Ring, propertyID string, suspected ...string) (bool, error) {
	i, err := load(tx, keys, propertyID)
	if err != nil || i == nil {
		return false, err
	}
	var ids []string
	if len(suspected) > 0 {
		if ids, err = over(tx, propertyID, entkeystatus.IDIn(suspected...)); err != nil {
			return false, err
		}
	}
	if len(ids) > 0 {
		err := tx.KeyStatus.Update().Where(entkeystatus.PropertyID(propertyID), entkeystatus.IDIn(ids...)).SetRevokedAt(tx.Now()).Exec(tx.Context())
		if err != nil {
			return false, fmt.Errorf("revoke tokens: %w", err)
		}
	}
	moved, err := i.proceed()
	if err != nil {
		return false, err
	}
	listed, err := i.publish(false)
	if err != nil {
		return false, err
	}
	if len(ids) > 0 {
		err := tx.KeyStatus.Update().Where(entkeystatus.PropertyID(propertyID), entkeystatus.IDIn(ids...)).SetRevokedList(i.row.ListNumber).Exec(tx.Context())
		if err != nil {
			return false, fmt.Errorf("note which list revokes tokens: %w", err)
		}
	}
	if !moved && !listed {
		return false, nil
	}
	return true, lock.WakeKeys(tx, propertyID)
}

// over lists the indexes, by id, whose tokens may no longer open what they name: the phone was shut out, the stay has ended
// or changed, or a door is no longer one of its doors.
func over(tx *db.Tx, propertyID string, which ...predicate.KeyStatus) ([]string, error) {
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
		return nil, fmt.Errorf("look for phones that were shut out: %w", err)
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
		if slices.Contains(out, s.PhoneID) || g == nil || g.EndedAt != nil || g.KeyGeneration != s.KeyGeneration || !within(s.LockIds, opens[g.ID]) {
			gone = append(gone, s.ID)
		}
	}
	return gone, nil
}

func lockIDs(tx *db.Tx, g *ent.Grant) ([]string, error) {
	doors, err := access.Opens(tx, g)
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

func within(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// publish signs the next status list if that says something new or is due; in any case if forced.
func (i *issuer) publish(forced bool) (bool, error) {
	spec, digest, err := i.content()
	if err != nil {
		return false, err
	}
	every, err := i.every()
	if err != nil {
		return false, err
	}
	key, signer, err := i.current()
	if err != nil {
		return false, err
	}
	due := i.tx.Now().Sub(i.row.ListAt) >= every || i.row.ListKey != key.Key.KeyID().String() || !bytes.Equal(digest, i.row.ListDigest)
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

// mostAhead bounds how far one word of a bridge moves the numbers of lists: ten years of one list every five minutes.
const mostAhead = 1 << 20

// Overtake publishes a status list whose number is greater than that of one which a bridge holds and which was never made here: the
// database was restored from an older copy, and the bridge would refuse every list up to that number. Numbers given since the
// restore may say other things to bridges than they say here, so what waits for a list waits for this one. Nothing is done for
// a number that newer lists have passed, or one beyond belief.
func Overtake(tx *db.Tx, keys *keyring.Ring, propertyID string, held int64) error {
	i, err := load(tx, keys, propertyID)
	if err != nil || i == nil || held < i.row.ListNumber || held-i.row.ListNumber > mostAhead {
		return err
	}
	ctx := tx.Context()
	if i.row, err = tx.Issuer.UpdateOne(i.row).SetListNumber(held).Save(ctx); err != nil {
		return fmt.Errorf("raise the number of a status list: %w", err)
	}
	if _, err := i.publish(true); err != nil {
		return err
	}
	of := func(more predicate.KeyStatus) *ent.KeyStatusUpdate {
		return tx.KeyStatus.Update().Where(entkeystatus.PropertyID(propertyID), more)
	}
	if err := of(entkeystatus.ListNumberGT(0)).SetListNumber(i.row.ListNumber).Exec(ctx); err != nil {
		return fmt.Errorf("note which list reaches tokens: %w", err)
	}
	if err := of(entkeystatus.RevokedListGT(0)).SetRevokedList(i.row.ListNumber).Exec(ctx); err != nil {
		return fmt.Errorf("note which list revokes tokens: %w", err)
	}
	return lock.WakeKeys(tx, propertyID)
}

// content is what the next list says, and the digest of what does not change by itself.
func (i *issuer) content() (smartkey.ListSpec, []byte, error) {
	ctx, now := i.tx.Context(), i.tx.Now()
	spec := smartkey.ListSpec{
		Property: i.row.ID, URI: listURI(i.row.ID), Number: uint64(i.row.ListNumber + 1), IssuedAt: now, Expires: now.Add(smartkey.DefaultMaxListAge),
	}
	revoked, err := i.tx.KeyStatus.Query().Where(entkeystatus.PropertyID(i.row.ID), entkeystatus.RevokedAtNotNil(), entkeystatus.EndsAtGT(now.Add(-keptStatus))).
		Order(entkeystatus.ByNumber()).All(ctx)
	if err != nil {
		return spec, nil, fmt.Errorf("list what is revoked: %w", err)
	}
	h := sha256.New()
	note := func(b []byte, n uint64) { h.Write(binary.BigEndian.AppendUint64(b, n)) }
	for _, s := range revoked {
		spec.Revoked = append(spec.Revoked, uint32(s.Number))
		note([]byte("index"), uint64(s.Number))
	}
	if spec.Floors, err = i.floors(); err != nil {
		return spec, nil, err
	}
	for _, f := range spec.Floors {
		note(f.Door[:], f.Generation)
	}
	// Grows in steps, so that a new index seldom asks for a new list.
	spec.Size = int(min((i.row.NextNumber+leastSpare)/spareIndexes*spareIndexes+spareIndexes, smartkey.MaxStatusIndexes))
	note([]byte("size"), uint64(spec.Size))
	return spec, h.Sum(nil), nil
}

func (i *issuer) floors() ([]smartkey.Floor, error) {
	rules, err := i.tx.DoorRule.Query().Where(entdoorrule.PropertyID(i.row.ID), entdoorrule.FloorGT(0)).
		Order(entdoorrule.ByFloor(), entdoorrule.ByID()).All(i.tx.Context())
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	// More than a list holds: the oldest are over, since no token lives so long that 1,024 doors start anew meanwhile.
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

// DoorOf is the id of a lock's door in tokens.
func DoorOf(lk *ent.Lock) smartkey.Door { return smartkey.DoorID(lk.BridgeID, lk.Address) }

// every is after which time a list is made anew.
func (i *issuer) every() (time.Duration, error) {
	rule, err := i.tx.DoorRule.Query().Where(entdoorrule.PropertyID(i.row.ID), entdoorrule.ListAgeSecondsGT(0)).
		Order(entdoorrule.ByListAgeSeconds()).First(i.tx.Context())
	if ent.IsNotFound(err) {
		return listEvery, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for the strictest door: %w", err)
	}
	return min(listEvery, time.Duration(rule.ListAgeSeconds)*time.Second/listParts), nil
}

// Due lists the properties whose issuer may have something to do: see [Reconcile].
func Due(ctx context.Context, c *ent.Client, after string, most int) ([]string, error) {
	return c.Issuer.Query().Where(entissuer.IDGT(after)).Order(entissuer.ByID()).Limit(most).IDs(ctx)
}

// Inspect looks, without writing, whether [Reconcile] has anything to do, and at which tokens.
func Inspect(view *db.Tx, propertyID string) (due bool, suspected []string, err error) {
	i, err := load(view, nil, propertyID)
	if err != nil || i == nil {
		return false, nil, err
	}
	if suspected, err = over(view, propertyID); err != nil || len(suspected) > 0 {
		return true, suspected, err
	}
	every, err := i.every()
	if err != nil || view.Now().Sub(i.row.ListAt) >= every {
		return true, nil, err
	}
	if next, err := i.next(); err != nil || next != wait {
		return true, nil, err
	}
	_, digest, err := i.content()
	return !bytes.Equal(digest, i.row.ListDigest), nil, err
}

// Sweep forgets indexes and links that are over, at most so many of each.
func Sweep(tx *db.Tx, most int) error {
	ids, err := tx.KeyStatus.Query().Where(entkeystatus.EndsAtLT(tx.Now().Add(-keptStatus))).Limit(most).IDs(tx.Context())
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
