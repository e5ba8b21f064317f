package readiness

import (
	"time"

	"latchkey.dev/internal/reservation"
)

// checkpoints are how long before its start every arrival is checked.
var checkpoints = []time.Duration{reservation.Horizon, 2 * time.Hour, 15 * time.Minute}

const (
	recheckInterval = 15 * time.Minute // longest wait between checks of a ready arrival
	recheckJitter   = 5 * time.Minute  // recheckInterval is shortened by up to this random time, which spreads the checks of arrivals that start together
	firstRetry      = 10 * time.Second // wait before the first recheck of an arrival that is not ready; it doubles each time, up to maxRetry
	maxRetry        = time.Minute      // longest wait between rechecks of an arrival that is not ready
)

// lastCheckpoint returns the last checkpoint that has passed, in minutes before the start, or false if none has. After the start it is
// still the last one before it.
func lastCheckpoint(now, from time.Time) (minutes int, ok bool) {
	for _, m := range checkpoints {
		if from.Sub(now) <= m {
			minutes, ok = int(m/time.Minute), true
		}
	}
	return minutes, ok
}

// needsChecks reports whether an arrival is checked at this time: from Horizon before the start until Grace after it. A lock can fail
// before a late guest arrives, so checks do not end with the start.
func needsChecks(now, from time.Time) bool {
	left := from.Sub(now)
	return left <= reservation.Horizon && left > -reservation.Grace
}

// nextCheck returns the time of the next check of an arrival that starts at from, which is never later than the next checkpoint or, before
// it, the start. A ready arrival waits for recheckInterval less jitter, which is at most recheckJitter. Any other waits for twice before,
// within firstRetry and maxRetry. before is the last wait, or zero if the status has just changed.
func nextCheck(now, from time.Time, w Status, before, jitter time.Duration) time.Time {
	wait := recheckInterval - jitter
	if w != Ready {
		wait = min(max(2*before, firstRetry), maxRetry)
	}
	at := now.Add(wait)
	for _, m := range append(checkpoints, 0) {
		if due := from.Add(-m); due.After(now) && due.Before(at) {
			at = due
		}
	}
	return at
}
