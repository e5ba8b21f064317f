package slot

import "time"

// guard names one check that keeps a property. Production runs all of them; the model checker
// switches each off and has to find the harm (guards_test.go).
type guard uint64

const (
	// Of the server.
	epochCheck     guard = 1 << iota // a report of an older session has no effect
	generationOnly                   // a report of another generation has no effect
	settledOnly                      // only evidence from the lock counts
	readBackProof                    // a lock that can be read proves a removal by being read
	newsOnly                         // a repeated report changes nothing
	ownGrantOnly                     // a slot is changed by the grant that holds it
	foreignKept                      // a slot that holds something foreign is given to nobody
	growing                          // a slot that was emptied keeps counting its generations
	claims                           // a bridge learns what its predecessors may have left
	copies                           // a bridge that lost its memory learns what it told before
	endedWindow                      // a window that has ended is not called active
	ownWindow                        // what was seen in one window says nothing of the next
	formerKept                       // a former code may open until evidence says that it does not

	// Of the bridge.
	olderIgnored    // an older desired generation has no effect
	answerOfOp      // an answer counts for its own operation only
	oneAtATime      // no operation starts while another is in flight
	answerFence     // what was not answered may land: wait it out
	bootFence       // what the run before had in the air may land: wait it out
	newLockFence    // what another bridge had in the air may land: wait it out
	bootDoubt       // an operation cut off by a stop leaves its slot in doubt
	giveUp          // an operation that is never answered ends
	doubt           // an unanswered write leaves its slot in doubt
	inTheAir        // a slot is not as wanted while a write to it is in flight
	readFirst       // a slot that is not known to hold ours is read before it is written
	ownMemory       // a bridge that knows a slot needs nobody to tell it what it wrote
	foreignSpared   // a slot that holds something foreign is not written
	notReplacing    // a setting says whether it may replace what is there
	refusalEnds     // what is refused takes the code before it off
	ownRefusal      // a refusal counts for the generation that was tried
	persistence     // a removal is never given up
	seeing          // a reading is believed more than what was thought
	clockMargin     // the clock's error shortens windows on both ends
	lockSteps       // no code ahead of time on a lock that would open a step early
	revokeFirst     // removals go before settings
	fairness        // nobody is overtaken for ever
	waking          // time alone moves a lock
	alteredDoubt    // what somebody changed at a lock that cannot be read is in doubt
	alteredInFlight // also where that was while a write was in flight
	alteredMasked   // also at a lock that shows only whether a slot is used
	onceOnly        // a code for one use that was used is wanted no more
)

func (r rules) keeps(g guard) bool { return r.off&g == 0 }

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

	off guard // guards switched off
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
