package db

import (
	"context"
	"errors"
	"fmt"
)

// errLogInUse says that a reader needs the write-ahead log, so that it keeps what deleted rows have left.
var errLogInUse = errors.New("a reader holds the write-ahead log")

// scrubbed are the tables of which PostgreSQL keeps deleted and former rows until a VACUUM.
const scrubbed = `guests, stays, messages, disclosures, mails, guest_links, guest_sessions, guest_profiles, profile_links, invitations, reservations, reservation_names, phones, notices`

// Scrub removes what deleted rows have left in the files of the database: SQLite overwrites deleted content itself, so that only its
// write-ahead log is left to be emptied, and PostgreSQL removes dead rows. Call it after an erasure, outside of a change. Backups and archived
// logs from before are the operator's. After an error it must be called again.
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
