package dbtest

import (
	"sync"
	"testing"
	"time"

	"latchkey.dev/internal/db"
)

// MaxComputing is the CPU time that a closure of db.Write may use between two statements in a test.
const MaxComputing = raceSlowdown * 200 * time.Millisecond

var computingErrors struct {
	sync.Mutex
	errs []error
}

var limitComputing = sync.OnceFunc(func() {
	db.LimitComputing(MaxComputing, func(err error) {
		computingErrors.Lock()
		defer computingErrors.Unlock()
		computingErrors.errs = append(computingErrors.errs, err)
	})
})

// failOnComputing makes a test fail if a closure of Write computes for too long, even if the test ignores the error of Write. It does not
// affect benchmarks.
func failOnComputing(t testing.TB) {
	if _, isTest := t.(*testing.T); !isTest {
		return
	}
	limitComputing()
	t.Cleanup(func() {
		for _, err := range TakeComputingErrors() {
			t.Error(err)
		}
	})
}

// TakeComputingErrors returns and clears the reports about closures that computed for too long.
func TakeComputingErrors() []error {
	computingErrors.Lock()
	defer computingErrors.Unlock()
	errs := computingErrors.errs
	computingErrors.errs = nil
	return errs
}
