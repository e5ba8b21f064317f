package db

import (
	"context"
	"fmt"
)

// scrubbed are the tables of which PostgreSQL keeps deleted and former rows until a VACUUM.
const scrubbed = `guests, stays, messages, disclosures, mails, guest_links, guest_sessions, guest_profiles, profile_links, invitations, reservations, reservation_names, phones, notices`

// Scrub removes what deleted rows have left in the files of the database: SQLite overwrites deleted content itself, so that only its
// write-ahead log is left to be emptied, and PostgreSQL removes dead rows. Call it after an erasure, outside of a change. Backups and archived
// logs from before are the operator's.
func (d *DB) Scrub(ctx context.Context) error {
	var err error
	switch e := d.engine.(type) {
	case *sqlite:
		_, err = e.checkpointer.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	case *postgres:
		_, err = e.pool.Exec(ctx, "VACUUM "+scrubbed)
	}
	if err != nil {
		return fmt.Errorf("remove what deleted rows left: %w", err)
	}
	return nil
}
