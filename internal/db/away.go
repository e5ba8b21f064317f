package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/jackc/pgx/v5/pgconn"

	"latchkey.dev/internal/fault"
)

var (
	errAway    = fault.New(fault.Unavailable, fault.UnavailableReason, "the database cannot be reached now; try again shortly").Retry(time.Second)
	errUnknown = fault.New(fault.Unavailable, fault.UnavailableReason, "the database went away while the change was being stored, and it may be stored: look, or try again under the same Idempotency-Key").Retry(time.Second)
)

// orAway tells what a caller may know of an error that is about the connection to PostgreSQL. Any other is left as it is.
func orAway(err error, told *fault.Fault) error {
	if err == nil || !isAway(err) {
		return err
	}
	return told.With(err)
}

// isAway recognises that PostgreSQL could not be reached, or ended the connection: by class 08 (connection exceptions), 57P01 to
// 57P03 (it stops or starts), 53300 (it lets nobody in any more), or without a word.
func isAway(err error) bool {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return strings.HasPrefix(said.Code, "08") || said.Code == "57P01" || said.Code == "57P02" || said.Code == "57P03" || said.Code == "53300"
	}
	if errors.Is(err, context.Canceled) {
		return false
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return true
	}
	var network *net.OpError
	return !errors.Is(err, context.DeadlineExceeded) && (errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn))
}

// away has statements on PostgreSQL say so when it is away.
type away struct{ entsql.ExecQuerier }

func (a away) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	res, err := a.ExecQuerier.ExecContext(ctx, query, args...)
	return res, orAway(err, errAway)
}

func (a away) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := a.ExecQuerier.QueryContext(ctx, query, args...)
	return rows, orAway(err, errAway)
}
