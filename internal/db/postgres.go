package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/fault"
)

const (
	// Limits for a change that conflicts with others: it has at most retryMax attempts. The limit of the pauses grows from retryFirst to
	// retryMost.
	retryMax   = 20
	retryTurn  = 4 // from this attempt on, counted from 0, the colliding changes of a process run one after the other
	retryFirst = 2 * time.Millisecond
	retryMost  = 250 * time.Millisecond
)

type postgres struct {
	pool    *pgxpool.Pool
	sql     *sql.DB
	timeout time.Duration
	clock   clock.Clock
	log     *slog.Logger

	maxAdmitted int64        // maxAdmitted bounds admitted
	admitted    atomic.Int64 // admitted counts the changes that run or wait, of which at most maxAdmitted are let in
	reruns      atomic.Int64
	turn        chan struct{} // turn is held by the one change that makes an attempt from retryTurn on
	slots       chan struct{} // slots limits running changes to fewer than connections, so that reads find a free one

	config      *pgx.ConnConfig // config is for connections outside of the pool, such as that of watch
	hosts       []host
	first       atomic.Pointer[host] // first is the host to try first: the last that answered, at the beginning the first of the URL
	connections *connTracker         // connections are the connections of the pool
	every       time.Duration        // every is the interval between two pings
	unwatch     func()
	watchDone   chan struct{} // watchDone is closed when watch has returned

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup
}

// openPostgres connects to the first host of the URL that answers, checks its version, and starts to watch the connection.
func openPostgres(ctx context.Context, cfg Config) (*postgres, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, err
	}
	pc.MaxConns = int32(min(cfg.MaxConns, 1000))
	applyDefaults(pc.ConnConfig)
	p := &postgres{
		timeout: cfg.WriteTimeout, clock: cfg.Clock, log: cfg.Logger,
		maxAdmitted: int64(cfg.MaxConns + cfg.QueueSize), turn: make(chan struct{}, 1), slots: make(chan struct{}, max(1, cfg.MaxConns*3/4)),
		config: pc.ConnConfig.Copy(), hosts: hostsOf(pc.ConnConfig), every: cfg.CheckEvery, watchDone: make(chan struct{}),
		connections: &connTracker{dial: pc.ConnConfig.DialFunc, open: map[*trackedConn]struct{}{}},
	}
	p.first.Store(&p.hosts[0])
	pc.ConnConfig.DialFunc = p.connections.dialTracked
	pc.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		tryHosts(c, moveToFront(*p.first.Load(), p.hosts)...)
		return nil
	}
	pc.AfterConnect = func(ctx context.Context, c *pgx.Conn) error { return afterConnect(ctx, c, p.timeout) }
	conn, at, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err = checkVersion(ctx, conn); err == nil {
		p.pool, err = pgxpool.NewWithConfig(ctx, pc)
	}
	if err != nil {
		closeWithTimeout(ctx, conn)
		return nil, err
	}
	p.sql = stdlib.OpenDBFromPool(p.pool)
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.unwatch = stop
	go p.watch(watching, conn, at)
	return p, nil
}

// minVersion is the oldest supported PostgreSQL: version 14 added idle_session_timeout, which the lease uses.
const minVersion = 14

// checkVersion returns an error if the server's PostgreSQL is older than minVersion.
func checkVersion(ctx context.Context, conn *pgx.Conn) error {
	var number int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&number); err != nil {
		return err
	}
	if number/10000 < minVersion {
		return fmt.Errorf("PostgreSQL %d is too old: %d or newer is needed", number/10000, minVersion)
	}
	return nil
}

func (p *postgres) dialect() string { return dialect.Postgres }

// reader returns the pool that changes use too.
func (p *postgres) reader() *sql.DB { return p.sql }

// check asks the server whether it accepts changes. If the server is read-only, check returns errStandby and resets the pool, because a new
// connection may lead to another server: the next host of the URL, or the new address of a host's name.
func (p *postgres) check(ctx context.Context) error {
	var readOnly string
	err := p.pool.QueryRow(ctx, "SELECT current_setting('transaction_read_only')").Scan(&readOnly)
	if err == nil && readOnly == "on" {
		err = errStandby
		p.pool.Reset()
	}
	return err
}

// jobPools returns no SQLite pool, and the pool that reads and changes use too.
func (p *postgres) jobPools() (*sql.DB, *pgxpool.Pool) { return nil, p.pool }

// write runs fn in a serializable transaction, so that a closure behaves as on SQLite, where changes run one after the other. It retries
// conflicts with other changes, at most retryMax attempts within the timeout, and then returns the fault of conflict. It retries a violated
// constraint up to retryUnique times. If too many changes wait, or none of p.slots gets free in time, it returns errBusy. If ctx ends, it
// makes no further attempt.
func (p *postgres) write(ctx context.Context, fn func(*Tx) error) error {
	if err := p.admit(); err != nil {
		return err
	}
	defer p.release()
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.timeout)
	defer cancel()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return ctx.Err()
	case <-deadline.Done():
		return errBusy
	}
	for attempt := 0; ; attempt++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if attempt > 0 {
			p.reruns.Add(1)
		}
		if attempt == retryTurn {
			select {
			case p.turn <- struct{}{}:
				defer func() { <-p.turn }()
			case <-ctx.Done():
				return ctx.Err()
			case <-deadline.Done():
				return conflict(deadline.Err())
			}
		}
		retry, err := p.attempt(deadline, fn)
		if err == nil {
			return nil
		}
		if !retry && attempt < retryUnique && isConstraintRace(err) && pause(ctx, deadline, attempt) {
			continue
		}
		if !retry {
			return err
		}
		if attempt == retryMax-1 || !pause(ctx, deadline, attempt) {
			return conflict(err)
		}
	}
}

// conflict returns the fault for a change that was given up after too many conflicts with others; err is the last conflict.
func conflict(err error) error {
	return fault.New(fault.Aborted, fault.UnavailableReason, "the change kept colliding with others; try again").Retry(time.Second).With(err)
}

// pause waits a random time before the next attempt; the upper limit doubles with each attempt. It returns false if deadline has passed. If
// ctx ends it returns true at once, because the next attempt then returns the error of ctx.
func pause(ctx, deadline context.Context, attempt int) bool {
	most := min(retryFirst<<attempt, retryMost)
	timer := time.NewTimer(clock.FullJitter(most))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return true // the next attempt returns ctx.Err()
	case <-deadline.Done():
		return false
	}
}

// attempt runs fn in one transaction, and commits it if fn returns nil. retry means that the transaction failed because of a conflict, so
// that another attempt may succeed.
func (p *postgres) attempt(ctx context.Context, fn func(*Tx) error) (retry bool, err error) {
	openRaw, err := p.sql.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		return false, Explain(err)
	}
	tx := newTx(ctx, dialect.Postgres, openRaw, openRaw, p.clock.Now(), nil)
	_, tx.follows = p.clock.(*clock.Follower)
	defer openRaw.Rollback() // Rollback does nothing after a commit
	if err = tx.run(fn); err == nil {
		err = explainCommit(openRaw.Commit())
	}
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil { // the deadline passed between two statements, and database/sql rolled back
		err = ctx.Err()
	}
	return err != nil && (tx.conn.retry.Load() || isSerialization(err) || isAbortedTransaction(err) && !tx.conn.failed.Load()), err
}

// explainCommit is [Explain] for the error of a commit: the change may be stored if the server's answer is missing, also because the time
// was over.
func explainCommit(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errUnknown.With(err)
	}
	return explain(err, errUnknown)
}

// isAbortedTransaction recognises the error that a transaction returns after a failed statement if the error of that statement was never
// read, because its rows were closed early. ent reads only one row after each UpdateOne, and PostgreSQL may report a serialization conflict
// after that row.
func isAbortedTransaction(err error) bool {
	var e *pgconn.PgError
	return errors.Is(err, pgx.ErrTxCommitRollback) || errors.As(err, &e) && e.Code == "25P02"
}

// isSerialization recognises serialization_failure and deadlock_detected, after which a transaction can be retried.
func isSerialization(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}

// retryUnique bounds the retries after a unique_violation or a foreign_key_violation. These may be caused by a race: two closures that both
// saw no row both insert it, or one inserts a row while another deletes its owner. A closure that fails again has a defect of its own.
const retryUnique = 2

// isConstraintRace recognises unique_violation and foreign_key_violation, which a race between two changes can cause: see retryUnique.
func isConstraintRace(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "23505" || e.Code == "23503")
}

// admit counts a change that begins or waits. It returns ErrClosed if the database is closed, and errBusy if too many changes wait. After
// nil, the caller must call release.
func (p *postgres) admit() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if p.admitted.Load() >= p.maxAdmitted {
		return errBusy
	}
	p.admitted.Add(1)
	p.active.Add(1)
	return nil
}

// release counts a change that ended.
func (p *postgres) release() {
	p.admitted.Add(-1)
	p.active.Done()
}

// close refuses new changes, waits for those that run or wait, and closes all connections.
func (p *postgres) close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.active.Wait()
	p.unwatch()
	<-p.watchDone
	err := p.sql.Close()
	p.pool.Close()
	return err
}
