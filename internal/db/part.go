package db

import (
	"context"
	"errors"
	"fmt"
)

// Part runs f so that, if it fails, what it changed is undone and the rest of the transaction stands. Its After hooks go
// with it. Parts do not nest.
func (t *Tx) Part(f func() error) (err error) {
	if err := t.Err(); err != nil {
		return err
	}
	if _, err := t.sql.ExecContext(t.ctx, "SAVEPOINT part"); err != nil {
		return fmt.Errorf("begin a part: %w", err)
	}
	hooks := len(t.after)
	if err := f(); err != nil {
		t.after = t.after[:hooks]
		t.changes.undo()
		ctx := context.WithoutCancel(t.ctx)
		if _, undo := t.sql.ExecContext(ctx, "ROLLBACK TO part"); undo != nil {
			return errors.Join(err, fmt.Errorf("undo a part: %w", undo))
		}
		if _, undo := t.sql.ExecContext(ctx, "RELEASE part"); undo != nil {
			return errors.Join(err, fmt.Errorf("undo a part: %w", undo))
		}
		t.conn.failed.Store(false)
		return err
	}
	if _, err := t.sql.ExecContext(t.ctx, "RELEASE part"); err != nil {
		return fmt.Errorf("end a part: %w", err)
	}
	return nil
}
