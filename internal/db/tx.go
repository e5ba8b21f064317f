package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
)

// Tx is one change under way. Its client's queries run in the transaction and fail
// once the closure has returned.
type Tx struct {
	*ent.Client
	ctx   context.Context
	brief context.Context // as ctx, but never done where nobody has to be waited for
	sql   *sql.Tx
	now   time.Time
	after []func()
	conn  txConn
	// what Remember asks; nil: it always reads
	changes *changes
	follows bool // now is of a clock that follows the database's
}

// changeKey is where the contexts of a closure have its *Tx.
type changeKey struct{}

// newTx is a change in tx, whose statements run through q.
func newTx(ctx context.Context, client *ent.Client, tx *sql.Tx, q entsql.ExecQuerier, now time.Time, changes *changes) *Tx {
	t := &Tx{Client: client, sql: tx, now: now.UTC().Truncate(time.Microsecond), conn: txConn{ExecQuerier: q, changes: changes}, changes: changes}
	t.ctx = context.WithValue(ctx, changeKey{}, t)
	t.brief = briefly(changes != nil, t.ctx)
	return t
}

// briefly is ctx, but on SQLite never done.
func briefly(sqlite bool, ctx context.Context) context.Context {
	if sqlite {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// Brief is the context for a statement that finds its few rows by an index and so takes no time worth speaking of. On
// SQLite it is not watched by a goroutine of the driver and another of database/sql, which cost as much as the statement;
// over a network it ends with Context. Rows under it must be closed whatever happens: on SQLite the writer waits for them.
func (t *Tx) Brief() context.Context { return t.brief }

// Context is the context of every query of this change: the caller's values, our deadline.
func (t *Tx) Context() context.Context { return t.ctx }

// SQL is the transaction itself, for the job queue's insert. Never commit it or roll it back.
func (t *Tx) SQL() *sql.Tx {
	t.conn.wrote.Store(true)
	return t.sql
}

// Now is the time of the change, the same throughout, in UTC with microseconds.
func (t *Tx) Now() time.Time { return t.now }

// ReadOne reads the one row of a statement that finds it by an index, and says whether there is any. It is for the few
// statements of a call that somebody waits for: ent reads whole rows, and takes several times as long and as much memory.
func (t *Tx) ReadOne(statement string, args []any, into ...any) (found bool, err error) {
	if err := t.ctx.Err(); err != nil {
		return false, err
	}
	rows, err := t.QueryContext(t.brief, statement, args...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() && err == nil {
		found, err = true, rows.Scan(into...)
	}
	// PostgreSQL may find only after the row that two changes do not fit together.
	return found, errors.Join(err, rows.Err())
}

// Insert runs an INSERT that may meet a row already there, such as one with ON CONFLICT, and returns how many rows it wrote.
// ent's generated upserts say the same in a third more code.
func (t *Tx) Insert(b *entsql.InsertBuilder) (int64, error) {
	b.SetDialect(dialect.Postgres) // SQLite takes its placeholders and quotes as well
	query, args, err := b.QueryErr()
	if err != nil {
		return 0, err
	}
	result, err := t.ExecContext(t.brief, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Err says that the change cannot go on: it is over, or the database has undone it by itself.
func (t *Tx) Err() error { return t.conn.usable() }

// After has f run by Write's caller once the commit is durable, before Write returns.
func (t *Tx) After(f func()) { t.after = append(t.after, f) }

// wrote says whether anything may have changed.
func (t *Tx) wrote() bool { return t.conn.wrote.Load() || t.changes.over() }

// run calls fn; further use of the transaction is an error, also after a panic. A
// transaction that was lost on the way is an error even if fn hides it.
func (t *Tx) run(fn func(*Tx) error) error {
	defer t.conn.over.Store(true)
	t.conn.computing = startComputing()
	var late error
	err := func() error {
		defer func() { late = t.conn.computing.stop() }()
		return fn(t)
	}()
	if err == nil {
		err = late
	}
	if err == nil && t.changes.over() {
		err = errLost
	}
	return err
}

func (t *Tx) runAfter() {
	for _, f := range t.after {
		f()
	}
}

var (
	errOver = errors.New("db: query on a transaction after its closure returned")
	errLost = errors.New("db: the transaction was rolled back by the database")
)

// txConn refuses queries once the closure is over, or SQLite has rolled the transaction
// back by itself, after which every further statement would be a transaction of its own.
// It remembers whether PostgreSQL asked for it to be tried again, even if the closure
// hides that.
type txConn struct {
	entsql.ExecQuerier
	changes *changes // nil on PostgreSQL
	over    atomic.Bool
	retry   atomic.Bool
	failed  atomic.Bool // a statement did, and was not undone as a part
	wrote   atomic.Bool // a statement may have changed something

	computing *computing
}

func (c *txConn) usable() error {
	switch {
	case c.over.Load():
		return errOver
	case c.changes.over():
		return errLost
	}
	return nil
}

func (c *txConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	// The driver would begin and be interrupted, and SQLite would undo the change of everybody.
	if err := cmp.Or(c.usable(), ctx.Err()); err != nil {
		return nil, err
	}
	c.wrote.Store(true)
	c.computing.pause(query)
	defer c.computing.resume()
	res, err := c.ExecQuerier.ExecContext(ctx, query, args...)
	c.note(err)
	return res, err
}

func (c *txConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	if !strings.EqualFold(verb(query), "SELECT") {
		c.wrote.Store(true)
	}
	c.computing.pause(query)
	defer c.computing.resume()
	rows, err := c.ExecQuerier.QueryContext(ctx, query, args...)
	c.note(err)
	return rows, err
}

func (c *txConn) note(err error) {
	if err == nil {
		return
	}
	if !isHidden(err) {
		c.failed.Store(true)
	}
	if isSerialization(err) {
		c.retry.Store(true)
	}
}

// newTxClient makes the client of every change. One serves all, because to make one costs as much as a statement.
func newTxClient(name string) *ent.Client {
	return ent.NewClient(ent.Driver(txDriver{conn(name, ofContext{}), name}))
}

var errOutside = errors.New("db: query of a change with another context than its own; use tx.Context()")

// ofContext runs a statement in the change that its context belongs to.
type ofContext struct{}

func (ofContext) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if t, ok := ctx.Value(changeKey{}).(*Tx); ok {
		if err := t.ctx.Err(); err != nil { // also under Brief: a change that is out of time ends at its next statement
			return nil, err
		}
		return t.conn.ExecContext(ctx, query, args...)
	}
	return nil, errOutside
}

func (ofContext) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if t, ok := ctx.Value(changeKey{}).(*Tx); ok {
		if err := t.ctx.Err(); err != nil {
			return nil, err
		}
		return t.conn.QueryContext(ctx, query, args...)
	}
	return nil, errOutside
}

// txDriver runs ent inside a transaction that is begun and ended elsewhere.
type txDriver struct {
	entsql.Conn
	name string
}

func (d txDriver) Dialect() string                        { return d.name }
func (d txDriver) Close() error                           { return nil }
func (d txDriver) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(d), nil }

// readDriver runs ent's queries and nothing else.
type readDriver struct {
	entsql.Conn
	name string
}

var errReadOnly = errors.New("db: Read() changes nothing; use Write")

func (d readDriver) Dialect() string                        { return d.name }
func (d readDriver) Close() error                           { return nil }
func (d readDriver) Tx(context.Context) (dialect.Tx, error) { return nil, errReadOnly }
func (d readDriver) Exec(context.Context, string, any, any) error {
	return errReadOnly
}

func (d readDriver) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, errReadOnly
}

func (d readDriver) Query(ctx context.Context, query string, args, v any) error {
	if !selects(query) {
		return errReadOnly
	}
	return d.Conn.Query(ctx, query, args, v)
}

func (d readDriver) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if !selects(query) {
		return nil, errReadOnly
	}
	return d.Conn.QueryContext(ctx, query, args...)
}

// selects tells a SELECT from INSERT ... RETURNING, which is a query to the driver too.
func selects(query string) bool {
	word := verb(query)
	return strings.EqualFold(word, "SELECT") || strings.EqualFold(word, "WITH") || strings.EqualFold(word, "EXPLAIN")
}

// verb is a statement's first word.
func verb(query string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(query, " \t\n("), " ")
	return word
}

// conn is ent's connection over q, with times as both databases keep them and with faults for errors of the storage.
func conn(name string, q entsql.ExecQuerier) entsql.Conn {
	if name == dialect.SQLite {
		q = utcArgs{q}
	}
	return entsql.Conn{ExecQuerier: watched{explained{q}}}
}

// utcArgs binds times in UTC with microseconds. SQLite compares them as text, which
// orders right only in one zone; PostgreSQL does both by itself.
type utcArgs struct{ entsql.ExecQuerier }

func (u utcArgs) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return u.ExecQuerier.ExecContext(ctx, query, inUTC(args)...)
}

func (u utcArgs) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return u.ExecQuerier.QueryContext(ctx, query, inUTC(args)...)
}

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
