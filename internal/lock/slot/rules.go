package slot

import "time"

// guard is one safety rule of the state machine. Production enforces all guards. The model checker switches off one
// guard at a time and must then find a violation (guards_test.go).
type guard uint64

const (
	// Guards of the server.
	epochCheck            guard = 1 << iota // ignore a report of an older session
	generationCheck                         // ignore a report of another generation
	confirmedOnly                           // count only evidence from the lock: its acknowledgement or a reading
	readBackProof                           // at a lock that can be read, accept only a reading as proof of a removal
	changesOnly                             // a repeated report changes nothing
	sameGrantOnly                           // only the grant that has a slot may change the slot
	foreignNotAssigned                      // give no grant a slot with a foreign credential
	generationsGrow                         // a slot that was emptied keeps its generation
	predecessorsDisclosed                   // tell a bridge that an earlier bridge may have left a credential
	reportsDisclosed                        // tell a bridge that lost its store what it reported before
	windowsEnd                              // after its last window a credential does not count as active, at any kind of lock
	evidencePerWindow                       // a report about one window proves nothing about the next window
	olderUntilProven                        // assume that an older credential still opens the door until evidence proves that it does not
	forgottenReissued                       // issue a slot again of which a bridge knows more than the server

	// Guards of the bridge.
	olderIgnored             // ignore a desired state of an older generation
	answerMatchesOp          // apply an answer only to the operation that it belongs to
	oneAtATime               // start no operation while another is in flight
	timeoutFence             // after a timeout wait until the operation can no longer take effect
	restartFence             // after a restart wait until the last operation of the previous run can no longer take effect
	newLockFence             // on a lock that is new to the bridge wait until operations of another bridge can no longer take effect
	restartDoubt             // a slot is uncertain if a stop interrupted an operation on it
	opExpires                // an operation without an answer expires
	timeoutDoubt             // a slot is uncertain after a write without an answer
	inFlightIsUnmet          // a slot does not hold its target while a write to it is in flight
	readBeforeWrite          // read a slot before writing it, unless it may hold a Latchkey credential
	ownStoreTrusted          // a bridge trusts its own record of a slot more than the server's
	oldCopyDoubted           // a bridge does not trust a record that is older than what it reported
	foreignNotWritten        // never write a slot with a foreign credential
	replaceFlag              // a write names explicitly whether it may replace a credential
	refusalRemovesOlder      // remove the older credential if the lock refuses its replacement
	refusalMatchesGeneration // apply a refusal only to its own generation
	removalNeverGivenUp      // retry a removal without end
	readingTrusted           // a reading overrides what the bridge believes
	clockMargin              // shorten windows on both ends by the clock's error
	noEarlyStep              // send no credential ahead of time if the lock's granularity would open the window early
	removalsFirst            // removals go before other writes
	fairness                 // no slot is overtaken without end
	wakesByTime              // wake the bridge when time alone requires an action
	changeDoubt              // a slot is uncertain after a change that was made at the lock itself, if the lock cannot be read
	changeInFlightDoubt      // a slot is uncertain also if a change at the lock happens while a write is in flight
	maskedChangeDoubt        // a slot is uncertain after a change also at a lock that shows only whether a slot is used
	oneTimeEnds              // a one-time code that was used is no longer desired
)

// enforces reports whether a guard, one of the safety rules above, is on. In production all are on.
func (r rules) enforces(g guard) bool { return r.off&g == 0 }

// rules are the settings and guards of the state machine. Only tests change them.
type rules struct {
	preload       time.Duration // preload is how long before its window a credential may be sent to a lock that enforces windows
	readEvery     time.Duration // readEvery is the time between readings of a confirmed credential; 0 means never
	readRetry     time.Duration // readRetry is the wait after a failed reading
	retryFirst    time.Duration // retryFirst is the backoff after the first transient error; each further error doubles the backoff
	maxRetrySet   time.Duration // maxRetrySet is the longest backoff of a set or a read
	maxRetryClear time.Duration // maxRetryClear is the longest backoff of a removal, which is more urgent
	maxAttempts   uint8         // maxAttempts is where the count of attempts saturates
	maxOvertaken  uint8         // maxOvertaken is how many operations may overtake a ready slot

	off guard // off are the disabled guards
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

// retryAfter returns the wait before the next attempt of an operation: retryFirst, doubled for each of attempts, but at most maxRetryClear
// for a removal and maxRetrySet for any other operation. attempts is the number of transient errors in a row before the last one.
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
