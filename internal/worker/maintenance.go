package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"latchkey.dev/ent/idempotency"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/access/code"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/kiosk"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/staff"
)

// Maintenance is the periodic work on all properties of an installation.
type Maintenance struct {
	Keys       *keyring.Ring
	Log        *slog.Logger
	Every      time.Duration // Every is the interval of the sweeps that end access, check links and reconcile codes; 0 means 15 s
	KeepAudit  time.Duration // KeepAudit is the retention of the audit log and of the names of former people; 0 keeps nothing
	KeepEvents time.Duration // KeepEvents is the retention of events, notices, closed conflicts and records without their own; 0 keeps nothing
}

// Limits of one transaction.
const (
	sweepBatch        = 500 // rows that a sweep deletes, or arrivals that it enqueues, in one transaction
	codeBatch         = 50  // codes that one transaction creates, reconciles, ends or seals
	linkBatch         = 200 // bridges, locks, kiosks or stays that a sweep checks at once
	conversationBatch = 50  // conversations that one transaction deletes
	expiryBatch       = 100 // reservations whose access one transaction ends
)

// Sweeps returns the periodic sweeps. Only one process of an installation may run them: see [Lease].
func (m Maintenance) Sweeps() []Sweep {
	soon := cmp.Or(m.Every, 15*time.Second)
	return []Sweep{
		{Name: "windows that end", Every: soon, Run: m.expireAccess},
		{Name: "links", Every: soon, Run: m.checkLinks},
		{Name: "kiosks", Every: time.Minute, Run: notifySilentKiosks},
		{Name: "codes", Every: soon, Run: m.reconcileCodes},
		{Name: "idempotency keys", Every: time.Hour, Run: func(ctx context.Context, d *db.DB) error { return inBatches(ctx, d, sweepBatch, deleteExpiredAnswers) }},
		{Name: "nodes", Every: nodeRetention, Run: func(ctx context.Context, d *db.DB) error { return d.Write(ctx, deleteOldNodes) }},
		{Name: "events", Every: 6 * time.Hour, Run: m.deleteOldEvents},
		changesSweep(),
		m.deletion("tokens", credential.Retention, credential.Sweep),
		m.deletion("notices", m.KeepEvents, notice.Forget),
		m.deletion("conflicts", m.KeepEvents, space.ForgetConflicts),
		m.deletion("readings of locks", m.KeepEvents, lock.DeleteSamples),
		m.deletion("ended codes", m.KeepEvents, code.DeleteEnded),
		m.deletion("commands of staff", m.KeepEvents, lock.DeleteCommands),
		{Name: "names of codes", Every: 6 * time.Hour, Run: m.sealHolders},
		m.deletion("changes of mappings", m.KeepEvents, space.ForgetChanges),
		m.deletion("guests of canceled stays", checkin.CanceledRetention, checkin.EraseCanceled),
		m.registerSweep(),
		m.deletion("guest register", 0, guest.DeleteRegister),
		m.deletion("mails without a stay", m.KeepEvents, mail.DeleteWithoutStay),
		{Name: "messages", Every: 6 * time.Hour, Run: deleteOldMessages},
		m.deletion("guests' profiles", guest.ProfileRetention, guest.DeleteUnusedProfiles),
		m.deletion("guests' links and sessions", guest.ExpiredRetention, guest.DeleteExpired),
		m.deletion("proofs of erasures", 0, guest.DeleteErasures),
		{Name: "audit log", Every: 6 * time.Hour, Run: m.deleteOldAudit},
		m.deletion("links and sessions of people", 0, staff.DeleteExpired),
		m.deletion("names of former people", m.KeepAudit, staff.DeleteFormer),
		m.deletion("tombstones", reservation.TombstoneRetention, reservation.DeleteTombstones),
	}
}

// inBatches repeats change, each time in its own transaction, until it returns less than limit. change returns the number of rows that it
// changed.
func inBatches(ctx context.Context, d *db.DB, limit int, change func(tx *db.Tx, limit int) (int, error)) error {
	for {
		n := 0
		err := d.Write(ctx, func(tx *db.Tx) (err error) {
			n, err = change(tx, limit)
			return err
		})
		if err != nil || n < limit {
			return err
		}
	}
}

// deletion returns a sweep that deletes rows older than the retention. name is for the log. remove deletes at most limit rows and returns
// their number. Rows with an end of their own have the retention 0: then before is the present time.
func (m Maintenance) deletion(name string, retention time.Duration, remove func(tx *db.Tx, before time.Time, limit int) (int, error)) Sweep {
	return Sweep{Name: name, Every: 6 * time.Hour, Run: func(ctx context.Context, d *db.DB) error {
		return inBatches(ctx, d, sweepBatch, func(tx *db.Tx, limit int) (int, error) { return remove(tx, tx.Now().Add(-retention), limit) })
	}}
}

// deleteOldAudit deletes old entries of the audit log. A transaction covers one property, so it repeats until none deletes any.
func (m Maintenance) deleteOldAudit(ctx context.Context, d *db.DB) error {
	for {
		n := 0
		err := d.Write(ctx, func(tx *db.Tx) (err error) {
			n, err = audit.DeleteOld(tx, m.Keys, tx.Now().Add(-m.KeepAudit), sweepBatch)
			return err
		})
		if err != nil || n == 0 {
			return err
		}
	}
}

// notifySilentKiosks notifies staff of tablets that have not called for some time, in the hours in which guests check in. It writes nothing
// about tablets that call. A failure at one tablet does not stop the others.
func notifySilentKiosks(ctx context.Context, d *db.DB) (failed error) {
	for after := ""; ; {
		due, err := kiosk.ListSilent(d.View(ctx), after, linkBatch)
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, k := range due {
			err := d.Write(ctx, func(tx *db.Tx) error { return kiosk.NotifySilent(tx, k) })
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("notify staff of the kiosk %s: %w", k.ID, err))
			}
			after = k.ID
		}
		if len(due) < linkBatch {
			return failed
		}
	}
}

// deleteOldMessages deletes old conversations of the properties that keep them for a shorter time than the reservation.
func deleteOldMessages(ctx context.Context, d *db.DB) error {
	periods, err := property.ListRetentions(d.View(ctx))
	if err != nil {
		return err
	}
	var failed []error // a failure at one property does not stop the others
	for _, p := range periods {
		if p.MessageDays == 0 {
			continue
		}
		failed = append(failed, deleteConversations(ctx, d, p))
	}
	return errors.Join(failed...)
}

// deleteConversations deletes the conversations of one property whose retention is over. It searches for them outside of the transactions
// that delete.
func deleteConversations(ctx context.Context, d *db.DB, p property.Retention) error {
	before := d.View(ctx).Now().AddDate(0, 0, -p.MessageDays)
	for {
		ended, err := conversation.ListEnded(d.View(ctx), p.PropertyID, before, conversationBatch)
		if err != nil || len(ended) == 0 {
			return err
		}
		err = d.Write(ctx, func(tx *db.Tx) error {
			for _, k := range ended {
				if err := conversation.DeleteEnded(tx, k, before); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(ended) < conversationBatch {
			return err
		}
	}
}

// deleteOldEvents deletes events whose retention is over, in short transactions, except those that [event.Forget] keeps: the last event of
// each subject, and for a while undelivered ones.
func (m Maintenance) deleteOldEvents(ctx context.Context, d *db.DB) error {
	for after := int64(0); ; {
		next := int64(0)
		err := d.Write(ctx, func(tx *db.Tx) (err error) {
			next, err = event.Forget(tx, tx.Now().Add(-m.KeepEvents), after, sweepBatch)
			return err
		})
		if after = next; err != nil || after == 0 {
			return err
		}
	}
}

// deleteExpiredAnswers deletes expired responses that were stored for an Idempotency-Key.
func deleteExpiredAnswers(tx *db.Tx, limit int) (int, error) {
	ids, err := tx.Idempotency.Query().Where(idempotency.ExpiresAtLTE(tx.Now())).Limit(limit).IDs(tx.Context())
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return tx.Idempotency.Delete().Where(idempotency.IDIn(ids...)).Exec(tx.Context())
}

// expireAccess does what only time causes for access: it ends the access of reservations whose window is over, deletes old PINs, and
// notifies staff of late codes, see [access.Expire].
func (m Maintenance) expireAccess(ctx context.Context, d *db.DB) error {
	return inBatches(ctx, d, expiryBatch, func(tx *db.Tx, limit int) (int, error) { return access.Expire(m.reconciler(tx), limit) })
}

// reconcileCodes reconciles the codes that are due. It creates missing backup codes, and ends those of properties that do not use them.
func (m Maintenance) reconcileCodes(ctx context.Context, d *db.DB) error {
	err := inBatches(ctx, d, codeBatch, func(tx *db.Tx, limit int) (int, error) { return code.ReconcileDue(m.reconciler(tx), limit) })
	if err != nil {
		return err
	}
	keep, drop, err := code.BackupProperties(d.View(ctx))
	if err != nil {
		return err
	}
	var failed []error // a failure at one property does not stop the others
	for _, propertyID := range keep {
		failed = append(failed, inBatches(ctx, d, codeBatch, func(tx *db.Tx, limit int) (int, error) {
			return code.EnsureBackups(m.reconciler(tx), propertyID, limit)
		}))
	}
	for _, propertyID := range drop {
		failed = append(failed, inBatches(ctx, d, codeBatch, func(tx *db.Tx, limit int) (int, error) {
			return code.EndBackups(m.reconciler(tx), propertyID, "system", limit)
		}))
	}
	return errors.Join(failed...)
}

// sealHolders encrypts the holders' names of codes that an earlier version of the server stored readable.
func (m Maintenance) sealHolders(ctx context.Context, d *db.DB) error {
	return inBatches(ctx, d, codeBatch, func(tx *db.Tx, limit int) (int, error) { return code.SealHolders(m.reconciler(tx), limit) })
}

// reconciler returns the reconciler of access and codes for a transaction.
func (m Maintenance) reconciler(tx *db.Tx) access.Reconciler {
	return access.Reconciler{Tx: tx, Keys: m.Keys, Log: m.Log}
}

// checkLinks notifies staff of bridges and locks that have been offline for long, and records which are online again.
func (m Maintenance) checkLinks(ctx context.Context, d *db.DB) error {
	for _, check := range []func(tx *db.Tx, after string, limit int) (string, error){bridge.CheckHealth, lock.CheckLinks} {
		for after, more := "", true; more; more = after != "" {
			err := d.Write(ctx, func(tx *db.Tx) (err error) {
				after, err = check(tx, after, linkBatch)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
