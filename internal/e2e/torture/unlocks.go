package torture

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// unlock is one order of staff to open a door from afar, under one idempotency key however often it was sent.
type unlock struct {
	Lock     string
	Called   time.Time // when it was first sent
	Repeated time.Time // when it was last sent, if the first got no answer
	Answered time.Time
	Result   string // opened, refused, expired, unknown, or the reason of an error; empty: no answer
}

// An unlock opens within unlockDeadline of the call or not at all. What the clocks of service and bridge may differ by on one
// machine, with links that delay, is clockError.
const (
	unlockDeadline = 10 * time.Second
	clockError     = time.Second
)

// neverSent are the answers that promise that nothing was sent and nothing will be.
var neverSent = []string{"bridgeOffline", "bridgeRevoked", "remoteUnlockUnsupported", "expired", "refused"}

// judgeUnlocks matches the openings of one lock one to one with the orders, and says what is left over.
func judgeUnlocks(orders []unlock, openings []time.Time) (broken []string) {
	orders, openings = slices.Clone(orders), slices.Clone(openings)
	slices.SortFunc(orders, func(a, b unlock) int { return a.Called.Compare(b.Called) })
	slices.SortFunc(openings, time.Time.Compare)
	taken := make([]bool, len(orders))
	// An order that was answered "opened" before claims its opening first: it has the shortest time for it.
	byEnd := make([]int, len(orders))
	for i := range byEnd {
		byEnd[i] = i
	}
	slices.SortStableFunc(byEnd, func(a, b int) int { return cmp.Compare(orders[a].end().UnixNano(), orders[b].end().UnixNano()) })
	for _, at := range openings {
		i := slices.IndexFunc(byEnd, func(i int) bool {
			return !taken[i] && orders[i].mayOpen() && !at.Before(orders[i].Called) && !at.After(orders[i].end())
		})
		if i < 0 {
			broken = append(broken, fmt.Sprintf("%s: opened at %s, which no unlock asked for%s", lockOf(orders), stamp(at), late(orders, at)))
			continue
		}
		taken[byEnd[i]] = true
	}
	for i, o := range orders {
		if o.Result == "opened" && !taken[i] {
			broken = append(broken, fmt.Sprintf("%s: the unlock of %s was answered \"opened\" at %s, and the door did not open", o.Lock, stamp(o.Called), stamp(o.Answered)))
		}
	}
	return broken
}

// end is when the order may open at the latest.
func (o unlock) end() time.Time {
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

func (o unlock) mayOpen() bool { return !slices.Contains(neverSent, o.Result) }

func lockOf(orders []unlock) string {
	if len(orders) == 0 {
		return "a lock"
	}
	return orders[0].Lock
}

// late names the last order before an opening that has none.
func late(orders []unlock, at time.Time) string {
	for _, o := range slices.Backward(orders) {
		if !o.Called.After(at) {
			return fmt.Sprintf("; the last before it was asked for %.1f s earlier and answered %q", at.Sub(o.Called).Seconds(), o.Result)
		}
	}
	return ""
}

func stamp(t time.Time) string { return t.Format("15:04:05.000") }
