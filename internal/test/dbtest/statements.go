package dbtest

import (
	"sync"
	"testing"

	"latchkey.dev/internal/db"
)

// Statements returns the statements that the process runs during f and for which keep returns true; nil keeps all. keep runs on the
// goroutine of the statement.
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
