package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
)

// Tx is a running transaction of [DB.Write], or a read-only [DB.View]. The queries of a transaction fail after its closure has returned.
type Tx struct {
	*ent.Client
	ctx     context.Context
	sql     *sql.Tx
	now     time.Time
	notices []notice
	conn    txConn
	changes *changes // changes counts changed rows for Cached; nil on PostgreSQL and for reads
	// unwatched means that ReadOne does not watch the context during its query: in a View on SQLite, where that costs as much as the query.
	unwatched bool
	follows   bool // follows means that now comes from a clock that follows the database's clock; DatabaseNow then asks the database
}

// insideChange is the context key that marks the closure of a Write, so that a nested Write is refused.
type insideChange struct{}

// options are the client options that all transactions share.
var options = ent.NewClient()

// newTx returns a Tx for the transaction tx, whose time is now. Its statements run on q: tx itself, or on SQLite the connection of tx.
// changes is the cache of the writer's connection for Cached; nil on PostgreSQL.
func newTx(ctx context.Context, dialect string, tx *sql.Tx, q entsql.ExecQuerier, now time.Time, changes *changes) *Tx {
	ctx = context.WithValue(ctx, insideChange{}, true)
	t := &Tx{ctx: ctx, sql: tx, now: now.UTC().Truncate(time.Microsecond), changes: changes}
	t.conn = txConn{ExecQuerier: q, change: ctx, changes: changes}
	if changes != nil {
		t.conn.sqlite = context.WithoutCancel(ctx)
	}
	t.Client = options.WithDriver(txDriver{conn(dialect, &t.conn), dialect})
	return t
}

// Context returns the context for the queries of this transaction: the caller's values with the deadline of Write, without the caller's
// cancellation. For a View it is the caller's context.
func (t *Tx) Context() context.Context { return t.ctx }

// SQL returns the underlying transaction, for inserts into the job queue, and counts as a change. It is nil in a View. Never commit it or
// roll it back.
func (t *Tx) SQL() *sql.Tx {
	t.conn.wrote.Store(true)
	return t.sql
}

// Now returns the time of the transaction in UTC with microseconds. It does not change during the transaction.
func (t *Tx) Now() time.Time { return t.now }

// Err returns an error if the transaction has ended, if the database has rolled it back, or if it must be retried because of a conflict
// with another transaction. It is nil for a View.
func (t *Tx) Err() error { return t.conn.usable() }

// Savepoint runs f in a savepoint and returns its error: if f fails, its changes and notifications are undone and the rest of the
// transaction remains. After a conflict with another transaction, all of it is retried. Call it only inside Write. f must not call
// Savepoint: nothing checks that.
func (t *Tx) Savepoint(f func() error) (err error) {
	if err := t.Err(); err != nil {
		return err
	}
	if _, err := t.sql.ExecContext(t.ctx, "SAVEPOINT part"); err != nil {
		return fmt.Errorf("begin a savepoint: %w", err)
	}
	before, marked := len(t.notices), len(t.conn.marks)
	if err := f(); err != nil {
		t.notices, t.conn.marks = t.notices[:before], t.conn.marks[:marked]
		t.changes.invalidate()
		ctx := context.WithoutCancel(t.ctx)
		if _, undo := t.sql.ExecContext(ctx, "ROLLBACK TO part"); undo != nil {
			return errors.Join(err, fmt.Errorf("roll back to a savepoint: %w", undo))
		}
		if _, undo := t.sql.ExecContext(ctx, "RELEASE part"); undo != nil {
			return errors.Join(err, fmt.Errorf("roll back to a savepoint: %w", undo))
		}
		t.conn.failed.Store(false)
		return err
	}
	if _, err := t.sql.ExecContext(t.ctx, "RELEASE part"); err != nil {
		return fmt.Errorf("release a savepoint: %w", err)
	}
	return nil
}

// wrote reports whether a statement may have changed rows, or whether the database has rolled the transaction back.
func (t *Tx) wrote() bool { return t.conn.wrote.Load() || t.changes.rolledBack() }

// run calls fn once, and leaves the commit or rollback to its caller. Afterwards the transaction refuses statements, also after a panic. If
// the database has rolled the transaction back, or it must be retried, run returns an error even if fn returned nil.
func (t *Tx) run(fn func(*Tx) error) error {
	defer t.conn.ended.Store(true)
	t.conn.computing = startComputing()
	var late error
	err := func() error {
		defer func() { late = t.conn.computing.stop() }()
		return fn(t)
	}()
	if err == nil {
		err = late
	}
	switch {
	case err != nil:
	case t.changes.rolledBack():
		err = errLost
	case t.conn.retry.Load():
		err = errConflict
	}
	return err
}

var (
	errOver     = errors.New("db: query on a transaction after its closure returned")
	errLost     = errors.New("db: the transaction was rolled back by the database")
	errConflict = errors.New("db: the change conflicts with another one and must run again")
)

// txConn runs the statements of a transaction. It refuses them after the closure has returned, or after SQLite has rolled the transaction
// back by itself: each further statement would be a transaction of its own. It records a serialization failure of PostgreSQL even if the
// closure hides the error.
type txConn struct {
	entsql.ExecQuerier
	change  context.Context // change ends at the deadline of the transaction
	sqlite  context.Context // sqlite is the context of all statements on SQLite, see within; nil on PostgreSQL
	changes *changes        // changes counts the changed rows of the writer's connection; nil on PostgreSQL
	ended   atomic.Bool
	retry   atomic.Bool
	failed  atomic.Bool // failed means that a statement's error was seen, unless its savepoint was rolled back; otherwise an aborted transaction is retried
	wrote   atomic.Bool // wrote means that a statement may have changed rows; on SQLite, a failed change then undoes its batch

	computing *computing
	marks     []string // marks are what a [ChangeWatcher] of a test returned for statements
}

// usable returns an error if the transaction has ended or must be repeated.
func (c *txConn) usable() error {
	switch {
	case c.ended.Load():
		return errOver
	case c.changes.rolledBack():
		return errLost
	case c.retry.Load(): // also if a savepoint was rolled back, because the transaction may have read outdated rows
		return errConflict
	}
	return nil
}

// within returns the context for the next statement, or an error if the change is past its deadline or cannot continue. On SQLite the
// context is never cancelled: an interrupted statement would roll back all changes of the group, and watching a context costs as much as a
// statement. So a slow statement blocks the writer until it ends. Callers that wait give up at their own deadlines, and above QueueSize
// they are refused at once. The caller must close the rows of a query, because the writer waits for them.
func (c *txConn) within(ctx context.Context) (context.Context, error) {
	if err := cmp.Or(c.usable(), c.change.Err(), ctx.Err()); err != nil {
		return nil, err
	}
	if c.sqlite != nil {
		ctx = c.sqlite
	}
	return ctx, nil
}

// ExecContext runs a statement that changes rows, and records its outcome.
func (c *txConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, err := c.within(ctx)
	if err != nil {
		return nil, err
	}
	c.wrote.Store(true)
	c.computing.pause(query)
	defer c.computing.resume()
	res, err := c.ExecQuerier.ExecContext(ctx, query, args...)
	c.note(err)
	if err == nil {
		c.mark(query, res)
	}
	return res, err
}

// QueryContext runs a query, and records its outcome. A query other than SELECT may change rows, such as INSERT ... RETURNING.
func (c *txConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, err := c.within(ctx)
	if err != nil {
		return nil, err
	}
	writes := !strings.EqualFold(verb(query), "SELECT")
	if writes {
		c.wrote.Store(true)
	}
	c.computing.pause(query)
	defer c.computing.resume()
	rows, err := c.ExecQuerier.QueryContext(ctx, query, args...)
	c.note(err)
	if writes && err == nil {
		c.mark(query, nil)
	}
	return rows, err
}

// note records that a statement failed with err, if err is not nil, except with the error that follows an earlier failure: see
// isAbortedTransaction. A serialization conflict makes the transaction fail, so that it is retried.
func (c *txConn) note(err error) {
	if err == nil {
		return
	}
	if !isAbortedTransaction(err) {
		c.failed.Store(true)
	}
	if isSerialization(err) {
		c.retry.Store(true)
	}
}

// txDriver runs ent inside a transaction that its owner begins and ends. Transactions that ent begins join it.
type txDriver struct {
	entsql.Conn
	name string
}

func (d txDriver) Dialect() string { return d.name }

// Close does nothing.
func (d txDriver) Close() error { return nil }

// Tx joins the running transaction: commit and rollback of the result do nothing.
func (d txDriver) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(d), nil }

// readDriver lets ent read outside of a transaction, and refuses every change.
type readDriver struct {
	entsql.Conn
	name string
}

var errReadOnly = errors.New("db: a View changes nothing; use Write")

func (d readDriver) Dialect() string { return d.name }

// Close does nothing.
func (d readDriver) Close() error { return nil }

// Tx refuses a transaction, because it could change rows.
func (d readDriver) Tx(context.Context) (dialect.Tx, error) { return nil, errReadOnly }

// Exec refuses every statement.
func (d readDriver) Exec(context.Context, string, any, any) error { return errReadOnly }

// ExecContext refuses every statement.
func (d readDriver) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, errReadOnly
}

// Query implements dialect.Driver, outside of a transaction. It returns errReadOnly for a statement that is not a read.
func (d readDriver) Query(ctx context.Context, query string, args, v any) error {
	if !isRead(query) {
		return errReadOnly
	}
	return d.Conn.Query(ctx, query, args, v)
}

// QueryContext refuses a statement that is not a read.
func (d readDriver) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if !isRead(query) {
		return nil, errReadOnly
	}
	return d.Conn.QueryContext(ctx, query, args...)
}

// changingWord matches the words with which a part of a WITH statement changes rows.
var changingWord = regexp.MustCompile(`(?i)\b(INSERT|UPDATE|DELETE|MERGE)\b`)

// isRead reports whether a statement only reads, by its first word and, after WITH, by the words in it. A Query may also change rows, as
// INSERT ... RETURNING does.
func isRead(query string) bool {
	switch strings.ToUpper(verb(query)) {
	case "SELECT", "EXPLAIN":
		return true
	case "WITH":
		return !changingWord.MatchString(query)
	}
	return false
}

// verb returns the first word of a statement.
func verb(query string) string {
	query = strings.TrimLeft(query, " \t\n(")
	if end := strings.IndexAny(query, " \t\n"); end >= 0 {
		return query[:end]
	}
	return query
}

// conn returns ent's connection that sends statements to q, with errors and times converted: see storageConn. name is the dialect.
func conn(name string, q entsql.ExecQuerier) entsql.Conn {
	return entsql.Conn{ExecQuerier: storageConn{q, name == dialect.SQLite}}
}

// storageConn wraps the errors of the storage in their faults, and binds times in UTC with microseconds on SQLite, which
// compares times as text: they sort correctly only within one zone. PostgreSQL normalizes times by itself.
type storageConn struct {
	entsql.ExecQuerier
	utc bool
}

// ExecContext runs a statement with prepared arguments, and converts its error: see storageConn.
func (c storageConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	res, err := c.ExecQuerier.ExecContext(ctx, query, c.prepare(ctx, query, args)...)
	return res, Explain(err)
}

// QueryContext runs a query with prepared arguments, and converts its error: see storageConn.
func (c storageConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := c.ExecQuerier.QueryContext(ctx, query, c.prepare(ctx, query, args)...)
	return rows, Explain(err)
}

// prepare passes the statement to the watcher of a test, if any, and returns the arguments as the database needs them. On SQLite it changes
// the times in args itself.
func (c storageConn) prepare(ctx context.Context, query string, args []any) []any {
	watchStatement(ctx, query)
	if c.utc {
		return inUTC(args)
	}
	return args
}

// inUTC converts the times among the arguments to UTC with microseconds. It changes args itself.
func inUTC(args []any) []any {
	for i, a := range args {
		switch v := a.(type) {
		case time.Time:
			args[i] = v.UTC().Truncate(time.Microsecond)
		case *time.Time:
			if v != nil {
				args[i] = v.UTC().Truncate(time.Microsecond)
			}
		}
	}
	return args
}
