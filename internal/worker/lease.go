package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
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

// PostgresLease is held by the one connection that has taken an advisory lock. PostgreSQL frees
// it when that connection ends, so that no clock is needed to tell that a holder has died. A
// holder whose connection is cut learns it within Check: for as long two may hold the lease,
// and what is done under it must bear that.
type PostgresLease struct {
	URL   string // of the database
	Name  string // of the lease, the same in every process
	Log   *slog.Logger
	Check time.Duration // how often the holder looks whether it still is, and others try; 0 means 2 s
}

// pingTimeout is how long the database may take to answer a holder before the lease counts as lost.
const pingTimeout = 5 * time.Second

var errLost = errors.New("the lease is lost")

// Hold takes the lease as often as it is free, and runs f while it is held.
func (l PostgresLease) Hold(ctx context.Context, f func(ctx context.Context) error) error {
	config, err := pgxpool.ParseConfig(l.URL)
	if err != nil {
		return errors.New("lease: the database URL cannot be read")
	}
	if l.Check <= 0 {
		l.Check = 2 * time.Second
	}
	for ctx.Err() == nil {
		err := l.once(ctx, config.ConnConfig, f)
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
func (l PostgresLease) once(ctx context.Context, config *pgx.ConnConfig, f func(ctx context.Context) error) error {
	conn, err := pgx.ConnectConfig(ctx, config)
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
	for {
		var got bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", l.Name).Scan(&got); err != nil {
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

func (l PostgresLease) hold(ctx context.Context, conn *pgx.Conn, f func(ctx context.Context) error) error {
	held, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for pause(held, l.Check) {
			// Not cut short by the end of ctx, which would cut the connection as well.
			bounded, cancel := context.WithTimeout(context.WithoutCancel(held), pingTimeout)
			err := conn.Ping(bounded)
			cancel()
			if err != nil {
				lose(fmt.Errorf("%w: %w", errLost, err))
				return
			}
		}
	}()
	err := f(held)
	lost := context.Cause(held)
	lose(nil)
	<-watched
	if errors.Is(lost, errLost) {
		return lost
	}
	return err
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
