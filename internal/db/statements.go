package db

import "sync/atomic"

// statementWatcher is called with each statement before it runs; nil except in tests.
var statementWatcher atomic.Pointer[func(query string)]

// WatchStatements calls watch with each statement of the process before it runs, on the goroutine that runs it. It is for
// tests that check statements.
func WatchStatements(watch func(query string)) { statementWatcher.Store(&watch) }

func watchStatement(query string) {
	if watch := statementWatcher.Load(); watch != nil {
		(*watch)(query)
	}
}
