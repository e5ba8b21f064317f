package dbtest

import (
	"sync"
	"testing"

	"latchkey.dev/internal/db"
)

// Statements returns the statements that the process runs during f. keep decides about each on the goroutine that runs it; if keep is
// nil, all are returned.
func Statements(t testing.TB, keep func() bool, f func()) []string {
	t.Helper()
	watchScopes()
	var mu sync.Mutex
	var run []string
	db.WatchStatements(func(statement string) {
		checkScope(statement)
		if keep != nil && !keep() {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		run = append(run, statement)
	})
	defer db.WatchStatements(checkScope)
	f()
	mu.Lock()
	defer mu.Unlock()
	return run
}
