package db

import (
	"context"
	"errors"
	"fmt"
)

// errLogInUse means that the write-ahead log was not emptied, because a reader still needs it.
var errLogInUse = errors.New("a reader holds the write-ahead log")

// scrubbed are the tables of which PostgreSQL keeps deleted and former rows until a VACUUM.
const scrubbed = `guests, stays, messages, disclosures, mails, guest_links, guest_sessions, guest_profiles, profile_links, invitations, reservations, reservation_names, phones, notices`

// Scrub removes the content of deleted rows from the files of the database. On SQLite it empties the write-ahead log, because SQLite
// itself overwrites the rest. On PostgreSQL it runs VACUUM. Call it after an erasure, outside of Write, and again after an error. It does
// not reach backups and archived logs, which are the operator's responsibility.
func (d *DB) Scrub(ctx context.Context) error {
	var err error
	switch e := d.engine.(type) {
	case *sqlite:
		var busy bool
		err = e.checkpointer.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, new(int), new(int))
		if err == nil && busy {
			err = errLogInUse
		}
	case *postgres:
		_, err = e.pool.Exec(ctx, "VACUUM "+scrubbed)
	}
	if err != nil {
		return fmt.Errorf("remove what deleted rows left: %w", err)
	}
	return nil
}
