package agent

import (
	"maps"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

const (
	freeTries       = 4                // failures in a row of one operation that cause no delay
	backoffMin      = time.Minute      // first delay; each further failure doubles it, up to the longest delay
	backoffMaxWrite = 30 * time.Minute // longest delay of a write, short because a guest may be waiting at the door
	backoffMaxRead  = 6 * time.Hour    // longest delay of a read, the interval at which working slots are read too
)

// backoff delays retries for locks that do not answer, to spare their batteries. slot.Step retries soon, which suits a radio that lost a
// message. Without backoff, a lock that never confirms a code would be woken forever. The map counts the failures in a row of each
// operation.
type backoff map[operation]int

// operation identifies the failures that count together: reads, settings or removals of one generation of a slot's code. The failures of
// settings do not count for the removal, so that a code does not stay on the lock longer because its setting was not confirmed.
type operation struct {
	slot       uint32
	generation uint64
	kind       slot.OpKind
}

// recordResult counts failures of op and returns the shortest wait before its retry. It returns 0 for the first freeTries failures: then
// slot.Step chooses the wait. A write fails if its result is NotConfirmed. A read fails with any error except Busy, and counts only if
// installed is true: the slot then holds its code, so the read is a check that can wait. Any other result resets the count of op; a result
// of a setting or a removal resets the counts of both.
func (r backoff) recordResult(op slot.Op, result slot.Result, installed bool) time.Duration {
	k, most := operation{op.Slot, op.Generation, op.Kind}, backoffMaxWrite
	failed := result == slot.NotConfirmed
	if k.kind == slot.OpRead {
		failed, most = installed && result != slot.OK && result != slot.Busy, backoffMaxRead
	}
	if !failed {
		maps.DeleteFunc(r, func(o operation, _ int) bool {
			return o.slot == k.slot && o.generation == k.generation && (o.kind == slot.OpRead) == (k.kind == slot.OpRead)
		})
		return 0
	}
	for other := range r { // failures of an older generation no longer count
		if other.slot == k.slot && other.generation < k.generation {
			delete(r, other)
		}
	}
	r[k]++
	n := r[k] - freeTries
	if n <= 0 {
		return 0
	}
	return clock.Backoff(backoffMin, most, n-1)
}
