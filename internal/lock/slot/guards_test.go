//go:build !race

// These tests compute for a minute under the race detector and start no goroutine that could race: make test runs them without.

package slot

import "testing"

// broke is how the checker finds out that a guard is missing: the property that some world of a
// scenario then breaks. Ignored are properties that are the guard's own wording; what counts is the
// harm.
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
	{name: "generation, on the server", off: generationCheck, scenario: "blind lock, three edits", property: 1, ignore: []int{13}},
	{name: "evidence", off: confirmedOnly, scenario: "blind lock, cut and kill", property: 1},
	{name: "proof by reading", off: readBackProof, scenario: "a lock that says cleared and is not", property: 1},
	{name: "repeated reports", off: changesOnly, scenario: "blind lock, cut and kill", property: 12},
	{name: "owner", off: sameGrantOnly, scenario: "a slot used again", property: 4},
	{name: "foreign slots, on the server", off: foreignNotAssigned, scenario: "somebody else's code", property: 4},
	{name: "counting on", off: generationsGrow, scenario: "a slot used again", property: 9},
	{name: "claims of a bridge before", off: predecessorsDisclosed, scenario: "masked lock, replaced bridge", property: 1},
	{name: "claims of an older copy", off: reportsDisclosed, scenario: "bridge restored from its first image", property: 1},
	{name: "claims of a twin", off: reportsDisclosed, scenario: "two bridges, one identity", property: 1},
	{name: "end of the window, on the server", off: windowsEnd, scenario: "windows kept by the bridge", property: 1},
	{name: "generation, on the bridge", off: olderIgnored, scenario: "answers and wishes come late", property: 1, ignore: []int{9}},
	{name: "whose answer", off: answerMatchesOp, scenario: "answers and wishes come late", property: 1, ignore: []int{5}},
	{name: "one at a time", off: oneAtATime, scenario: "blind lock, cut and kill", property: 1, ignore: []int{5}},
	{name: "fence after silence", off: timeoutFence, scenario: "blind lock, cut and kill", property: 1, ignore: []int{5}},
	{name: "fence after a stop", off: restartFence, scenario: "blind lock, cut and kill", property: 1, ignore: []int{5}},
	{name: "fence of a new bridge", off: newLockFence, scenario: "masked lock, replaced bridge", property: 1, ignore: []int{5}},
	{name: "doubt after a stop", off: restartDoubt, scenario: "blind lock, cut and kill", property: 1},
	{name: "giving up", off: opExpires, scenario: "windows kept by the lock", property: 10},
	{name: "doubt after silence", off: timeoutDoubt, scenario: "blind lock, cut and kill", property: 1},
	{name: "what is in the air", off: inFlightIsUnmet, scenario: "blind lock, three edits", property: 1},
	{name: "reading first", off: readBeforeWrite, scenario: "masked lock, people at it", property: 4},
	{name: "own memory", off: ownStoreTrusted, scenario: "somebody else's code", property: 4},
	{name: "foreign slots, on the bridge", off: foreignNotWritten, scenario: "somebody else's code", property: 4},
	{name: "not replacing", off: replaceFlag, scenario: "somebody else's code on a blind lock", property: 4},
	{name: "refusals end what was before", off: refusalRemovesOlder, scenario: "two slots, refusals", property: 10, ignore: []int{1, 8}},
	{name: "whose refusal", off: refusalMatchesGeneration, scenario: "refusals", property: 1},
	{name: "persistence", off: removalNeverGivenUp, scenario: "refusals", property: 1},
	{name: "seeing", off: readingTrusted, scenario: "readable lock, cut and emptied", property: 1},
	{name: "margin for the clock", off: clockMargin, scenario: "a bridge whose clock is wrong", property: 3},
	{name: "steps of the lock", off: noEarlyStep, scenario: "windows in the lock's steps", property: 3},
	{name: "removals first", off: removalsFirst, scenario: "two slots, refusals", property: 8},
	{name: "fairness", off: fairness, scenario: "two slots, refusals", property: 8},
	{name: "waking", off: wakesByTime, scenario: "windows kept by the bridge", property: 3},
	{name: "what was seen in another window", off: evidencePerWindow, scenario: "windows that follow, the link cut", property: 1},
	{name: "former codes", off: olderUntilProven, scenario: "blind lock, three edits", property: 13},
	{name: "reported changes", off: changeDoubt, scenario: "blind lock that reports what people do at it", property: 1},
	{name: "reported changes during a write", off: changeInFlightDoubt, scenario: "blind lock that reports what people do at it", property: 1},
	{name: "reported changes at a masked lock", off: maskedChangeDoubt, scenario: "masked lock that reports what people do at it", property: 1},
	{name: "once", off: oneTimeEnds, scenario: "codes for one use, the link cut", property: 3},
	{name: "stored before the radio hears", around: storeFirst, scenario: "blind lock, cut and kill", property: 1, ignore: []int{5}},
	{name: "claimed before the bridge hears", around: markFirst, scenario: "masked lock, replaced bridge", property: 1},
	{name: "journaled with what was seen", around: journalFirst, scenario: "changes by hand are entered, kills", property: 10},
	{name: "used, known with the wish", around: usedWithDesired, scenario: "codes for one use, used at another lock", property: 3},
	{name: "used, known before anything starts", around: usedLoaded, scenario: "codes for one use, used at another lock, with kills", property: 3},
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
			t.Errorf("guard %b is in the step functions and nobody shows that it is needed", g)
		}
	}
}
