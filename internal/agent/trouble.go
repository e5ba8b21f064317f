package agent

import (
	"log/slog"
	"sync"
	"time"

	"latchkey.dev/internal/lock/slot"
)

// trouble is a lock that does not do what it is asked for reasons that may pass: how it answers, how often in a row, and
// since when. It is logged when it begins, when the lock begins to answer otherwise, and when it is over; a lock that is
// out of reach for a week fills no disk.
type trouble struct {
	mu     sync.Mutex
	result slot.Result // "" when the last operation succeeded
	tries  int
	since  time.Time
	blind  int // times in a row that its status was not known
}

// heard takes the answer to an operation in.
func (t *trouble) heard(log *slog.Logger, op slot.Op, r slot.Result, now time.Time) {
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
		log.Info("lock operation: failed; tried again until it succeeds", "result", r)
		t.result, t.tries, t.since = r, 1, now
	case r != t.result:
		log.Info("lock operation: fails otherwise", "result", r, "was", t.result, "failed_tries", t.tries, "since", t.since)
		t.result = r
		t.tries++
	default:
		t.tries++
	}
}

// looked takes in whether a lock's status is known.
func (t *trouble) looked(log *slog.Logger, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil:
		if t.blind++; t.blind == 1 {
			log.Warn("a lock's status is not known", "error", err)
		}
	case t.blind > 0:
		log.Info("a lock's status is known again", "looked_in_vain", t.blind)
		t.blind = 0
	}
}

// failing is how many operations failed in a row, and since when.
func (t *trouble) failing() (tries int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tries == 0 {
		return 0, time.Time{}
	}
	return t.tries, t.since
}
