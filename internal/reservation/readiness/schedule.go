package readiness

import (
	"time"

	"latchkey.dev/internal/reservation"
)

// moments are how long before its beginning every arrival is looked at.
var checkpoints = []time.Duration{reservation.Horizon, 2 * time.Hour, 15 * time.Minute}

const (
	recheckInterval = 15 * time.Minute // an arrival that is ready is looked at as often at least,
	recheckJitter   = 5 * time.Minute  // and by chance up to so much before: those that began together part
	firstRetry      = 10 * time.Second // one that turned bad; then after twice as long each time,
	maxRetry        = time.Minute      // up to this
)

// moment is the last of the moments that has come, in minutes before the beginning; false: none has.
func lastCheckpoint(now, from time.Time) (minutes int, ok bool) {
	for _, m := range checkpoints {
		if from.Sub(now) <= m {
			minutes, ok = int(m/time.Minute), true
		}
	}
	return minutes, ok
}

// watched says whether an arrival is still to be looked at. One that is ready when it begins is not any more; what is bad is
// watched for as long as the guest may come.
func needsChecks(now, from time.Time, w Status) bool {
	left := from.Sub(now)
	return left <= reservation.Horizon && (left > 0 || w != Ready && left > -reservation.Grace)
}

// next is when to look again. before is how long was waited the last time; zero: it has just turned. chance, below sooner, is
// how much less one that is ready has to wait.
func nextCheck(now, from time.Time, w Status, before, chance time.Duration) time.Time {
	wait := recheckInterval - chance
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
