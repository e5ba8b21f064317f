package server

import (
	"context"
	"errors"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

// codesAtOnce bounds the codes that one change settles or makes.
const codesAtOnce = 50

// linksAtOnce bounds the bridges and the locks that one change looks at.
const linksAtOnce = 200

// settleCodes looks at the codes whose time has come, and has locks keep their backup codes.
func (s *Server) settleCodes(ctx context.Context) error {
	err := s.untilFew(ctx, func(w access.Reconciler) (int, error) { return access.ReconcileDueCodes(w, codesAtOnce) })
	if err != nil {
		return err
	}
	keep, drop, err := access.BackupProperties(s.db.View(ctx))
	if err != nil {
		return err
	}
	var failed []error // what fails at one property holds no other up
	for _, propertyID := range keep {
		failed = append(failed, s.untilFew(ctx, func(w access.Reconciler) (int, error) { return w.EnsureBackups(propertyID, codesAtOnce) }))
	}
	for _, propertyID := range drop {
		failed = append(failed, s.untilFew(ctx, func(w access.Reconciler) (int, error) { return w.EndBackups(propertyID, "system", codesAtOnce) }))
	}
	return errors.Join(failed...)
}

// untilFew repeats a bounded change until it did less than it may.
func (s *Server) untilFew(ctx context.Context, do func(w access.Reconciler) (int, error)) error {
	for {
		n := 0
		err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
			n, err = do(access.Reconciler{Tx: tx, Keys: s.keys, Log: s.log})
			return err
		})
		if err != nil || n < codesAtOnce {
			return err
		}
	}
}

// lookAtLinks tells what has lasted of bridges and locks that come and go.
func (s *Server) lookAtLinks(ctx context.Context) error {
	for _, look := range []func(tx *db.Tx, after string, limit int) (string, error){lock.CheckBridgeLinks, lock.CheckLockLinks} {
		for after, more := "", true; more; more = after != "" {
			err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
				after, err = look(tx, after, linksAtOnce)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
