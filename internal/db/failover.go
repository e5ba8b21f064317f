package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"latchkey.dev/internal/clock"
)

// checkEvery is the default interval between pings. A ping may take twice as long.
const checkEvery = 2 * time.Second

// connect opens a connection outside of the pool to the first host that answers and, if there are several, accepts writes. It returns the
// connection and the host, which the pool and connect try first from then on. The caller closes the connection.
func (p *postgres) connect(ctx context.Context) (*pgx.Conn, host, error) {
	var failed error
	for _, h := range moveToFront(*p.first.Load(), p.hosts) {
		c := p.config.Copy()
		tryHosts(c, h)
		conn, err := pgx.ConnectConfig(ctx, c)
		if err == nil {
			if err = afterConnect(ctx, conn, p.timeout); err == nil {
				p.first.Store(&h)
				return conn, h, nil
			}
			closeWithTimeout(ctx, conn)
		}
		failed = errors.Join(failed, err)
	}
	return nil, host{}, failed
}

// closeWithTimeout closes a connection whose server may no longer answer, and waits at most a second.
func closeWithTimeout(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// watch pings the server until ctx ends, because a host that hangs or vanishes sends no error. conn is its own connection, to the host at.
// After a failure it connects again. If the same host answers after a timeout, it replaces the pool's idle connections. If another host
// answers, it closes the pool's connections to all but that host; if none answers in time, it closes all: queries would wait on them.
func (p *postgres) watch(ctx context.Context, conn *pgx.Conn, at host) {
	defer close(p.watchDone)
	for clock.Sleep(ctx, p.every) {
		var err error
		if conn != nil {
			if err = p.ping(ctx, conn); err == nil {
				continue
			}
			closeWithTimeout(ctx, conn)
		}
		silent := isTimeout(err)
		var now host
		if conn, now, err = p.connect(ctx); ctx.Err() != nil {
			break
		}
		switch {
		case err == nil && now.isSame(at) && silent:
			p.log.Warn("a connection to the database went silent; idle connections are replaced", "host", at.name)
			p.pool.Reset()
		case err == nil && !now.isSame(at), isTimeout(err):
			p.log.Error("the database moved or hangs; all connections to it are closed", "from", at.name, "to", now.name, "error", err)
			p.pool.Reset()
			p.connections.closeOthers(conn)
		}
		if err == nil {
			at = now
		}
	}
	if conn != nil {
		closeWithTimeout(ctx, conn)
	}
}

// ping waits for the server's answer, at most for two ping intervals.
func (p *postgres) ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 2*p.every)
	defer cancel()
	return conn.Ping(ctx)
}

// isTimeout reports whether a deadline or a timeout of the network ended a call. It is false for nil.
func isTimeout(err error) bool {
	return pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded)
}

// Connect opens a PostgreSQL connection outside of the pool, for state that lasts as long as a session, such as an advisory lock. The
// caller closes it. On SQLite it returns an error.
func (d *DB) Connect(ctx context.Context) (*pgx.Conn, error) {
	p, ok := d.engine.(*postgres)
	if !ok {
		return nil, errors.New("db: an embedded database has no sessions")
	}
	conn, _, err := p.connect(ctx)
	return conn, Explain(err)
}
