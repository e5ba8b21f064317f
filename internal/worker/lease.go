package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
)

// Lease lets one process of an installation at a time run a function, and another after it. After a loss, the former function may still run
// for a moment at the same time as the new one: it can then store nothing by its handle, but its other effects are not prevented.
type Lease interface {
	// Hold runs f whenever the process holds the lease, with a context that ends when the lease is lost, and with a handle of the database
	// that stores nothing after that. After a loss it waits for the lease again. It returns when ctx ends or when f fails for another
	// reason than the loss, and always after f has returned. f must not return nil before its context ends.
	Hold(ctx context.Context, f func(ctx context.Context, held *db.DB) error) error
}

// LeaseName is the name of the lease for the background work of an installation.
const LeaseName = "latchkey"

// Alone is the lease of an installation with only one process; it is always held.
type Alone struct{ DB *db.DB }

// Hold runs f once, at once, and returns its error: no other process competes for the lease.
func (a Alone) Hold(ctx context.Context, f func(ctx context.Context, held *db.DB) error) error {
	return f(ctx, a.DB)
}

// PostgresLease is held by the session that has an advisory lock. PostgreSQL releases the lock when the session ends,
// and ends the session when its holder has not pinged for Expire: a process that hangs, or a machine that loses power,
// does not close its connection. Only PostgreSQL's clock decides.
//
// A holder that resumes after it has lost the lease changes nothing: each change under the lease checks in its own
// transaction that the session still holds the lock (see [db.DB.Fenced]). PostgreSQL ends open transactions of a hung
// holder before it releases the lease.
type PostgresLease struct {
	DB     *db.DB
	Name   string // Name identifies the lease: the processes that compete for it have the same
	Log    *slog.Logger
	Check  time.Duration // Check is the interval of pings by the holder, and of attempts by other processes; 0 means 2 s
	Expire time.Duration // Expire is the maximum time without a ping; 0 means 15 s, which is longer than a transaction may take
}

var errLeaseLost = errors.New("the lease is lost")

// Hold acquires the lease whenever it is free, and runs f while it holds the lease. It logs a loss. If f returns nil before ctx ends, it
// releases the lease and competes for it again. After the end of ctx it returns nil, whatever f returned. On SQLite it fails at once.
func (l PostgresLease) Hold(ctx context.Context, f func(ctx context.Context, held *db.DB) error) error {
	if l.DB.SQLite() {
		return errors.New("lease: an embedded database is used by only one process")
	}
	l.Check = cmp.Or(l.Check, 2*time.Second)
	l.Expire = cmp.Or(l.Expire, 15*time.Second)
	for ctx.Err() == nil {
		err := l.tryHold(ctx, f)
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, errLeaseLost):
			l.Log.Warn("another process may take over", "lease", l.Name, "error", err)
		default:
			return err
		}
		clock.Sleep(ctx, clock.Spread(l.Check, l.Check/2))
	}
	return nil
}

// tryHold waits for the lease and runs f until f returns, also after a loss. It releases the lease before it returns. If PostgreSQL does
// not answer, the lease ends there after at most Expire. It returns errLeaseLost if the lease is lost or PostgreSQL cannot be reached, so
// that Hold tries again. Otherwise it returns the error of f, or nil if ctx ends while it waits.
func (l PostgresLease) tryHold(ctx context.Context, f func(ctx context.Context, held *db.DB) error) error {
	conn, err := l.DB.Connect(ctx)
	if err != nil {
		return fmt.Errorf("%w: connect: %w", errLeaseLost, err)
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		// Release the lock immediately; the server may end the session later.
		_, _ = conn.Exec(bounded, "SELECT pg_advisory_unlock_all()")
		_ = conn.Close(bounded)
	}()
	if err := db.Set(ctx, conn, "idle_session_timeout", strconv.FormatInt(l.Expire.Milliseconds(), 10)); err != nil {
		return fmt.Errorf("%w: set the session timeout: %w", errLeaseLost, err)
	}
	for {
		got, err := l.tryLock(ctx, conn)
		if err != nil {
			return fmt.Errorf("%w: take: %w", errLeaseLost, err)
		}
		if got {
			return l.runWhileHeld(ctx, conn, f)
		}
		if !clock.Sleep(ctx, clock.Spread(l.Check, l.Check/2)) {
			return nil
		}
	}
}

// tryLock tries to get the advisory lock of the lease, and reports whether it did.
func (l PostgresLease) tryLock(ctx context.Context, conn *pgx.Conn) (got bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.Expire/3)
	defer cancel()
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", l.Name).Scan(&got)
	return got, err
}

// runWhileHeld runs f with a context that ends when a ping fails or a transaction finds the lease lost, and a database handle whose
// transactions check the lease. It returns after f: errLeaseLost if the lease was lost, otherwise the error of f.
func (l PostgresLease) runWhileHeld(ctx context.Context, conn *pgx.Conn, f func(ctx context.Context, held *db.DB) error) error {
	heldCtx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	proof := leaseTerm(rand.Uint64())
	if err := proof.begin(ctx, conn); err != nil {
		return fmt.Errorf("%w: %w", errLeaseLost, err)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for clock.Sleep(heldCtx, l.Check) {
			// The ping is not cancelled with ctx: a cancelled query closes the connection, and so would end the lease while f runs.
			bounded, cancel := context.WithTimeout(context.WithoutCancel(heldCtx), l.Expire/3)
			err := conn.Ping(bounded)
			cancel()
			if err != nil {
				lose(fmt.Errorf("%w: %w", errLeaseLost, err))
				return
			}
		}
	}()
	err := f(heldCtx, l.DB.Fenced(func(tx *db.Tx) error {
		holds, err := proof.check(tx)
		if err == nil && !holds {
			err = errLeaseLost
			lose(err)
		}
		return err
	}))
	lost := context.Cause(heldCtx)
	lose(nil)
	<-watched
	if errors.Is(lost, errLeaseLost) {
		return lost
	}
	return err
}

// leaseTerm is one period of holding the lease. The holder's session has a second advisory lock with this random
// number, so that any transaction can check whether the session still exists. A sequence number would repeat on a
// promoted standby that misses the last takeover.
type leaseTerm uint64

// begin takes the second advisory lock, by which transactions of other connections check that the term lasts.
func (t leaseTerm) begin(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(t)) // the conversion to int64 keeps the bits
	return err
}

// check reports whether the session that holds the lease still exists, as the transaction sees it.
func (t leaseTerm) check(tx *db.Tx) (lasts bool, err error) {
	const query = `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid::bigint = $1 AND objid::bigint = $2)`
	_, err = tx.ReadOne(query, []any{int64(t >> 32), int64(t & math.MaxUint32)}, &lasts) // PostgreSQL shows the lock's number in two halves of 32 bits
	return lasts, err
}
