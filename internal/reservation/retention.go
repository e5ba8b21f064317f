package reservation

import "time"

// Block is the reason why a stay whose retention period is over is not removed yet.
type Block string

// The reasons, the most important first.
const (
	BlockedByAccess   Block = "accessOpen"    // its access has not ended
	BlockedByLock     Block = "codeOnLock"    // a lock may still hold its code
	BlockedBySmartKey Block = "smartKeyInUse" // the status list still needs the number of a token
	BlockedByEvents   Block = "recentEvents"  // something happened to it a short time ago, and subscribers may not know yet
)

const (
	// recentEvents is how long an event of a stay must be delivered before the stay may be removed.
	recentEvents = 7 * 24 * time.Hour
	// blockNotice is how long after its retention period a stay is blocked before staff are notified.
	blockNotice = 7 * 24 * time.Hour
	// TombstoneRetention is how long a tombstone is kept. It is longer than any PMS is known to repeat old changes. After that, only the
	// end of a stay shows that a change is late. The hash is still a trace of a guest, so it is not kept forever.
	TombstoneRetention = 3 * 365 * 24 * time.Hour
)

// remains is what a stay whose retention period is over still has.
type remains struct {
	openAccess, codeOnLock, smartKey, recentEvent bool
}

// blockedBy returns why the stay cannot be removed yet, or "".
func (r remains) blockedBy() Block {
	switch {
	case r.openAccess:
		return BlockedByAccess
	case r.codeOnLock:
		return BlockedByLock
	case r.smartKey:
		return BlockedBySmartKey
	case r.recentEvent:
		return BlockedByEvents
	}
	return ""
}

// retentionOver reports whether the retention period of a stay with this end is over. Without a period, stays are kept.
func retentionOver(end, now time.Time, keep time.Duration) bool {
	return keep > 0 && !end.IsZero() && !end.After(now.Add(-keep))
}

// isLate reports whether a patch without a stored reservation is about a stay that was removed, or would be removed at once. end is the
// end of the stay that the patch describes, or zero. removed is the last pmsMeta.updatedAt of the removed stay with this id, or nil. A
// newer patch that describes a stay within the retention period is a new reservation: some PMSs use an id again.
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

// end is the end of a stay, or zero if it is missing or not after the beginning.
func (r Record) end() time.Time {
	if !r.From.Before(r.To) {
		return time.Time{}
	}
	return r.To
}

// personal are the fields that an erasure clears. Later patches do not restore them.
var personal = []Field{FirstName, LastName, Email, Mobile, CompanionIDs}

// withoutPersonal returns a patch without its personal fields.
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
