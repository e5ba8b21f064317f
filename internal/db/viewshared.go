package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"latchkey.dev/ent"
)

// insideShared is the context key that marks the closure of a ViewShared, so that a nested one is refused.
type insideShared struct{}

var errNestedView = errors.New("db: ViewShared called inside ViewShared; pass the *Tx on instead")

// ViewShared runs fn with a [DB.View] whose statements share one connection, which makes each of them cheaper. On SQLite they also see one
// state of the database. On PostgreSQL it is a View, because a transaction would cost two more round trips. The view ends with fn. fn must
// not wait for anything but the database. A nested call returns an error.
func (d *DB) ViewShared(ctx context.Context, fn func(view *Tx) error) (err error) {
	if ctx.Value(insideShared{}) != nil {
		return errNestedView
	}
	ctx = context.WithValue(ctx, insideShared{}, true)
	view := d.View(ctx)
	s, ok := d.engine.(*sqlite)
	if !ok {
		return fn(view)
	}
	c, err := s.shared.Conn(ctx)
	if err != nil {
		return Explain(err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	q := &sharedConn{Conn: c}
	if _, err := c.ExecContext(context.WithoutCancel(ctx), "BEGIN"); err != nil {
		return Explain(err)
	}
	defer q.end()
	view.Client = ent.NewClient(ent.Driver(readDriver{conn(d.Dialect(), q), d.Dialect()}))
	return fn(view)
}

// sharedConn runs the statements of a ViewShared. A statement is refused if its context has ended, but not interrupted: the goroutines
// with which the driver and database/sql watch a context cost as much as a statement.
type sharedConn struct {
	*sql.Conn
	ended bool
}

// QueryContext runs a query, or returns an error if the ViewShared or ctx has ended.
func (c *sharedConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if c.ended {
		return nil, errOver
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.Conn.QueryContext(context.WithoutCancel(ctx), query, args...)
}

// end ends the read transaction. If that fails, it discards the connection, so that no other caller gets an old state of the database.
func (c *sharedConn) end() {
	c.ended = true
	if _, err := c.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		_ = c.Raw(func(any) error { return driver.ErrBadConn })
	}
}
