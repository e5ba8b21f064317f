package db

import (
	"context"
	"errors"
	"fmt"
)

// Savepoint runs f within a savepoint: if f fails, its changes and its notifications are undone and the rest of the transaction
// remains. Savepoints do not nest.
func (t *Tx) Savepoint(f func() error) (err error) {
	if err := t.Err(); err != nil {
		return err
	}
	if _, err := t.sql.ExecContext(t.ctx, "SAVEPOINT part"); err != nil {
		return fmt.Errorf("begin a savepoint: %w", err)
	}
	before := len(t.notices)
	if err := f(); err != nil {
		t.notices = t.notices[:before]
		t.changes.invalidate()
		ctx := context.WithoutCancel(t.ctx)
		if _, undo := t.sql.ExecContext(ctx, "ROLLBACK TO part"); undo != nil {
			return errors.Join(err, fmt.Errorf("roll back to a savepoint: %w", undo))
		}
		if _, undo := t.sql.ExecContext(ctx, "RELEASE part"); undo != nil {
			return errors.Join(err, fmt.Errorf("roll back to a savepoint: %w", undo))
		}
		t.conn.failed.Store(false)
		return err
	}
	if _, err := t.sql.ExecContext(t.ctx, "RELEASE part"); err != nil {
		return fmt.Errorf("release a savepoint: %w", err)
	}
	return nil
}
