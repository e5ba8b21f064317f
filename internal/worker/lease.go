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

	"latchkey.dev/internal/db"
)

// Lease lets one process of an installation do what must be done by one alone.
type Lease interface {
	// Hold runs f whenever the lease is held, under a context that ends when it is lost, until
	// ctx ends or f returns an error that is not the loss itself. It returns after f has.
	Hold(ctx context.Context, f func(ctx context.Context) error) error
}

// LeaseName names the lease of what one server of an installation does for all.
const LeaseName = "latchkey"

// Alone is the lease of an installation of one process: it is always held.
type Alone struct{}

// Hold runs f.
func (Alone) Hold(ctx context.Context, f func(ctx context.Context) error) error { return f(ctx) }

// PostgresLease is held by the one session that has taken an advisory lock. PostgreSQL frees the lock when the session
// ends, and ends the session when its holder has not pinged for Expire: a holder that hangs, or whose machine lost power,
// ends no connection. No clock but PostgreSQL's decides.
//
// A holder that wakes up after it lost the lease changes nothing: each change under the lease first checks, in its own
// transaction, that the session still holds the lock (see [db.Fenced]). PostgreSQL ends transactions that a hung holder has
// left open before it frees the lease.
type PostgresLease struct {
	DB     *db.DB
	Name   string // of the lease, the same in every process
	Log    *slog.Logger
	Check  time.Duration // how often the holder pings, and others try; 0 means 2 s
	Expire time.Duration // how long the holder may be silent; 0 means 15 s, which is longer than a change may take
}

var errLost = errors.New("the lease is lost")

// Hold takes the lease as often as it is free, and runs f while it is held.
func (l PostgresLease) Hold(ctx context.Context, f func(ctx context.Context) error) error {
	if l.DB.SQLite() {
		return errors.New("lease: an embedded database has one process")
	}
	l.Check = cmp.Or(l.Check, 2*time.Second)
	l.Expire = cmp.Or(l.Expire, 15*time.Second)
	for ctx.Err() == nil {
		err := l.once(ctx, f)
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, errLost):
			l.Log.Warn("another process may take over", "lease", l.Name, "error", err)
		default:
			return err
		}
		pause(ctx, l.Check/2+rand.N(l.Check))
	}
	return nil
}

// once tries to take the lease, and if it can, runs f until the lease is lost.
func (l PostgresLease) once(ctx context.Context, f func(ctx context.Context) error) error {
	conn, err := l.DB.Connect(ctx)
	if err != nil {
		return fmt.Errorf("%w: connect: %w", errLost, err)
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		// Freed at once rather than when the server gets round to ending the session.
		_, _ = conn.Exec(bounded, "SELECT pg_advisory_unlock_all()")
		_ = conn.Close(bounded)
	}()
	if err := db.Set(ctx, conn, "idle_session_timeout", strconv.FormatInt(l.Expire.Milliseconds(), 10)); err != nil {
		return fmt.Errorf("%w: limit the silence of its holder: %w", errLost, err)
	}
	for {
		got, err := l.take(ctx, conn)
		if err != nil {
			return fmt.Errorf("%w: take: %w", errLost, err)
		}
		if got {
			return l.hold(ctx, conn, f)
		}
		if !pause(ctx, l.Check/2+rand.N(l.Check)) {
			return nil
		}
	}
}

func (l PostgresLease) take(ctx context.Context, conn *pgx.Conn) (got bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.Expire/3)
	defer cancel()
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", l.Name).Scan(&got)
	return got, err
}

func (l PostgresLease) hold(ctx context.Context, conn *pgx.Conn, f func(ctx context.Context) error) error {
	held, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	proof := term(rand.Uint64())
	if err := proof.begin(ctx, conn); err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for pause(held, l.Check) {
			// Not cut short by the end of ctx, which would cut the connection as well.
			bounded, cancel := context.WithTimeout(context.WithoutCancel(held), l.Expire/3)
			err := conn.Ping(bounded)
			cancel()
			if err != nil {
				lose(fmt.Errorf("%w: %w", errLost, err))
				return
			}
		}
	}()
	err := f(db.Fenced(held, func(tx *db.Tx) error {
		holds, err := proof.check(tx)
		if err == nil && !holds {
			err = errLost
			lose(err)
		}
		return err
	}))
	lost := context.Cause(held)
	lose(nil)
	<-watched
	if errors.Is(lost, errLost) {
		return lost
	}
	return err
}

// term is one time of holding the lease. The holder's session has a second advisory lock of this random number, so that
// any transaction can see whether the session lives. A number that counts up would come again on a promoted standby that
// has missed the last takeover.
type term uint64

func (t term) begin(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(t)) //nolint:gosec // the bits are the number
	return err
}

// check reports whether the term lasts.
func (t term) check(tx *db.Tx) (lasts bool, err error) {
	const query = `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid::bigint = $1 AND objid::bigint = $2)`
	_, err = tx.ReadOne(query, []any{int64(t >> 32), int64(t & math.MaxUint32)}, &lasts) //nolint:gosec // 32 bits each
	return lasts, err
}

// pause waits and reports whether ctx lives on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
