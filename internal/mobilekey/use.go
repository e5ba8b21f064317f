package mobilekey

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entact "latchkey.dev/ent/act"
	entgrant "latchkey.dev/ent/grant"
	entkeystatus "latchkey.dev/ent/keystatus"
	entphone "latchkey.dev/ent/phone"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/smartkey"
)

// actorName returns the name of a phone as the actor of events.
func actorName(phoneID string) string { return lock.PhoneActorPrefix + phoneID }

// AttributeToPhones completes a bridge's reports about SmartKeys, in place: it adds the phone as the actor, and the access grant, if the
// server knows them.
func AttributeToPhones(tx *db.Tx, propertyID string, batch []lock.LockEvent) error {
	for i, h := range batch {
		if h.Phone == "" {
			continue
		}
		p, err := findByKey(tx, propertyID, h.Phone)
		if err != nil {
			return err
		}
		if p == nil {
			continue
		}
		batch[i].Actor = actorName(p.ID)
		if batch[i].GrantID, err = grantAt(tx, p, h.TrustedTime(tx.Now())); err != nil {
			return err
		}
	}
	return nil
}

// maxGrants limits how many of the latest grants of a stay grantAt searches.
const maxGrants = 20

// grantAt returns the id of the latest grant of the phone's stay that had begun at a time. A report from before the first
// grant has a wrong clock and counts for the first grant. It returns "" if the stay never had a grant.
func grantAt(tx *db.Tx, p *ent.Phone, at time.Time) (string, error) {
	grants, err := tx.Grant.Query().Where(entgrant.PropertyID(p.PropertyID), entgrant.ReservationID(p.ReservationID)).
		Order(entgrant.ByID(sql.OrderDesc())).Limit(maxGrants).All(tx.Context())
	if err != nil {
		return "", fmt.Errorf("load the grants of a phone: %w", err)
	}
	found := ""
	for _, g := range grants {
		if found = g.ID; !g.CreatedAt.After(at) {
			break
		}
	}
	return found, nil
}

// findByKey returns the phone whose key has this id, or nil. If several were enrolled with the key, it returns the one enrolled last.
func findByKey(view *db.Tx, propertyID, keyID string) (*ent.Phone, error) {
	p, err := view.Phone.Query().Where(entphone.PropertyID(propertyID), entphone.KeyID(keyID)).
		Order(ent.Desc(entphone.FieldID)).First(view.Context())
	if err != nil && !ent.IsNotFound(err) {
		return nil, fmt.Errorf("load a phone: %w", err)
	}
	return p, nil
}

// RecordOpenings records which doors phones opened, and so at which locks their tokens were verified, from a bridge's reports that
// [AttributeToPhones] completed. It ignores other reports, such as refusals, and those about locks that were removed since.
func RecordOpenings(tx *db.Tx, propertyID, bridgeID string, batch []lock.LockEvent) error {
	for _, h := range batch {
		phoneID, ours := strings.CutPrefix(h.Actor, lock.PhoneActorPrefix)
		if !ours || h.Kind != "opened" {
			continue
		}
		lk, err := lock.GetByAddress(tx, propertyID, bridgeID, h.Address)
		if fault.Has(err, fault.LockNotFound) {
			continue // the lock was removed since
		}
		if err != nil {
			return fmt.Errorf("load an opened lock: %w", err)
		}
		if err := recordUse(tx, propertyID, phoneID, lk.ID, h.TrustedTime(tx.Now()), true); err != nil {
			return err
		}
	}
	return nil
}

// RecordCommandResult records that the bridge accepted the token of a phone's unlock command, and whether the door opened, as the finished
// command with the id commandID says. reason is the bridge's verdict on the token; if it is a refusal, there is nothing to record.
func RecordCommandResult(tx *db.Tx, propertyID, commandID, reason string) error {
	if reason != string(smartkey.OK) {
		return nil
	}
	a, err := tx.Act.Query().Where(entact.ID(commandID), entact.PropertyID(propertyID)).Only(tx.Context())
	if err != nil {
		return fmt.Errorf("load the command of a SmartKey: %w", err)
	}
	phoneID, ours := strings.CutPrefix(a.Actor, lock.PhoneActorPrefix)
	if !ours {
		return nil
	}
	return recordUse(tx, propertyID, phoneID, a.LockID, a.CreatedAt, a.Operation == lock.SmartKeyUnlock && a.State == lock.CommandDone)
}

// recordUse records that the phone's present token was verified at a lock at a time, and whether it opened the door. It ignores a use from
// before the phone had this token, and at a lock that the token does not cover.
func recordUse(tx *db.Tx, propertyID, phoneID, lockID string, at time.Time, opened bool) error {
	ctx := tx.Context()
	held, err := tx.KeyStatus.Query().Where(entkeystatus.PropertyID(propertyID), entkeystatus.PhoneID(phoneID),
		entkeystatus.RevokedAtIsNil(), entkeystatus.EndsAtGT(tx.Now()), entkeystatus.SinceLTE(at)).All(ctx)
	if err != nil {
		return fmt.Errorf("load the tokens of a phone: %w", err)
	}
	for _, s := range held {
		checked, used := addOnce(s.CheckedIds, lockID), s.OpenedIds
		if opened {
			used = addOnce(used, lockID)
		}
		if !slices.Contains(s.LockIds, lockID) || len(checked) == len(s.CheckedIds) && len(used) == len(s.OpenedIds) {
			continue
		}
		if err := tx.KeyStatus.UpdateOne(s).SetCheckedIds(checked).SetOpenedIds(used).Exec(ctx); err != nil {
			return fmt.Errorf("record the use of a token: %w", err)
		}
	}
	return nil
}

// addOnce returns a list with an id added if it is not there yet. It does not change ids.
func addOnce(ids []string, id string) []string {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(slices.Clone(ids), id)
}
