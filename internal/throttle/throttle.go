// Package throttle slows failed attempts down: after some failures, the next attempt waits. A limit only delays attempts and never refuses
// all of them, so that a guesser does not lock another person out. Callers store the counters.
package throttle

import (
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Limit counts the failures in a period, which begins with the first failure. Once there are enough failures for a Pause, the next attempt
// must wait for that pause after the latest failure. Callers derive the ID of a counter from Name, so a new Name forgets its failures.
type Limit struct {
	Name   string
	Period time.Duration
	Pauses []Pause // the shortest first
}

// Pause means that an attempt waits for Wait after the latest failure, if the period has at least Failures failures.
type Pause struct {
	Failures int
	Wait     time.Duration
}

// Within returns a limit without pauses, which only counts: [Limit.After] adds the pauses.
func Within(name string, period time.Duration) Limit { return Limit{Name: name, Period: period} }

// After returns the limit with one more pause. It must have more failures and a longer wait than the pauses before: After does not check
// this.
func (l Limit) After(failures int, wait time.Duration) Limit {
	l.Pauses = append(slices.Clone(l.Pauses), Pause{failures, wait})
	return l
}

// Counter has the number of failures that a limit has counted in its present period, and the times of the first and the latest. ID
// identifies what is counted, and is the key in the database.
type Counter struct {
	Limit
	ID          string
	Began, Last time.Time
	Count       int
}

// pause returns how long the next attempt waits after the latest failure.
func (c Counter) pause() (wait time.Duration) {
	for _, p := range c.Pauses {
		if c.Count >= p.Failures {
			wait = p.Wait
		}
	}
	return wait
}

// Wait returns how long the next attempt waits from now; 0: it does not. A pause ends with the period, and a latest failure in the future,
// because a clock was wrong, does not lengthen it.
func (c Counter) Wait(now time.Time) time.Duration {
	pause := c.pause()
	return max(min(c.Last.Add(pause).Sub(now), c.Began.Add(c.Period).Sub(now), pause), 0)
}

// WithFailure returns the counter after one more failure at now. If the period is over, the failure begins a new one. The caller stores the
// result.
func (c Counter) WithFailure(now time.Time) Counter {
	if c.Count == 0 || !now.Before(c.Began.Add(c.Period)) {
		c.Began, c.Count = now, 0
	}
	c.Last = now
	c.Count++
	return c
}

// StartsWaiting reports whether the latest failure is the first in the period after which an attempt must wait.
func (c Counter) StartsWaiting() bool { return len(c.Pauses) > 0 && c.Count == c.Pauses[0].Failures }

// LongestWait returns the longest wait of the counters; 0: the attempt can run now.
func LongestWait(counters []Counter, now time.Time) (wait time.Duration) {
	for _, c := range counters {
		wait = max(wait, c.Wait(now))
	}
	return wait
}

// IDs returns the ids of counters.
func IDs(counters []Counter) []string {
	ids := make([]string, len(counters))
	for i, c := range counters {
		ids[i] = c.ID
	}
	return ids
}

// Restore sets each of counters, in place, to the stored one with its ID, or to zero if there is none or its period is over. The stored
// counters need no Limit.
func Restore(counters, stored []Counter, now time.Time) {
	byID := make(map[string]Counter, len(stored))
	for _, s := range stored {
		byID[s.ID] = s
	}
	for i, c := range counters {
		s := byID[c.ID]
		if !now.Before(s.Began.Add(c.Period)) {
			s = Counter{}
		}
		counters[i] = Counter{Limit: c.Limit, ID: c.ID, Began: s.Began, Last: s.Last, Count: s.Count}
	}
}

// InOrder returns a copy of counters in the order of their ids. Transactions that store counters in this order lock the rows in the same
// order, and so do not deadlock.
func InOrder(counters []Counter) []Counter {
	return slices.SortedFunc(slices.Values(counters), func(a, b Counter) int { return strings.Compare(a.ID, b.ID) })
}

// siteBits is the length of the IPv6 prefix of a site.
const siteBits = 48

// SiteOf returns the IPv6 network of a site, /48, that a client's network belongs to. A person who rents a server often has a /48, which
// has 65,536 networks of clients. It returns "" for IPv4, where few people have many addresses, for a network larger than a /48, and for a
// text that is no network.
func SiteOf(network string) string {
	p, err := netip.ParsePrefix(network)
	if err != nil || !p.Addr().Is6() || p.Bits() < siteBits {
		return ""
	}
	return netip.PrefixFrom(p.Addr(), siteBits).Masked().String()
}
