package reservation

import (
	"fmt"
	"time"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/notice"
)

// Block is the reason why a reservation whose retention period is over cannot be removed yet; "" means that it can.
type Block string

// Reasons why a reservation cannot be removed yet. If several apply, the first one is reported.
const (
	BlockedByAccess   Block = "accessOpen"    // the access of the reservation has not ended
	BlockedByLock     Block = "codeOnLock"    // a lock may still hold the reservation's code
	BlockedBySmartKey Block = "smartKeyInUse" // the SmartKey status list still needs the number of a token
	BlockedByForms    Block = "formsOpen"     // the official forms of the guests are not in the guest register yet
	BlockedByEvents   Block = "recentEvents"  // the reservation has recent events, which a subscriber possibly still has to receive
)

const (
	// recentEvents is how long an event must have been stored before its reservation may be removed, so that
	// subscribers receive it.
	recentEvents = 7 * 24 * time.Hour
	// blockNotice is how long the removal of a reservation is blocked before staff are notified.
	blockNotice = 7 * 24 * time.Hour
	// TombstoneRetention is how long a tombstone is kept, which is longer than any PMS is known to repeat old
	// changes. Afterwards only the end date shows that a change is late. A tombstone expires because its hash is
	// still a trace of a guest.
	TombstoneRetention = 3 * 365 * 24 * time.Hour
)

// remains is what blocks the removal of a reservation whose retention period is over.
type remains struct {
	openAccess, codeOnLock, smartKey, openForms, recentEvent bool
}

// blockedBy returns the most important reason why the reservation cannot be removed yet, or "" if it can.
func (r remains) blockedBy() Block {
	switch {
	case r.openAccess:
		return BlockedByAccess
	case r.codeOnLock:
		return BlockedByLock
	case r.smartKey:
		return BlockedBySmartKey
	case r.openForms:
		return BlockedByForms
	case r.recentEvent:
		return BlockedByEvents
	}
	return ""
}

// retentionOver reports whether the retention period of a reservation with this end is over. It never is if the end is zero. keep is the
// period; 0 keeps reservations forever.
func retentionOver(end, now time.Time, keep time.Duration) bool {
	return keep > 0 && !end.IsZero() && !end.After(now.Add(-keep))
}

// keepFor returns how long a property keeps reservations: the days in its own settings, but at most the period of the
// installation. days is 0 if the property has no setting; installation is 0 if the installation keeps reservations
// forever.
func keepFor(installation time.Duration, days int) time.Duration {
	own := time.Duration(days) * 24 * time.Hour
	if own > 0 && (installation <= 0 || own < installation) {
		return own
	}
	return installation
}

// isLate reports whether a patch without a stored reservation is about a reservation that was removed, or that would be
// removed at once. end is the end date in the patch, or zero. removed is the last pmsMeta.updatedAt of the removed
// reservation with this id, or nil. A newer patch with an end within the retention period is a new reservation: some
// PMSs reuse ids.
func isLate(p Patch, end, now time.Time, keep time.Duration, removed *time.Time) bool {
	if retentionOver(end, now, keep) {
		return true
	}
	if removed == nil {
		return false
	}
	at, dated := p[PMSUpdatedAt].(time.Time)
	return end.IsZero() || !dated || !at.UTC().Truncate(time.Microsecond).After(*removed)
}

// end returns the end of a reservation. It returns zero if the end is missing, or not after the start.
func (r Record) end() time.Time {
	if !r.From.Before(r.To) {
		return time.Time{}
	}
	return r.To
}

// isNewStay reports whether a patch describes a new stay with the id of an erased reservation, because some PMSs use an id again. The patch
// must have a pmsMeta.updatedAt after the stored one and not before the end of the erased stay, name a booker, and begin (from) at that end
// or later and after the erasure. So erased data is restored neither by a late patch nor by a change of an erased stay that has not begun.
func isNewStay(held Record, p Patch, from time.Time) bool {
	last := *held.ErasedAt
	if held.PMSUpdatedAt != nil {
		last = *held.PMSUpdatedAt
	}
	at, dated := p[PMSUpdatedAt].(time.Time)
	name, _ := p.text(LastName)
	if !dated || db.OrZero(name) == "" || !at.UTC().Truncate(time.Microsecond).After(last) {
		return false
	}
	end := held.end()
	return !end.IsZero() && !at.Before(end) && !from.Before(end) && from.After(*held.ErasedAt)
}

// personal are the fields that an erasure clears.
var personal = []Field{FirstName, LastName, Email, Mobile, CompanionIDs}

// withoutPersonal returns a copy of the patch without the personal data that an erasure clears.
func (p Patch) withoutPersonal() Patch {
	out := make(Patch, len(p))
	for f, v := range p {
		out[f] = v
	}
	for _, f := range personal {
		delete(out, f)
	}
	return out
}

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
