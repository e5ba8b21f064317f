//go:build !race

// These tests compute for a minute under the race detector and start no goroutine that could race: make test runs them without.

package slot

import "testing"

// expectedBreak is the property that the model checker must find broken in a scenario while a guard is off. Ignored properties state
// the guard itself: the checker must find the harm that follows.
type expectedBreak struct {
	name     string
	off      guard
	around   loose // switched off instead of a guard of the step functions
	scenario string
	property int
	ignore   []int
}

var needed = []expectedBreak{
	{name: "epoch", off: epochCheck, scenario: "readable lock, cut and emptied", property: 1},
	{name: "generation on the server", off: generationCheck, scenario: "blind lock, three edits", property: 1, ignore: []int{13}},
	{name: "evidence", off: confirmedOnly, scenario: "blind lock, cut and kill", property: 1},
	{name: "proof by reading", off: readBackProof, scenario: "a lock that acknowledges a removal without removing", property: 1},
	{name: "repeated reports", off: changesOnly, scenario: "blind lock, cut and kill", property: 12},
	{name: "owner", off: sameGrantOnly, scenario: "a slot used again", property: 4},
	{name: "foreign slots on the server", off: foreignNotAssigned, scenario: "a foreign code", property: 4},
	{name: "growing generations", off: generationsGrow, scenario: "a slot used again", property: 9},
	{name: "disclosed predecessors", off: predecessorsDisclosed, scenario: "masked lock, replaced bridge", property: 1},
	{name: "disclosed reports of an older copy", off: reportsDisclosed, scenario: "bridge restored from its first image", property: 1},
	{name: "disclosed reports of a twin", off: reportsDisclosed, scenario: "two bridges, one identity", property: 1},
	{name: "end of the window on the server", off: windowsEnd, scenario: "windows kept by the bridge", property: 1},
	{name: "generation on the bridge", off: olderIgnored, scenario: "late answers and desired states", property: 1, ignore: []int{9}},
	{name: "answer of another operation", off: answerMatchesOp, scenario: "late answers and desired states", property: 1, ignore: []int{5}},
	{name: "one operation at a time", off: oneAtATime, scenario: "blind lock, cut and kill", property: 1, ignore: []int{5}},
	{name: "fence after a timeout", off: timeoutFence, scenario: "blind lock, cut and kill", property: 1, ignore: []int{5}},
	{name: "fence after a restart", off: restartFence, scenario: "blind lock, cut and kill", property: 1, ignore: []int{5}},
	{name: "fence of a new bridge", off: newLockFence, scenario: "masked lock, replaced bridge", property: 1, ignore: []int{5}},
	{name: "doubt after a restart", off: restartDoubt, scenario: "blind lock, cut and kill", property: 1},
	{name: "operation timeout", off: opExpires, scenario: "windows kept by the lock", property: 10},
	{name: "doubt after a timeout", off: timeoutDoubt, scenario: "blind lock, cut and kill", property: 1},
	{name: "write in flight", off: inFlightIsUnmet, scenario: "blind lock, three edits", property: 1},
	{name: "read before write", off: readBeforeWrite, scenario: "masked lock, changes by hand", property: 4},
	{name: "trust in the own store", off: ownStoreTrusted, scenario: "a foreign code", property: 4},
	{name: "foreign slots on the bridge", off: foreignNotWritten, scenario: "a foreign code", property: 4},
	{name: "replace flag", off: replaceFlag, scenario: "a foreign code on a blind lock", property: 4},
	{name: "refusal removes the older code", off: refusalRemovesOlder, scenario: "two slots, refusals", property: 10, ignore: []int{1, 8}},
	{name: "refusal of another generation", off: refusalMatchesGeneration, scenario: "refusals", property: 1},
	{name: "removal never given up", off: removalNeverGivenUp, scenario: "refusals", property: 1},
	{name: "trust in readings", off: readingTrusted, scenario: "readable lock, cut and emptied", property: 1},
	{name: "clock margin", off: clockMargin, scenario: "a bridge whose clock is wrong", property: 3},
	{name: "no early step", off: noEarlyStep, scenario: "windows in the lock's steps", property: 3},
	{name: "removals first", off: removalsFirst, scenario: "two slots, refusals", property: 8},
	{name: "fairness", off: fairness, scenario: "two slots, refusals", property: 8},
	{name: "wake-ups by time", off: wakesByTime, scenario: "windows kept by the bridge", property: 3},
	{name: "evidence per window", off: evidencePerWindow, scenario: "windows that follow, the link cut", property: 1},
	{name: "older codes", off: olderUntilProven, scenario: "blind lock, three edits", property: 13},
	{name: "doubt of a later image", off: oldCopyDoubted, scenario: "bridge restored from a later image", property: 1},
	{name: "doubt of a later image at a readable lock", off: oldCopyDoubted, scenario: "bridge of a readable lock restored from a later image", property: 1},
	{name: "forgotten generations", off: forgottenReissued, scenario: "server restored from a backup", property: 10},
	{name: "generations that no restored database issues again", around: drawnByTime, scenario: "server restored from a backup", property: 1},
	{name: "slots that the snapshot does not name", around: unnamedReported, scenario: "server restored from a backup", property: 10},
	{name: "reported changes", off: changeDoubt, scenario: "blind lock that reports changes by hand", property: 1},
	{name: "reported changes during a write", off: changeInFlightDoubt, scenario: "blind lock that reports changes by hand", property: 1},
	{name: "reported changes at a masked lock", off: maskedChangeDoubt, scenario: "masked lock that reports changes by hand", property: 1},
	{name: "one-time code", off: oneTimeEnds, scenario: "one-time codes, the link cut", property: 3},
	{name: "stored before it is sent", around: storeFirst, scenario: "blind lock, cut and kill", property: 1, ignore: []int{5}},
	{name: "marked as sent before it is sent", around: markFirst, scenario: "masked lock, replaced bridge", property: 1},
	{name: "journaled with the reading", around: journalFirst, scenario: "changes by hand are entered, kills", property: 10},
	{name: "use known with the desired state", around: usedWithDesired, scenario: "one-time codes, used at another lock", property: 3},
	{name: "use known before any operation", around: usedLoaded, scenario: "one-time codes, used at another lock, with kills", property: 3},
	{name: "sequence", around: sequenceOnce, scenario: "changes by hand are entered, cuts", property: 12},
}

// A checker that a missing guard does not upset proves nothing (property 13).
func TestEachGuardIsNeeded(t *testing.T) {
	var covered guard
	for _, g := range needed {
		covered |= g.off
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			c := scenarioNamed(g.scenario)
			c.rules.off, c.off, c.ignore = g.off, g.around, g.ignore
			v := c.explore(mostStates)
			if v.broken != g.property {
				t.Fatalf("broken: %d (%v) after %d states, want %d", v.broken, v, v.states, g.property)
			}
			t.Logf("found after %d events and %d states: %v", len(v.trace), v.states, v)
		})
	}
	for g := guard(1); g <= oneTimeEnds; g <<= 1 {
		if covered&g == 0 {
			t.Errorf("guard %b is in the step functions and no scenario shows that it is needed", g)
		}
	}
}
