package dbtest

import (
	"sync"
	"testing"
	"time"

	"latchkey.dev/internal/db"
)

// Computing is the CPU time that a closure of Write may use between two statements in a test. The closures of this product
// use less than a tenth of it.
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

// failOnComputing makes a test fail during which a closure of Write computes for too long, also where nobody looks at
// Write's error. Benchmarks are left as they are.
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

// TakeLate returns the closures that computed for too long since it was called last.
func TakeLate() []error {
	late.Lock()
	defer late.Unlock()
	errs := late.errs
	late.errs = nil
	return errs
}
