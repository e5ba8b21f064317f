package guest

import (
	"fmt"
	"time"

	entattempts "latchkey.dev/ent/attempts"
	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	"latchkey.dev/internal/db"
)

// DeleteExpired deletes links and sessions that expired before a time and counts of failed searches that began before it, at most limit
// of each, and returns the largest of the three numbers.
func DeleteExpired(tx *db.Tx, before time.Time, limit int) (int, error) {
	ctx := tx.Context()
	sessions, err := tx.GuestSession.Query().Where(guestsession.ExpiresAtLT(before)).Limit(limit).IDs(ctx)
	if err == nil {
		_, err = tx.GuestSession.Delete().Where(guestsession.IDIn(sessions...)).Exec(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("delete expired sessions of guests: %w", err)
	}
	links, err := tx.GuestLink.Query().Where(guestlink.ExpiresAtLT(before)).Limit(limit).IDs(ctx)
	if err == nil {
		_, err = tx.GuestLink.Delete().Where(guestlink.IDIn(links...)).Exec(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("delete expired links of guests: %w", err)
	}
	counts, err := tx.Attempts.Query().Where(entattempts.BeganAtLT(before)).Limit(limit).IDs(ctx)
	if err == nil {
		_, err = tx.Attempts.Delete().Where(entattempts.IDIn(counts...)).Exec(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("delete counts of failed searches: %w", err)
	}
	return max(len(sessions), len(links), len(counts)), nil
}
