package slot

import "time"

// rules are the numbers and guards of the machine. Only tests use others than production.
type rules struct {
	preload    time.Duration // how long before its window a credential may sit on a lock that keeps windows
	readEvery  time.Duration // between read-backs of a settled credential; 0 is never
	readRetry  time.Duration // after a failed read-back
	retryFirst time.Duration // after the first transient answer, doubled by each further one
	retrySet   time.Duration // at most, for setting
	retryClear time.Duration // at most, for clearing: revocations are more urgent
	attempts   uint8         // where the count of attempts saturates
	overtake   uint8         // operations that may go before one that is ready

	noFence, noEpoch, noGeneration, noEvidence bool // guards switched off, for mutation tests
}

var production = rules{
	preload:    72 * time.Hour,
	readEvery:  6 * time.Hour,
	readRetry:  time.Minute,
	retryFirst: time.Second,
	retrySet:   5 * time.Minute,
	retryClear: 30 * time.Second,
	attempts:   16,
	overtake:   8,
}

// retry is how long to wait after a transient answer, attempts counted before it.
func (r rules) retry(kind OpKind, attempts uint8) time.Duration {
	most := r.retrySet
	if kind == OpClear {
		most = r.retryClear
	}
	wait := r.retryFirst
	for range attempts {
		if wait *= 2; wait >= most {
			return most
		}
	}
	return min(wait, most)
}
