package reservation

import (
	"fmt"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/notice"
)

// EraseNotices deletes the notices about a reservation whose guests' data are erased. It keeps the notices that staff still need to secure
// the doors, which name no guest: those about a code that a lock may still hold, and those that the removal of the stay is blocked. The
// caller notifies the streams.
func EraseNotices(tx *db.Tx, propertyID, reservationID string) error {
	_, err := tx.Notice.Delete().Where(entnotice.PropertyID(propertyID), entnotice.Subject(reservationID), entnotice.Not(access.AboutCodesOnLocks()),
		entnotice.KindNotIn(string(notice.RetentionBlockedByAccess), string(notice.RetentionBlockedByLock))).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("delete the notices about the guests of %s: %w", reservationID, err)
	}
	return nil
}
