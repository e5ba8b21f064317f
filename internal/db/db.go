// Package db opens the database and is the only way to change it. The same calls
// work on SQLite (one file, callers share commits) and on PostgreSQL (one
// serializable transaction per call).
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

// Config says which database to open. Zero fields take the defaults named here.
type Config struct {
	// URL is "sqlite:PATH" or "postgres://...". A PATH is taken as it is, relative
	// to the working directory.
	URL string
	// WriteTimeout bounds one call of Write, its retries included. Default 10 s.
	WriteTimeout time.Duration
	// QueueSize bounds the callers of Write that wait; one more is refused at once. Default 1024.
	QueueSize int
	// MaxConns bounds PostgreSQL connections. Default 16. SQLite has one writer and four readers.
	MaxConns int
	// CheckEvery is how often PostgreSQL is pinged, to leave a host that hangs. Default 2 s.
	CheckEvery time.Duration
	// Around runs around every call of Write, and calls write once. The context it hands on carries what belongs to every
	// change and must not be forgotten in one: who is told of it after the commit, where its time is noted. Default: nothing.
	Around func(ctx context.Context, write func(ctx context.Context) error) error
	Clock  clock.Clock  // default: with SQLite clock.System, with PostgreSQL one that follows the database's
	Wall   clock.Clock  // this machine's clock, for a test to set; default clock.System
	Logger *slog.Logger // default: discards
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	engine engine
	read   *ent.Client
	cfg    Config
	log    *slog.Logger

	follower *clock.Follower // of the database's clock; nil: there is none to follow

	trouble trouble
}

// engine is what the two databases do differently.
type engine interface {
	dialect() string
	write(ctx context.Context, fn func(*Tx) error) error
	reader() *sql.DB
	check(ctx context.Context) error
	pools() (*sql.DB, *pgxpool.Pool)
	alter(ctx context.Context, fn func(*sql.Tx) error) error
	migrateJobs(ctx context.Context, log *slog.Logger) error
	jobsCurrent(ctx context.Context, log *slog.Logger) (bool, error)
	close() error
}

// ErrClosed is what Write answers after Close.
var ErrClosed = fault.New(fault.Unavailable, fault.UnavailableReason, "the server is shutting down; try again on another").Retry(time.Second)

// errBusy is what Write answers when QueueSize callers wait already.
var errBusy = fault.New(fault.Unavailable, fault.UnavailableReason, "too many changes are waiting to be stored; try again shortly").Retry(time.Second)

// errNested is what Write answers inside a Write, where waiting would never end.
var errNested = errors.New("db: Write called inside Write; pass the *Tx on instead")

// Open opens the database and checks that it answers. It does not touch the schema:
// see [DB.EnsureSchema].
func Open(ctx context.Context, cfg Config) (*DB, error) {
	follower := followed(cfg)
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
	d := &DB{engine: e, read: read, cfg: cfg, log: cfg.Logger, follower: follower, trouble: trouble{row: "probe-" + rand.Text()}}
	if _, err := d.SyncClock(ctx); err != nil {
		d.log.Warn("the database's clock could not be measured; using this machine's for now", "error", err)
	}
	return d, nil
}

// Missing tells whether an embedded database was not made yet, which Open would do.
func Missing(url string) bool {
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok {
		return false
	}
	_, err := os.Stat(strings.TrimPrefix(path, "//"))
	return errors.Is(err, os.ErrNotExist)
}

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

// Redact returns a database URL without its password, for logs.
func Redact(raw string) string {
	if strings.HasPrefix(raw, "sqlite:") {
		return raw
	}
	u, err := url.Parse(raw)
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

// Read is the client for queries outside a change. It sees every change whose Write
// has returned, and refuses to change anything.
func (d *DB) Read() *ent.Client { return d.read }

// Write runs fn in a transaction and returns after the commit is durable, or with
// the error for which nothing was stored. fn may run more than once, so its effects
// are the transaction's and [Tx.After]'s alone; it must query through tx only, under
// tx.Context(), and never wait for anything else. A caller whose ctx ends before fn
// starts gets ctx.Err(); once started, the outcome is waited for.
func (d *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	if ctx.Value(changeKey{}) != nil {
		return errNested
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.cfg.Around == nil {
		return d.store(ctx, fn)
	}
	return d.cfg.Around(ctx, func(ctx context.Context) error { return d.store(ctx, fn) })
}

func (d *DB) store(ctx context.Context, fn func(tx *Tx) error) error {
	err := Explain(d.engine.write(ctx, fenced(ctx, fn)))
	d.trouble.note(err)
	return err
}

// Dialect is dialect.SQLite or dialect.Postgres.
func (d *DB) Dialect() string { return d.engine.dialect() }

// SQLite reports whether the database is the embedded one.
func (d *DB) SQLite() bool { return d.Dialect() == dialect.SQLite }

// JobPools returns what the job queue works on: on SQLite the writer's own pool of
// one connection, so that jobs and Write queue up for it fairly, on PostgreSQL the
// pool. One of the two is nil. Nothing else may use them.
func (d *DB) JobPools() (*sql.DB, *pgxpool.Pool) { return d.engine.pools() }

// Pool is how the connections are used; on SQLite, those of queries.
type Pool struct {
	Limit, InUse int
	Waits        int64         // how often a query found no free connection
	Waited       time.Duration // for how long, together
}

// Pool tells how the connections are used.
func (d *DB) Pool() Pool {
	if _, pool := d.engine.pools(); pool != nil {
		s := pool.Stat()
		return Pool{Limit: int(s.MaxConns()), InUse: int(s.AcquiredConns()), Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime()}
	}
	s := d.engine.reader().Stats()
	return Pool{Limit: s.MaxOpenConnections, InUse: s.InUse, Waits: s.WaitCount, Waited: s.WaitDuration}
}

// Reruns is how many times changes were run again because PostgreSQL found that they collided. On SQLite none do.
func (d *DB) Reruns() int64 {
	if p, ok := d.engine.(*postgres); ok {
		return p.reruns.Load()
	}
	return 0
}

// Close stores what waits, then closes. Later calls of Write answer [ErrClosed].
func (d *DB) Close() error { return d.engine.close() }
