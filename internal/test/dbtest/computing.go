package dbtest

import (
	"sync"
	"testing"
	"time"

	"latchkey.dev/internal/db"
)

// Computing is the CPU time that a closure of Write may use between two statements in a test. The product's closures use less
// than a tenth of it.
const Computing = slower * 200 * time.Millisecond

var late struct {
	sync.Mutex
	errs []error
}

var limitComputing = sync.OnceFunc(func() {
	db.LimitComputing(Computing, func(err error) {
		late.Lock()
		defer late.Unlock()
		late.errs = append(late.errs, err)
	})
})

// failOnComputing fails a test during which a closure of Write computes for too long, also where the test ignores the error
// of Write. It does not affect benchmarks.
func failOnComputing(t testing.TB) {
	if _, isTest := t.(*testing.T); !isTest {
		return
	}
	limitComputing()
	t.Cleanup(func() {
		for _, err := range TakeLate() {
			t.Error(err)
		}
	})
}

// TakeLate returns and clears the reports about closures that computed for too long.
func TakeLate() []error {
	late.Lock()
	defer late.Unlock()
	errs := late.errs
	late.errs = nil
	return errs
}
