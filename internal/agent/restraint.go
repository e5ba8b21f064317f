package agent

import (
	"time"

	"latchkey.dev/internal/lock/slot"
)

const (
	silences     = 4 // in a row, until a lock is asked less and less often
	firstPause   = time.Minute
	longestWrite = 30 * time.Minute // somebody may stand before the door
	longestRead  = 6 * time.Hour    // as often as a slot that answers is read
)

// restraint spares the batteries of locks that do not answer. The step function tries again soon,
// which is right for a radio that lost something; a lock that never tells of a code, or never shows
// one, would be woken for ever.
type restraint map[silent]int

type silent struct {
	slot       uint32
	generation uint64
	reading    bool
}

// after is how long to wait at least after an answer before the like of it is tried again. Settled
// says that the slot holds a code of ours: reading it is for good measure.
func (r restraint) after(op slot.Op, result slot.Result, settled bool) time.Duration {
	k, longest := silent{op.Slot, op.Generation, op.Kind == slot.OpRead}, longestWrite
	mute := result == slot.NotConfirmed
	if k.reading {
		mute, longest = settled && result != slot.OK && result != slot.Busy, longestRead
	}
	if !mute {
		delete(r, k)
		return 0
	}
	for other := range r { // an older generation's silence is of no use any more
		if other.slot == k.slot && other.generation < k.generation {
			delete(r, other)
		}
	}
	r[k]++
	n := r[k] - silences
	if n <= 0 {
		return 0
	}
	wait := firstPause
	for range n - 1 {
		if wait *= 2; wait >= longest {
			return longest
		}
	}
	return wait
}
