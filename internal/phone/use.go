package phone

import (
	"fmt"
	"slices"
	"strings"

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

// Claim says of what bridges tell of SmartKeys whose phones they were, as far as that is known here.
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
		g, err := tx.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.OpenKey(p.ReservationID)).Only(tx.Context())
		if err == nil {
			batch[i].GrantID = g.ID
		} else if !ent.IsNotFound(err) {
			return fmt.Errorf("load the grant of a phone: %w", err)
		}
	}
	return nil
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
		if err := note(tx, propertyID, phoneID, lk.ID, true); err != nil {
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
	return note(tx, propertyID, phoneID, a.LockID, a.Operation == lock.SmartKeyUnlock && a.State == lock.ActDone)
}

// note notes on what a phone holds now that it was found good at a lock, and opened it.
func note(tx *db.Tx, propertyID, phoneID, lockID string, opened bool) error {
	ctx := tx.Context()
	held, err := tx.KeyStatus.Query().Where(entkeystatus.PropertyID(propertyID), entkeystatus.PhoneID(phoneID),
		entkeystatus.RevokedAtIsNil(), entkeystatus.EndsAtGT(tx.Now())).All(ctx)
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
