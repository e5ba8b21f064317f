package agent

import (
	"log/slog"
	"sync"
	"time"

	"latchkey.dev/internal/lock/slot"
)

// failureLog tracks a lock's temporary failures in a row. It logs when failures begin, when their kind changes, and when they end, so that
// a lock that is offline for a week does not fill the log.
type failureLog struct {
	mu             sync.Mutex
	result         slot.Result // last temporary failure of an operation on the lock; "" if one has succeeded since
	tries          int         // number of temporary failures in a row; 0 after a success
	since          time.Time   // when the first failure of tries happened; without a meaning if tries is 0
	statusFailures int         // number of status reads that failed in a row
}

// onResult logs the result of an operation on the lock if it is news: a refusal, the first failure, another kind of failure, or the
// first success after failures. It only counts repeats. A refusal is logged each time, and neither counts nor ends the failures.
func (t *failureLog) onResult(log *slog.Logger, op slot.Op, r slot.Result, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	log = log.With("slot", op.Slot, "operation", op.Kind, "generation", op.Generation)
	switch {
	case r == slot.OK && t.tries > 0:
		log.Info("lock operation: succeeds again", "was", t.result, "failed_tries", t.tries, "since", t.since)
		t.result, t.tries = "", 0
	case r == slot.OK:
	case r.Final():
		log.Info("lock operation: refused", "result", r)
	case t.tries == 0:
		log.Info("lock operation: failed; retrying until it succeeds", "result", r)
		t.result, t.tries, t.since = r, 1, now
	case r != t.result:
		log.Info("lock operation: fails with another result", "result", r, "was", t.result, "failed_tries", t.tries, "since", t.since)
		t.result = r
		t.tries++
	default:
		t.tries++
	}
}

// onStatus records whether the lock's status could be read; err is nil if it could. It logs the first failure and the first success after
// failures.
func (t *failureLog) onStatus(log *slog.Logger, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil:
		if t.statusFailures++; t.statusFailures == 1 {
			log.Warn("reading a lock's status failed", "error", err)
		}
	case t.statusFailures > 0:
		log.Info("a lock's status can be read again", "failed_reads", t.statusFailures)
		t.statusFailures = 0
	}
}

// failuresInRow returns how many operations have failed in a row for temporary reasons, and since when; both zero if the last one
// succeeded.
func (t *failureLog) failuresInRow() (tries int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tries == 0 {
		return 0, time.Time{}
	}
	return t.tries, t.since
}
