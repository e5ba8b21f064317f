package phone

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

// actorOf is a phone in the records of doors.
func actorOf(phoneID string) string { return lock.PhoneActor + phoneID }

// Claim says of what bridges tell of SmartKeys whose phones they were, and of which access, as far as that is known here.
func Claim(tx *db.Tx, propertyID string, batch []lock.Happened) error {
	for i, h := range batch {
		if h.Phone == "" {
			continue
		}
		p, err := byKey(tx, propertyID, h.Phone)
		if err != nil {
			return err
		}
		if p == nil {
			continue
		}
		batch[i].Actor = actorOf(p.ID)
		if batch[i].GrantID, err = grantAt(tx, p, h.At(tx.Now())); err != nil {
			return err
		}
	}
	return nil
}

// mostGrants bounds how many former grants of a stay are looked at.
const mostGrants = 20

// grantAt is the access that a phone's stay had at an instant, by id: the last that had begun. Before the first there was
// nothing to open with, so what is told of then is of the first, by a clock that is behind. Empty: the stay never had any.
func grantAt(tx *db.Tx, p *ent.Phone, at time.Time) (string, error) {
	grants, err := tx.Grant.Query().Where(entgrant.PropertyID(p.PropertyID), entgrant.ReservationID(p.ReservationID)).
		Order(entgrant.ByID(sql.OrderDesc())).Limit(mostGrants).All(tx.Context())
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

// byKey is the phone that enrolled last with a key; nil: none is known.
func byKey(view *db.Tx, propertyID, keyID string) (*ent.Phone, error) {
	p, err := view.Phone.Query().Where(entphone.PropertyID(propertyID), entphone.KeyID(keyID)).
		Order(ent.Desc(entphone.FieldID)).First(view.Context())
	if err != nil && !ent.IsNotFound(err) {
		return nil, fmt.Errorf("look for a phone: %w", err)
	}
	return p, nil
}

// Happened notes which doors SmartKeys opened, of what a bridge told and [Claim] said whose it was.
func Happened(tx *db.Tx, propertyID, bridgeID string, batch []lock.Happened) error {
	for _, h := range batch {
		phoneID, ours := strings.CutPrefix(h.Actor, lock.PhoneActor)
		if !ours || h.Kind != "opened" {
			continue
		}
		lk, err := lock.AtAddress(tx.Context(), tx.Client, propertyID, bridgeID, h.Address)
		if fault.Has(err, fault.LockNotFound) {
			continue // it is gone
		}
		if err != nil {
			return fmt.Errorf("look for a lock that was opened: %w", err)
		}
		if err := note(tx, propertyID, phoneID, lk.ID, h.At(tx.Now()), true); err != nil {
			return err
		}
	}
	return nil
}

// Acted notes what a bridge found of the SmartKey of an act, and whether the door was opened with it.
func Acted(tx *db.Tx, propertyID, actID, reason string) error {
	if reason != string(smartkey.OK) {
		return nil
	}
	a, err := tx.Act.Query().Where(entact.ID(actID), entact.PropertyID(propertyID)).Only(tx.Context())
	if err != nil {
		return fmt.Errorf("load the act of a SmartKey: %w", err)
	}
	phoneID, ours := strings.CutPrefix(a.Actor, lock.PhoneActor)
	if !ours {
		return nil
	}
	return note(tx, propertyID, phoneID, a.LockID, a.CreatedAt, a.Operation == lock.SmartKeyUnlock && a.State == lock.ActDone)
}

// note notes on what a phone holds now that it was found good at a lock, and opened it, if it held it when that was.
func note(tx *db.Tx, propertyID, phoneID, lockID string, at time.Time, opened bool) error {
	ctx := tx.Context()
	held, err := tx.KeyStatus.Query().Where(entkeystatus.PropertyID(propertyID), entkeystatus.PhoneID(phoneID),
		entkeystatus.RevokedAtIsNil(), entkeystatus.EndsAtGT(tx.Now()), entkeystatus.SinceLTE(at)).All(ctx)
	if err != nil {
		return fmt.Errorf("load what a phone holds: %w", err)
	}
	for _, s := range held {
		checked, used := with(s.CheckedIds, lockID), s.OpenedIds
		if opened {
			used = with(used, lockID)
		}
		if !slices.Contains(s.LockIds, lockID) || len(checked) == len(s.CheckedIds) && len(used) == len(s.OpenedIds) {
			continue
		}
		if err := tx.KeyStatus.UpdateOne(s).SetCheckedIds(checked).SetOpenedIds(used).Exec(ctx); err != nil {
			return fmt.Errorf("note the use of a token: %w", err)
		}
	}
	return nil
}

func with(ids []string, id string) []string {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(slices.Clone(ids), id)
}
