package watch

import (
	"time"

	"latchkey.dev/internal/fault"
)

const (
	// maxOfCaller bounds the open streams of one person, token or guest of the same thing, and maxOfAll those of all its callers, both in
	// this process.
	maxOfCaller = 20
	maxOfAll    = 200
)

// Quota counts the open streams of one thing, such as a property, by caller. The zero Quota counts none. Its user guards it by a mutex.
type Quota struct {
	all     int
	callers map[string]int
}

// Take counts a stream of a caller. It returns a fault, and counts nothing, if the caller has 20 already (maxOfCaller), or all callers have
// 200 (maxOfAll). The user calls Give when the stream ends.
func (q *Quota) Take(caller string) error {
	if q.callers[caller] >= maxOfCaller || q.all >= maxOfAll {
		return fault.New(fault.Exhausted, fault.RateLimited, "too many streams are open: at most %d for each caller, and %d for a property", maxOfCaller, maxOfAll).
			Put("quota", "streams").Retry(10 * time.Second)
	}
	if q.callers == nil {
		q.callers = map[string]int{}
	}
	q.all++
	q.callers[caller]++
	return nil
}

// Give ends the count of a stream that Take counted.
func (q *Quota) Give(caller string) {
	q.all--
	if q.callers[caller]--; q.callers[caller] == 0 {
		delete(q.callers, caller)
	}
}
