//go:build !race

// These tests compute for a minute under the race detector and start no goroutine that could race: make test runs them without.

package slot

import (
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	blindLock  = Capabilities{PINMin: 1, PINMax: 8, Slots: 2, Readable: ReadableNone, Schedule: ScheduleNone, OpLifetime: unit}
	clearLock  = Capabilities{PINMin: 1, PINMax: 8, Slots: 2, Readable: ReadableClear, Schedule: ScheduleNone, ReadBack: true, OpLifetime: unit}
	maskedLock = Capabilities{PINMin: 1, PINMax: 8, Slots: 2, Readable: ReadableMasked, Schedule: ScheduleNone, ReadBack: true, OpLifetime: unit}
	windowLock = Capabilities{PINMin: 1, PINMax: 8, Slots: 2, Readable: ReadableNone, Schedule: ScheduleWindow, OpLifetime: unit}
	stepLock   = Capabilities{PINMin: 1, PINMax: 8, Slots: 2, Readable: ReadableNone, Schedule: ScheduleWindow, Granularity: 2 * unit, OpLifetime: unit}
)

// mostStates is more than any scenario has. Make a scenario smaller that grows beyond it.
const mostStates = 300_000

func scenarios() []scenario {
	all := []scenario{
		{name: "blind lock, three edits", slots: 1, caps: blindLock, pins: true, most: budget{edits: 3}},
		{name: "blind lock, cut and kill", slots: 1, caps: blindLock, sweep: true, most: budget{edits: 2, cuts: 1, kills: 1}},
		{name: "late answers and desired states", slots: 1, caps: blindLock, delayed: true, pins: true, most: budget{edits: 2, cuts: 1}},
		{name: "readable lock, cut and emptied", slots: 1, caps: clearLock, hands: "e", most: budget{edits: 1, cuts: 1, touches: 1}},
		{name: "readable lock, people at it", slots: 1, caps: clearLock, hands: "epr", tells: true, most: budget{edits: 2, touches: 1}},
		{name: "masked lock, changes by hand", slots: 1, caps: maskedLock, hands: "p", most: budget{edits: 3, touches: 1}},
		{name: "blind lock that reports changes by hand", slots: 1, caps: blindLock, hands: "ep", reports: true, tells: true, direct: true, pins: true, most: budget{edits: 2, touches: 1}},
		{name: "blind lock that reports changes by hand, with kills", slots: 1, caps: blindLock, hands: "ep", reports: true, direct: true, most: budget{edits: 1, touches: 2, kills: 1, cuts: 1}},
		{name: "masked lock that reports changes by hand", slots: 1, caps: maskedLock, hands: "p", reports: true, tells: true, direct: true, most: budget{edits: 2, touches: 1}},
		{name: "masked lock, replaced bridge", slots: 1, caps: maskedLock, most: budget{edits: 2, kills: 1, swaps: 1}},
		{name: "bridge restored from its first image", slots: 1, caps: blindLock, most: budget{edits: 2, kills: 1, restores: 1}},
		{name: "bridge restored from a later image", slots: 1, caps: blindLock, grants: "ab", direct: true, most: budget{edits: 4, kills: 1, images: 1}},
		{name: "bridge of a readable lock restored from a later image", slots: 1, caps: maskedLock, grants: "ab", direct: true, most: budget{edits: 4, kills: 1, images: 1}},
		{name: "server restored from a backup", slots: 1, caps: blindLock, pins: true, most: budget{edits: 2, rollbacks: 1}},
		{name: "server with a readable lock restored from a backup", slots: 1, caps: maskedLock, grants: "ab", direct: true, most: budget{edits: 3, rollbacks: 1}},
		{name: "server restored from a backup, kills", slots: 1, caps: blindLock, grants: "ab", direct: true, most: budget{edits: 3, rollbacks: 1, kills: 1}},
		{name: "two bridges, one identity", slots: 1, caps: blindLock, most: budget{edits: 2, twins: 1}},
		{name: "two bridges taking turns", slots: 1, caps: blindLock, held: 1, most: budget{edits: 1, twins: 3}},
		{name: "refusals", slots: 1, caps: clearLock, lossy: true, most: budget{edits: 2}},
		{name: "a lock that acknowledges a removal without removing", slots: 1, caps: clearLock, most: budget{edits: 2, lies: 1, kills: 1}},
		{name: "a foreign code", slots: 1, caps: maskedLock, foreign: true, tells: true, grants: "ab", most: budget{edits: 3, kills: 1}},
		{name: "a foreign code on a blind lock", slots: 1, caps: blindLock, foreign: true, tells: true, most: budget{edits: 2, cuts: 1}},
		{name: "a slot used again", slots: 1, caps: blindLock, grants: "ab", most: budget{edits: 3}},
		{name: "windows kept by the bridge", slots: 1, caps: blindLock, windows: 1, most: budget{edits: 2, kills: 1}},
		{name: "windows kept by the lock", slots: 1, caps: windowLock, windows: 1, most: budget{edits: 2}},
		{name: "windows in the lock's steps", slots: 1, caps: stepLock, windows: 2, most: budget{edits: 1, kills: 1}},
		{name: "a bridge whose clock is wrong", slots: 1, caps: blindLock, windows: 4, margin: 1, most: budget{edits: 1, kills: 1}},
		{name: "windows that follow, kept by the bridge", slots: 1, caps: blindLock, windows: 1, weekly: 1, direct: true, most: budget{edits: 2}},
		{name: "windows that follow, the link cut", slots: 1, caps: blindLock, windows: 1, weekly: 1, most: budget{edits: 1, cuts: 1}},
		{name: "windows that follow, with kills", slots: 1, caps: blindLock, windows: 1, weekly: 2, direct: true, most: budget{edits: 1, kills: 1}},
		{name: "windows that follow, kept by the lock", slots: 1, caps: windowLock, windows: 1, weekly: 1, most: budget{edits: 1, cuts: 1}},
		{name: "windows that follow, by a wrong clock", slots: 1, caps: blindLock, windows: 4, weekly: 1, margin: 1, most: budget{edits: 1}},
		{name: "one-time codes, the link cut", slots: 1, caps: blindLock, once: true, most: budget{edits: 2, cuts: 1}},
		{name: "one-time codes, with kills", slots: 1, caps: clearLock, once: true, direct: true, grants: "ab", most: budget{edits: 2, kills: 1}},
		{name: "one-time codes, used at another lock", slots: 1, caps: blindLock, once: true, beside: true, most: budget{edits: 2, cuts: 1}},
		{name: "one-time codes, used at another lock, with kills", slots: 1, caps: blindLock, once: true, beside: true, direct: true, windows: 1, most: budget{edits: 2, kills: 1}},
		{name: "two slots", slots: 2, caps: blindLock, most: budget{edits: 2, kills: 1}},
		{name: "refusals, with kills", slots: 1, caps: blindLock, lossy: true, most: budget{edits: 1, kills: 1}},
		{name: "two slots, refusals", slots: 2, caps: blindLock, held: 1, lossy: true, direct: true, most: budget{edits: 3}},
		{name: "two slots after an outage", slots: 2, caps: blindLock, held: 2, outage: true, most: budget{edits: 2, cuts: 1}},
		{name: "changes by hand are entered, kills", slots: 1, caps: clearLock, held: 1, hands: "e", audit: true, most: budget{kills: 1, touches: 1}},
		{name: "changes by hand are entered, cuts", slots: 1, caps: clearLock, held: 1, hands: "e", audit: true, most: budget{cuts: 1, touches: 1}},
	}
	for i := range all {
		all[i].rules = modelRules()
	}
	return all
}

func (v verdict) String() string {
	if v.broken == 0 {
		return "every property holds"
	}
	name := "the checker"
	if v.broken > 0 {
		name = properties[v.broken-1].name
	}
	return name + ": " + v.how + "\n  " + strings.Join(v.trace, "\n  ")
}

func TestEveryReachableStateIsSafeAndLive(t *testing.T) {
	for _, c := range scenarios() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			v := c.explore(mostStates)
			t.Logf("%d states in %v", v.states, time.Since(began).Round(time.Millisecond))
			if v.broken != 0 {
				t.Errorf("property %d after %d states and %d events: %v", v.broken, v.states, len(v.trace), v)
			}
		})
	}
}

func scenarioNamed(name string) scenario {
	all := scenarios()
	return all[slices.IndexFunc(all, func(c scenario) bool { return c.name == name })]
}
