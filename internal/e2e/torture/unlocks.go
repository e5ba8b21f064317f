package torture

import (
	"fmt"
	"slices"
	"time"
)

// unlock is one unlock command of staff and its repeats, which have the same idempotency key.
type unlock struct {
	Lock     string
	Called   time.Time // Called is when the command was first sent
	Repeated time.Time // Repeated is when the command was last sent because the first call got no answer; zero: it was not repeated
	Answered time.Time
	Result   string // Result is opened, refused, expired, unknown, or the reason of an error; empty: no answer
}

// An unlock command must open the lock within unlockDeadline of the call or not at all. clockError bounds the difference between the clocks
// of service and bridge, measured over links that delay messages.
const (
	unlockDeadline = 10 * time.Second
	clockError     = time.Second
)

// neverOpened are the results with which the service promises that a command did not open the lock and never will.
var neverOpened = []string{"bridgeOffline", "bridgeRevoked", "remoteUnlockUnsupported", "expired", "refused"}

// judgeUnlocks compares the openings of one lock with its unlock commands and describes violations. Each opening needs its own command, and
// each command answered "opened" needs its own opening. By the theorem of Mendelsohn and Dulmage, the two matchings can be checked
// separately.
func judgeUnlocks(orders []unlock, openings []time.Time) (broken []string) {
	openings = slices.Clone(openings)
	slices.SortFunc(openings, time.Time.Compare)
	possible := slices.DeleteFunc(slices.Clone(orders), func(o unlock) bool { return slices.Contains(neverOpened, o.Result) })
	extra, _ := matchOpenings(possible, openings)
	for _, at := range extra {
		broken = append(broken, fmt.Sprintf("%s: opened at %s, which no unlock asked for%s", lockName(orders), formatClock(at), describeLastUnlockBefore(orders, at)))
	}
	certain := slices.DeleteFunc(slices.Clone(orders), func(o unlock) bool { return o.Result != "opened" })
	_, missed := matchOpenings(certain, openings)
	for _, o := range missed {
		broken = append(broken, fmt.Sprintf("%s: the unlock of %s was answered \"opened\" at %s, and the door did not open", o.Lock, formatClock(o.Called), formatClock(o.Answered)))
	}
	return broken
}

// matchOpenings assigns each opening, in order of time, to the possible command with the earliest deadline. It returns the openings and
// commands without a match.
func matchOpenings(orders []unlock, openings []time.Time) (extra []time.Time, missed []unlock) {
	missed = slices.SortedStableFunc(slices.Values(orders), func(a, b unlock) int { return a.latestOpening().Compare(b.latestOpening()) })
	for _, at := range openings {
		i := slices.IndexFunc(missed, func(o unlock) bool { return !at.Before(o.Called) && !at.After(o.latestOpening()) })
		if i < 0 {
			extra = append(extra, at)
			continue
		}
		missed = slices.Delete(missed, i, i+1)
	}
	return extra, missed
}

// latestOpening returns the latest time at which the command may open the lock.
func (o unlock) latestOpening() time.Time {
	last := o.Called
	if o.Repeated.After(last) {
		last = o.Repeated
	}
	end := last.Add(unlockDeadline + clockError)
	if o.Result == "opened" && o.Answered.Before(end) {
		return o.Answered
	}
	return end
}

// lockName returns the address of the lock to which the commands were sent, or "a lock" if there is no command.
func lockName(orders []unlock) string {
	if len(orders) == 0 {
		return "a lock"
	}
	return orders[0].Lock
}

// describeLastUnlockBefore describes the last unlock command sent before a time, or returns "" if there was none.
func describeLastUnlockBefore(commands []unlock, at time.Time) string {
	commands = slices.SortedFunc(slices.Values(commands), func(a, b unlock) int { return a.Called.Compare(b.Called) })
	for _, o := range slices.Backward(commands) {
		if !o.Called.After(at) {
			return fmt.Sprintf("; the last before it was asked for %.1f s earlier and answered %q", at.Sub(o.Called).Seconds(), o.Result)
		}
	}
	return ""
}

// formatClock formats the time of day with milliseconds.
func formatClock(t time.Time) string { return t.Format("15:04:05.000") }
