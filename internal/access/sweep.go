package access

import (
	"fmt"
	"log/slog"
	"time"

	"entgo.io/ent/dialect/sql"

	entgrant "latchkey.dev/ent/grant"
	entpin "latchkey.dev/ent/pin"
	"latchkey.dev/ent/predicate"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/watch"
)

// Expire handles what only time causes, up to limit of each: it ends access after its window, deletes PINs after pinRetention, and notifies
// staff of late codes. It returns the number of ended grants; if that is limit, there may be more. A grant that fails is logged and does not
// block the others. It stays due, so the next call tries it again.
func Expire(rec Reconciler, limit int) (int, error) {
	n, err := rec.endExpired(limit)
	if err != nil {
		return n, err
	}
	if err := rec.deleteExpiredPINs(limit); err != nil {
		return n, err
	}
	return n, rec.notifyLateCodes(limit)
}

// endExpired ends up to limit grants whose window is over, the earliest first, and returns their number. Grants that fail do not count.
func (rec Reconciler) endExpired(limit int) (n int, err error) {
	var tried []string
	for n < limit {
		due, err := rec.Tx.Grant.Query().Where(entgrant.OpenKeyGT(""), entgrant.NotAfterLTE(rec.Tx.Now()), entgrant.IDNotIn(tried...)).
			Order(entgrant.ByNotAfter()).Limit(limit - n).All(rec.Tx.Context())
		if err != nil {
			return n, fmt.Errorf("find windows that are over: %w", err)
		}
		if len(due) == 0 {
			break
		}
		for _, g := range due {
			done, err := rec.Isolate("grant", g.ID, g.PropertyID, func() error { _, err := rec.reconcileGrant(g, Report{}); return err })
			if err != nil {
				return n, err
			}
			if tried = append(tried, g.ID); done {
				n++
			}
		}
	}
	return n, nil
}

// Isolate runs do in a savepoint and logs its failure, so that it does not block other grants and codes: then done is false and err is nil.
// It returns an error only if the whole transaction must end. kind and id name the object in the log.
func (rec Reconciler) Isolate(kind, id, propertyID string, do func() error) (done bool, err error) {
	err = rec.Tx.Savepoint(do)
	switch {
	case err == nil:
		return true, nil
	case rec.Tx.Context().Err() != nil, rec.Tx.Err() != nil:
		return false, err
	case rec.Log != nil:
		rec.Log.Error("a "+kind+" could not be reconciled; retrying", slog.String(kind, id), slog.String("property", propertyID), slog.Any("error", err))
	}
	return false, nil
}

// deleteExpiredPINs deletes the PINs of up to limit reservations that were kept in case of an extension: pinRetention has passed since
// their access ended, and no lock holds their codes.
func (rec Reconciler) deleteExpiredPINs(limit int) error {
	kept := func(s *sql.Selector) {
		s.Where(sql.In(s.C(entgrant.FieldID), sql.Select(entpin.FieldGrantID).From(sql.Table(entpin.Table))))
	}
	over, err := rec.Tx.Grant.Query().Where(entgrant.EndReason(string(WindowPast)), entgrant.EndedAtLTE(rec.Tx.Now().Add(-pinRetention)),
		entgrant.ReleasedAtNotNil(), predicate.Grant(kept)).Limit(limit).All(rec.Tx.Context())
	if err != nil {
		return fmt.Errorf("find expired PINs: %w", err)
	}
	for _, g := range over {
		run := Run{Reconciler: rec, Holder: Holder{ID: g.ID, PropertyID: g.PropertyID}}
		if err := run.DeletePINs(); err != nil {
			return err
		}
		if err := rec.Tx.Grant.UpdateOne(g).SetPinID("").Exec(rec.Tx.Context()); err != nil {
			return fmt.Errorf("forget the PIN of a grant: %w", err)
		}
		watch.Notify(rec.Tx, g.PropertyID, watch.Reservations, g.ReservationID)
	}
	return nil
}

// DeletePINsOfCodes deletes the PINs of staff, one-time and backup codes. The caller must know that no lock holds them.
func DeletePINsOfCodes(tx *db.Tx, propertyID string, codeIDs []string) error {
	if _, err := tx.Pin.Delete().Where(entpin.PropertyID(propertyID), entpin.CodeIDIn(codeIDs...)).Exec(tx.Context()); err != nil {
		return fmt.Errorf("delete the PINs of codes: %w", err)
	}
	return nil
}

// lateAfter is how long a code may take to reach its lock before staff are notified. The delay has no other effect: the old door of a room
// move still opens.
const lateAfter = 10 * time.Minute

// notifyLateCodes notifies staff of the reservations whose code a lock has not confirmed for lateAfter since the change and since the start
// of its window. It adds no second notice while one is open. A change of the access, or a lock's confirmation, resolves the notice; a code
// that is late after that is notified again. One call checks up to limit slots.
func (rec Reconciler) notifyLateCodes(limit int) error {
	ctx, now := rec.Tx.Context(), rec.Tx.Now()
	ids, err := rec.Tx.Slot.Query().Where(entslot.Present(true), entslot.ChangedAtLTE(now.Add(-lateAfter)), entslot.NotBeforeLTE(now.Add(-lateAfter)),
		entslot.EvidenceIn(string(slot.Queued), string(slot.Sent), string(slot.Unconfirmed)), entslot.Not(entslot.GrantIDHasPrefix(id.Code+"_")), predicate.Slot(hasNoNoticeOfLateCode)).
		Limit(limit).Select(entslot.FieldGrantID).Strings(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	grants, err := rec.Tx.Grant.Query().Where(entgrant.IDIn(ids...)).All(ctx)
	if err != nil {
		return fmt.Errorf("load the grants of codes that are late: %w", err)
	}
	for _, g := range grants {
		err := notice.Add(rec.Tx, notice.Notice{
			PropertyID: g.PropertyID, Kind: notice.CodeLate, Subject: g.ReservationID, OnceKey: notice.CodeLate.Key(g.ID),
		})
		if err != nil {
			return err
		}
	}
	return nil
}
