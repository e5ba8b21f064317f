package db

import (
	"context"
	"database/sql"
	"sync/atomic"

	entsql "entgo.io/ent/dialect/sql"
)

// statementWatcher is called with each statement before it runs; nil outside of tests.
var statementWatcher atomic.Pointer[func(query string)]

// WatchStatements calls watch with each statement of the process before it runs, on the goroutine that runs it. It is for
// tests that check statements.
func WatchStatements(watch func(query string)) { statementWatcher.Store(&watch) }

type watchedConn struct{ entsql.ExecQuerier }

func (w watchedConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	watchStatement(query)
	return w.ExecQuerier.ExecContext(ctx, query, args...)
}

func (w watchedConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	watchStatement(query)
	return w.ExecQuerier.QueryContext(ctx, query, args...)
}

func watchStatement(query string) {
	if watch := statementWatcher.Load(); watch != nil {
		(*watch)(query)
	}
}
