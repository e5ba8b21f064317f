package slot

import "time"

// guard names one rule that keeps a property of the state machine. Production enforces all of them. The model checker switches off each
// one and must then find a violation (guards_test.go).
type guard uint64

const (
	// Rules of the server.
	epochCheck            guard = 1 << iota // a report of an older session has no effect
	generationCheck                         // a report of another generation has no effect
	confirmedOnly                           // only evidence from the lock counts
	readBackProof                           // at a lock that can be read, only a reading proves a removal
	changesOnly                             // a repeated report changes nothing
	sameGrantOnly                           // only the grant that has a slot changes it
	foreignNotAssigned                      // a slot with a foreign credential is given to no grant
	generationsGrow                         // a slot that was emptied keeps its generation
	predecessorsDisclosed                   // a bridge learns that former bridges may have left a credential
	reportsDisclosed                        // a bridge that lost its store learns what it reported before
	windowsEnd                              // a credential whose window has ended does not count as active
	evidencePerWindow                       // a report about one window proves nothing about the next
	olderUntilProven                        // an older credential may open until evidence says that it does not

	// Rules of the bridge.
	olderIgnored             // an older desired generation has no effect
	answerMatchesOp          // an answer counts for its own operation only
	oneAtATime               // no operation starts while another is in flight
	timeoutFence             // an operation without an answer may still take effect: wait
	restartFence             // an operation of the former run may still take effect: wait
	newLockFence             // an operation of another bridge may still take effect: wait
	restartDoubt             // an operation that a stop interrupted leaves its slot uncertain
	opExpires                // an operation without an answer ends
	timeoutDoubt             // a write without an answer leaves its slot uncertain
	inFlightIsUnmet          // a slot does not hold its target while a write to it is in flight
	readBeforeWrite          // a slot that is not known to hold a Latchkey credential is read before it is written
	ownStoreTrusted          // a bridge with a record of a slot trusts the record, not the server
	foreignNotWritten        // a slot with a foreign credential is not written
	replaceFlag              // a write says whether it may replace a credential
	refusalRemovesOlder      // a refused credential removes the older one
	refusalMatchesGeneration // a refusal counts for its own generation only
	removalNeverGivenUp      // a removal is never given up
	readingTrusted           // a reading counts more than what the bridge believes
	clockMargin              // the clock's error shortens windows on both ends
	noEarlyStep              // no credential ahead of time if the lock's granularity would open the window early
	removalsFirst            // removals go before other writes
	fairness                 // no slot is overtaken forever
	wakesByTime              // the bridge acts when time alone requires it
	changeDoubt              // a change at a lock that cannot be read leaves the slot uncertain
	changeInFlightDoubt      // also while a write is in flight
	maskedChangeDoubt        // also at a lock that shows only whether a slot is used
	oneTimeEnds              // a used one-time code is not desired any more
)

// enforces reports whether a guard is on.
func (r rules) enforces(g guard) bool { return r.off&g == 0 }

// rules are the settings and guards of the state machine. Only tests use others than production.
type rules struct {
	preload       time.Duration // how long before its window a credential may be on a lock that keeps windows
	readEvery     time.Duration // between read-backs of a confirmed credential; 0: never
	readRetry     time.Duration // after a failed read-back
	retryFirst    time.Duration // after the first transient answer, doubled by each further one
	maxRetrySet   time.Duration // longest backoff of a write
	maxRetryClear time.Duration // longest backoff of a removal, which is more urgent
	maxAttempts   uint8         // where the count of attempts saturates
	maxOvertaken  uint8         // how many operations may start while a slot is ready

	off guard // guards switched off
}

var production = rules{
	preload:       72 * time.Hour,
	readEvery:     6 * time.Hour,
	readRetry:     time.Minute,
	retryFirst:    time.Second,
	maxRetrySet:   5 * time.Minute,
	maxRetryClear: 30 * time.Second,
	maxAttempts:   16,
	maxOvertaken:  8,
}

// retryAfter returns the backoff after a transient answer that follows a number of others.
func (r rules) retryAfter(kind OpKind, attempts uint8) time.Duration {
	most := r.maxRetrySet
	if kind == OpClear {
		most = r.maxRetryClear
	}
	wait := r.retryFirst
	for range attempts {
		if wait *= 2; wait >= most {
			return most
		}
	}
	return min(wait, most)
}
