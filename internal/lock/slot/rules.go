package slot

import "time"

// guard names one check that keeps a property. Production runs all of them; the model checker
// switches each off and has to find the harm (guards_test.go).
type guard uint64

const (
	// Of the server.
	epochCheck            guard = 1 << iota // a report of an older session has no effect
	generationCheck                         // a report of another generation has no effect
	confirmedOnly                           // only evidence from the lock counts
	readBackProof                           // a lock that can be read proves a removal by being read
	changesOnly                             // a repeated report changes nothing
	sameGrantOnly                           // a slot is changed by the grant that holds it
	foreignNotAssigned                      // a slot that holds something foreign is given to nobody
	generationsGrow                         // a slot that was emptied keeps counting its generations
	predecessorsDisclosed                   // a bridge learns what its predecessors may have left
	reportsDisclosed                        // a bridge that lost its memory learns what it told before
	windowsEnd                              // a window that has ended is not called active
	evidencePerWindow                       // what was seen in one window says nothing of the next
	olderUntilProven                        // a former code may open until evidence says that it does not

	// Of the bridge.
	olderIgnored             // an older desired generation has no effect
	answerMatchesOp          // an answer counts for its own operation only
	oneAtATime               // no operation starts while another is in flight
	timeoutFence             // what was not answered may land: wait it out
	restartFence             // what the run before had in the air may land: wait it out
	newLockFence             // what another bridge had in the air may land: wait it out
	restartDoubt             // an operation cut off by a stop leaves its slot in doubt
	opExpires                // an operation that is never answered ends
	timeoutDoubt             // an unanswered write leaves its slot in doubt
	inFlightIsUnmet          // a slot is not as wanted while a write to it is in flight
	readBeforeWrite          // a slot that is not known to hold ours is read before it is written
	ownStoreTrusted          // a bridge that knows a slot needs nobody to tell it what it wrote
	foreignNotWritten        // a slot that holds something foreign is not written
	replaceFlag              // a setting says whether it may replace what is there
	refusalRemovesOlder      // what is refused takes the code before it off
	refusalMatchesGeneration // a refusal counts for the generation that was tried
	removalNeverGivenUp      // a removal is never given up
	readingTrusted           // a reading is believed more than what was thought
	clockMargin              // the clock's error shortens windows on both ends
	noEarlyStep              // no code ahead of time on a lock that would open a step early
	removalsFirst            // removals go before settings
	fairness                 // nobody is overtaken for ever
	wakesByTime              // time alone moves a lock
	changeDoubt              // what somebody changed at a lock that cannot be read is in doubt
	changeInFlightDoubt      // also where that was while a write was in flight
	maskedChangeDoubt        // also at a lock that shows only whether a slot is used
	oneTimeEnds              // a code for one use that was used is wanted no more
)

func (r rules) enforces(g guard) bool { return r.off&g == 0 }

// rules are the numbers and guards of the machine. Only tests use others than production.
type rules struct {
	preload       time.Duration // how long before its window a credential may sit on a lock that keeps windows
	readEvery     time.Duration // between read-backs of a settled credential; 0 is never
	readRetry     time.Duration // after a failed read-back
	retryFirst    time.Duration // after the first transient answer, doubled by each further one
	maxRetrySet   time.Duration // at most, for setting
	maxRetryClear time.Duration // at most, for clearing: revocations are more urgent
	maxAttempts   uint8         // where the count of attempts saturates
	maxOvertaken  uint8         // operations that may go before one that is ready

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

// retry is how long to wait after a transient answer, attempts counted before it.
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
