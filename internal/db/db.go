// Package db opens the database and runs all changes to it. The same calls work on SQLite (one file; concurrent callers share
// a commit) and on PostgreSQL (one serializable transaction per call).
package db

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	"github.com/jackc/pgx/v5/pgxpool"

	"latchkey.dev/ent"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/fault"
)

// Config selects a database and its limits. Zero fields take the defaults given here.
type Config struct {
	// URL is "sqlite:PATH" or "postgres://...". PATH is relative to the working directory.
	URL string
	// WriteTimeout bounds one call of Write, its retries included; on SQLite, one run of its closure, without the wait. Default 10 s.
	WriteTimeout time.Duration
	// QueueSize bounds the callers of Write that wait; the next one is refused at once. Default 1024.
	QueueSize int
	// MaxConns bounds PostgreSQL connections. Default 16. SQLite has one writer, four readers, and four more for ViewShared.
	MaxConns int
	// CheckEvery is the interval between pings of PostgreSQL. They detect a host that hangs. Default 2 s.
	CheckEvery time.Duration
	// Around wraps every call of Write and must call write once, for example to measure it. Default: no wrapper.
	Around func(ctx context.Context, write func(ctx context.Context) error) error
	Clock  clock.Clock  // Clock defaults to clock.System with SQLite, and to a clock that follows the database's with PostgreSQL
	Wall   clock.Clock  // Wall is this machine's clock; only tests set it; default clock.System
	Logger *slog.Logger // Logger discards messages by default
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	engine engine
	read   *ent.Client
	cfg    Config
	log    *slog.Logger

	follower *clock.Follower // follower follows the database's clock; nil if this process uses its own clock

	subscriptions *subscriptions
	storageState  *storageState

	fence func(tx *Tx) error // fence runs first in every Write of a handle of [DB.Fenced], and its error fails the Write; nil in other handles
}

// engine is the part that differs between SQLite and PostgreSQL.
type engine interface {
	// dialect returns ent's name of the engine.
	dialect() string
	// write runs fn in a transaction, for [DB.Write]. It may run fn more than once.
	write(ctx context.Context, fn func(*Tx) error) error
	// reader returns the connections for reads outside of a change.
	reader() *sql.DB
	// check returns an error unless the database answers. On PostgreSQL it must also accept changes.
	check(ctx context.Context) error
	// jobPools implements [DB.JobPools].
	jobPools() (*sql.DB, *pgxpool.Pool)
	// alter runs fn, which changes the schema, in one transaction.
	alter(ctx context.Context, fn func(*sql.Tx) error) error
	// migrateJobs brings the tables of the job queue to the version that this program needs.
	migrateJobs(ctx context.Context, log *slog.Logger) error
	// jobsCurrent reports whether the tables of the job queue have the version that this program needs.
	jobsCurrent(ctx context.Context, log *slog.Logger) (bool, error)
	// close refuses new changes, finishes those that wait, and closes all connections.
	close() error
}

// ErrClosed is returned by Write after Close. Nothing was stored.
var ErrClosed = fault.New(fault.Unavailable, fault.UnavailableReason, "the server is shutting down; try again on another").Retry(time.Second)

// errBusy is returned by Write if QueueSize callers already wait, and on PostgreSQL also if too many changes run until WriteTimeout.
var errBusy = fault.New(fault.Unavailable, fault.UnavailableReason, "too many changes are waiting to be stored; try again shortly").Retry(time.Second)

// errNested is returned by a Write inside a Write, which would deadlock.
var errNested = errors.New("db: Write called inside Write; pass the *Tx on instead")

// Open opens the database and checks that it answers. It creates a missing SQLite file, but does not change the schema: see
// [DB.EnsureSchema].
func Open(ctx context.Context, cfg Config) (*DB, error) {
	follower := newFollower(cfg)
	if follower != nil {
		cfg.Clock = follower
	}
	cfg = cfg.withDefaults()
	var e engine
	var err error
	switch scheme, rest, _ := strings.Cut(cfg.URL, ":"); scheme {
	case "sqlite":
		e, err = openSQLite(ctx, rest, cfg)
	case "postgres", "postgresql":
		e, err = openPostgres(ctx, cfg)
	default:
		return nil, fmt.Errorf("database URL: want sqlite:PATH or postgres://..., got scheme %q", scheme)
	}
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", Redact(cfg.URL), err)
	}
	read := ent.NewClient(ent.Driver(readDriver{conn(e.dialect(), e.reader()), e.dialect()}))
	d := &DB{engine: e, read: read, cfg: cfg, log: cfg.Logger, follower: follower,
		subscriptions: &subscriptions{}, storageState: &storageState{row: "probe-" + rand.Text()}}
	if _, err := d.SyncClock(ctx); err != nil {
		d.log.Warn("the database's clock could not be measured; using this machine's for now", "error", err)
	}
	return d, nil
}

// CheckURL checks the form of a database URL. It opens nothing, and its error contains no part of the URL that may be a password.
func CheckURL(raw string) error {
	switch scheme, rest, _ := strings.Cut(raw, ":"); scheme {
	case "sqlite":
		if path := strings.TrimPrefix(rest, "//"); path == "" || strings.HasPrefix(path, ":memory:") {
			return errors.New("sqlite: needs a file, as in sqlite:data/latchkey.db")
		}
	case "postgres", "postgresql":
		if _, err := url.Parse(raw); err != nil || !strings.HasPrefix(rest, "//") {
			return errors.New("want postgres://USER:PASSWORD@HOST/NAME, with special characters of the password as %XX")
		}
	default:
		return errors.New("want sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME")
	}
	return nil
}

// Missing reports whether url names an SQLite file that does not exist yet, which Open would create. It is false for PostgreSQL.
func Missing(url string) bool {
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok {
		return false
	}
	_, err := os.Stat(strings.TrimPrefix(path, "//"))
	return errors.Is(err, os.ErrNotExist)
}

// withDefaults returns c with the defaults in place of fields that are zero or negative.
func (c Config) withDefaults() Config {
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = 10 * time.Second
	}
	if c.QueueSize <= 0 {
		c.QueueSize = 1024
	}
	if c.MaxConns <= 0 {
		c.MaxConns = 16
	}
	if c.CheckEvery <= 0 {
		c.CheckEvery = checkEvery
	}
	if c.Clock == nil {
		c.Clock = clock.System
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Redact returns a database URL without its passwords, for logs. For a URL that it cannot parse it returns a fixed text.
func Redact(rawURL string) string {
	if strings.HasPrefix(rawURL, "sqlite:") {
		return rawURL
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return "(unreadable URL)"
	}
	query := u.Query()
	for _, secret := range []string{"password", "sslpassword"} {
		if query.Has(secret) {
			query.Set(secret, "xxxxx")
			u.RawQuery = query.Encode()
		}
	}
	return u.Redacted()
}

// View returns a read-only Tx for reads outside of Write. It sees every change whose Write has returned, and changes through it fail. Its
// [Tx.Now] is the time of the call of View. Its queries may see different states of the database: see [DB.ViewShared]. A function that
// reads takes a *Tx, so that it runs both inside and outside of a change.
func (d *DB) View(ctx context.Context) *Tx {
	return &Tx{Client: d.read, ctx: ctx, unwatched: d.SQLite(), now: d.cfg.Clock.Now().UTC().Truncate(time.Microsecond)}
}

// Write runs fn in a transaction. If Write returns nil, the commit is durable. If it returns an error, nothing was stored, except if
// PostgreSQL's answer to the commit does not arrive: then the change may be stored, and the message of the error says so. The error is
// that of fn, or a fault if the storage fails, too many changes wait, or conflicts with other changes do not end.
//
// fn may run more than once, so it must have no side effects except through the transaction and [Tx.Notify]. It must query only through tx,
// under tx.Context(), and must not wait for anything else; a Write inside of it fails. If ctx ends before a run of fn starts, Write returns
// ctx.Err(). Once a run has started, Write waits for its outcome.
func (d *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	if ctx.Value(insideChange{}) != nil {
		return errNested
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.cfg.Around == nil {
		return d.writeOnce(ctx, fn)
	}
	return d.cfg.Around(ctx, func(ctx context.Context) error { return d.writeOnce(ctx, fn) })
}

// writeOnce is Write without the wrapper [Config].Around. It converts storage errors to faults and records them for [DB.Check]. It
// notifies the subscribers after the commit, and also if it is unknown whether the change is stored.
func (d *DB) writeOnce(ctx context.Context, fn func(tx *Tx) error) error {
	var last *Tx // last is the transaction of the last run; nil if none began
	err := Explain(d.engine.write(ctx, func(tx *Tx) error {
		last = tx
		if d.fence != nil {
			if err := d.fence(tx); err != nil {
				return err
			}
		}
		return fn(tx)
	}))
	d.storageState.note(err)
	if err == nil {
		reportChange(last)
	}
	if err == nil || last != nil && isCommitUnknown(err) {
		d.deliver(last.notices)
	}
	return err
}

// Fenced returns a second handle of the same open database, whose Write first runs check in the transaction. If check fails, Write stores
// nothing and returns its error. Reads are not checked. If d is fenced itself, check replaces its check. It protects work that only the
// holder of a lease may do: if this process hangs, another one takes over the lease.
func (d *DB) Fenced(check func(tx *Tx) error) *DB {
	fenced := *d
	fenced.fence = check
	return &fenced
}

// Dialect returns ent's name of the engine: dialect.SQLite or dialect.Postgres.
func (d *DB) Dialect() string { return d.engine.dialect() }

// SQLite reports whether the database is an embedded SQLite file.
func (d *DB) SQLite() bool { return d.Dialect() == dialect.SQLite }

// JobPools returns the connections for the job queue: the first result on SQLite, the second on PostgreSQL; the other one is nil. On
// SQLite it is the writer's only connection, which jobs and Write share fairly. Only the job queue may use it.
func (d *DB) JobPools() (*sql.DB, *pgxpool.Pool) { return d.engine.jobPools() }

// Pool describes how busy the connections are; on SQLite, only those of [DB.View].
type Pool struct {
	Limit, InUse int
	Waits        int64         // Waits counts the queries that found no free connection
	Waited       time.Duration // Waited is the total time that queries waited for a free connection
}

// Pool reports how busy the connections are; on SQLite, only those of [DB.View].
func (d *DB) Pool() Pool {
	if _, pool := d.engine.jobPools(); pool != nil {
		s := pool.Stat()
		return Pool{Limit: int(s.MaxConns()), InUse: int(s.AcquiredConns()), Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime()}
	}
	s := d.engine.reader().Stats()
	return Pool{Limit: s.MaxOpenConnections, InUse: s.InUse, Waits: s.WaitCount, Waited: s.WaitDuration}
}

// Reruns counts the retries of changes after conflicts on PostgreSQL since Open: one change can count several times. It is 0 on SQLite.
func (d *DB) Reruns() int64 {
	if p, ok := d.engine.(*postgres); ok {
		return p.reruns.Load()
	}
	return 0
}

// Close finishes the waiting changes, then closes the database, also for the handles of [DB.Fenced]. Later calls of Write return
// [ErrClosed].
func (d *DB) Close() error { return d.engine.close() }
