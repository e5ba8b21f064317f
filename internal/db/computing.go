package db

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// errComputes is returned by Write in tests if a closure computes for too long.
var errComputes = errors.New("db: a closure of Write computes for too long while all other changes wait")

// computingLimit is the CPU time in nanoseconds that a closure may use between two statements. 0 means no limit.
var computingLimit atomic.Int64

// computingReport is called with each violation of computingLimit. It must be set before the limit.
var computingReport atomic.Pointer[func(error)]

// LimitComputing is for tests. From now on, in the whole process, a Write fails and report is called if its closure uses more CPU time than
// limit between two statements; a limit of 0 ends that. The wait for a processor does not count. Write becomes slower, because it locks
// each closure to an OS thread. Only Linux measures the time.
func LimitComputing(limit time.Duration, report func(error)) {
	computingReport.Store(&report)
	computingLimit.Store(int64(limit))
}

// computing measures the CPU time of a closure of Write between its statements. A nil *computing measures nothing.
type computing struct {
	limit  time.Duration
	since  time.Duration // since is the CPU time of the thread after the last statement
	most   time.Duration // most is the longest computation so far
	before string        // before is the statement after the longest computation; empty for the end of the closure
}

// startComputing starts to measure the closure that the calling goroutine is about to run, and locks the goroutine to its thread. Call stop
// after the closure. The result is nil, which has the same methods, if no limit is set.
func startComputing() *computing {
	limit := time.Duration(computingLimit.Load())
	if limit == 0 {
		return nil
	}
	runtime.LockOSThread()
	return &computing{limit: limit, since: threadTime()}
}

// pause stops the measurement before a statement runs. If the computation that it ends is the longest so far, it notes the statement for
// the report.
func (c *computing) pause(statement string) {
	if c == nil {
		return
	}
	if d := threadTime() - c.since; d > c.most {
		c.most, c.before = d, statement
	}
}

// resume continues the measurement after a statement.
func (c *computing) resume() {
	if c != nil {
		c.since = threadTime()
	}
}

// stop ends the measurement and unlocks the goroutine from its thread. If the closure has computed for longer than the limit, stop calls
// the report function and returns the error.
func (c *computing) stop() error {
	if c == nil {
		return nil
	}
	c.pause("")
	runtime.UnlockOSThread()
	if c.most <= c.limit {
		return nil
	}
	err := fmt.Errorf("%w: %v of CPU time before %q; the limit is %v", errComputes, c.most, c.before, c.limit)
	(*computingReport.Load())(err)
	return err
}
