// Package throttletest counts what a guesser can try under the limits of package throttle.
package throttletest

import (
	"time"

	"latchkey.dev/internal/throttle"
)

// Guesses returns how many attempts of a guesser fail during a time, if each attempt comes as soon as the pauses of all limits are over.
func Guesses(limits []throttle.Limit, during time.Duration) (failed int) {
	start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	counters := make([]throttle.Counter, len(limits))
	for i, l := range limits {
		counters[i].Limit = l
	}
	for now := start; now.Before(start.Add(during)); {
		if wait := throttle.LongestWait(counters, now); wait > 0 {
			now = now.Add(wait)
			continue
		}
		for i := range counters {
			counters[i] = counters[i].WithFailure(now)
		}
		failed++
	}
	return failed
}
