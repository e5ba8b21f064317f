package server

import (
	"context"
	"errors"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

const (
	codeBatch  = 50  // codes that one transaction reconciles or creates
	linkBatch  = 200 // bridges or locks that one transaction checks
	expiryMost = 100 // stays whose access one transaction ends
)

// inBatches repeats a change, each time in its own transaction, until it changes fewer than most rows.
func (s *Server) inBatches(ctx context.Context, most int, change func(tx *db.Tx) (int, error)) error {
	for {
		n := 0
		err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
			n, err = change(tx)
			return err
		})
		if err != nil || n < most {
			return err
		}
	}
}

// expireAccess ends the access of stays whose window is over.
func (s *Server) expireAccess(ctx context.Context) error {
	return s.inBatches(ctx, expiryMost, func(tx *db.Tx) (int, error) { return access.Expire(s.reconciler(tx), expiryMost) })
}

// reconcileCodes reconciles the codes that are due, and the backup codes of every property.
func (s *Server) reconcileCodes(ctx context.Context) error {
	err := s.inBatches(ctx, codeBatch, func(tx *db.Tx) (int, error) { return access.ReconcileDueCodes(s.reconciler(tx), codeBatch) })
	if err != nil {
		return err
	}
	keep, drop, err := access.BackupProperties(s.db.View(ctx))
	if err != nil {
		return err
	}
	var failed []error // a failure at one property does not stop the others
	for _, propertyID := range keep {
		failed = append(failed, s.inBatches(ctx, codeBatch, func(tx *db.Tx) (int, error) { return s.reconciler(tx).EnsureBackups(propertyID, codeBatch) }))
	}
	for _, propertyID := range drop {
		failed = append(failed, s.inBatches(ctx, codeBatch, func(tx *db.Tx) (int, error) { return s.reconciler(tx).EndBackups(propertyID, "system", codeBatch) }))
	}
	return errors.Join(failed...)
}

func (s *Server) reconciler(tx *db.Tx) access.Reconciler {
	return access.Reconciler{Tx: tx, Keys: s.keys, Log: s.log}
}

// checkLinks records which bridges and locks have been offline for long enough to notify staff, and which are back.
func (s *Server) checkLinks(ctx context.Context) error {
	for _, check := range []func(tx *db.Tx, after string, limit int) (string, error){lock.CheckBridgeLinks, lock.CheckLockLinks} {
		for after, more := "", true; more; more = after != "" {
			err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
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
