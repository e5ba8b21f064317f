package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"

	"latchkey.dev/internal/fault"
)

// Storage errors. Callers receive them as "unavailable" with a retry delay, because the same request succeeds once the storage works again.
var (
	errDisconnected = unavailable(time.Second, "the database cannot be reached now; try again shortly")
	errUnknown      = unavailable(time.Second, "the connection to the database was lost while the change was being stored, and it may be stored: read it back, or try again under the same Idempotency-Key")
	errStandby      = unavailable(5*time.Second, "the database is read-only now, because it is a standby or is recovering; try again shortly")
	errFull         = unavailable(15*time.Second, "the database has no space left on its disk; the operator of this service must make room")
	errTooManyConns = unavailable(2*time.Second, "the database accepts no more connections now; try again shortly")
	errSlow         = unavailable(2*time.Second, "the database took too long for this and stopped it; try again shortly")
	errDisk         = unavailable(15*time.Second, "the database cannot read or write its files; the operator of this service must check its disk")
)

// unavailable returns a fault with a message for the caller, who may retry after the given time.
func unavailable(retry time.Duration, message string) *fault.Fault {
	return fault.New(fault.Unavailable, fault.UnavailableReason, message).Retry(retry)
}

// isCommitUnknown reports whether err is the loss of the connection during a commit, after which it is unknown whether the change is
// stored.
func isCommitUnknown(err error) bool {
	f, ok := fault.Of(err)
	return ok && isOneOf(f, errUnknown)
}

// isStorageFault reports whether f is caused by the storage, not by the change.
func isStorageFault(f *fault.Fault) bool {
	return isOneOf(f, errDisconnected, errUnknown, errStandby, errFull, errTooManyConns, errSlow, errDisk)
}

// isOneOf reports whether f is one of the listed faults. It compares messages, because [fault.Fault.With] copies a fault.
func isOneOf(f *fault.Fault, list ...*fault.Fault) bool {
	return slices.ContainsFunc(list, func(other *fault.Fault) bool { return f.Message == other.Message })
}

// Explain converts a storage error to a fault for the caller, with the code Unavailable and a delay for the retry. It returns nil, any
// other error, and an error that already has a fault unchanged.
func Explain(err error) error { return explain(err, errDisconnected) }

// explain is [Explain], but converts the loss of the connection to the fault lost.
func explain(err error, lost *fault.Fault) error {
	if err == nil {
		return nil
	}
	if _, ok := fault.Of(err); ok {
		return err
	}
	f := storageFault(err)
	switch f {
	case nil:
		return err
	case errDisconnected:
		f = lost
	}
	return f.With(err)
}

// storageFault converts a storage error to a fault. It returns nil for any other error.
func storageFault(err error) *fault.Fault {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return postgresFault(pg.Code)
	}
	var lite sqlite3.Error
	if errors.As(err, &lite) {
		return sqliteFault(lite.Code, lite.SystemErrno)
	}
	if isDisconnected(err) {
		return errDisconnected
	}
	return nil
}

// postgresFault returns the fault for an SQLSTATE code that concerns the server, and nil for a code that concerns the statement.
func postgresFault(code string) *fault.Fault {
	switch code {
	case "53300":
		return errTooManyConns
	case "53100":
		return errFull
	case "58030":
		return errDisk
	case "25006":
		return errStandby
	case "57014", "55P03": // statement_timeout or a cancel by the administrator; lock_timeout
		return errSlow
	case "57P01", "57P02", "57P03", "57P05", "25P03", "25P04": // the server starts, stops or has ended the session
		return errDisconnected
	}
	if strings.HasPrefix(code, "08") {
		return errDisconnected
	}
	return nil
}

// sqliteFault returns the fault for a result code of SQLite about its file: full, not readable or writable, or locked too long. It returns
// nil for a code about the statement.
func sqliteFault(code sqlite3.ErrNo, errno syscall.Errno) *fault.Fault {
	switch {
	case code == sqlite3.ErrFull, errno == syscall.ENOSPC, errno == syscall.EDQUOT:
		return errFull
	case code == sqlite3.ErrIoErr, code == sqlite3.ErrCantOpen, code == sqlite3.ErrReadonly:
		return errDisk
	case code == sqlite3.ErrBusy, code == sqlite3.ErrLocked:
		return errSlow
	}
	return nil
}

// isDisconnected recognises a PostgreSQL connection that failed or was lost without an error from the server. It is false for a query
// whose context has ended.
func isDisconnected(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return true
	}
	var network *net.OpError
	return !errors.Is(err, context.DeadlineExceeded) && (errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, driver.ErrBadConn))
}

// errLogInUse means that the write-ahead log was not emptied, because a reader still needs it.
var errLogInUse = errors.New("a reader holds the write-ahead log")

// scrubbed lists the tables with data of people, which Scrub vacuums. PostgreSQL keeps deleted and former rows until a VACUUM.
const scrubbed = `guests, stays, messages, disclosures, mails, guest_links, guest_sessions, guest_profiles, profile_links, invitations, reservations, reservation_names, phones, notices`

// Scrub removes the content of deleted rows from the files of the database. On SQLite it empties the write-ahead log, because SQLite itself
// overwrites the rest; it fails while a reader still needs the log. On PostgreSQL it runs VACUUM. Call it after an erasure, outside of
// Write, and again after an error. It does not reach backups and archived logs, which are the operator's responsibility.
func (d *DB) Scrub(ctx context.Context) error {
	var err error
	switch e := d.engine.(type) {
	case *sqlite:
		var busy bool
		err = e.checkpointer.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, new(int), new(int))
		if err == nil && busy {
			err = errLogInUse
		}
	case *postgres:
		_, err = e.pool.Exec(ctx, "VACUUM "+scrubbed)
	}
	if err != nil {
		return fmt.Errorf("remove what deleted rows left: %w", err)
	}
	return nil
}
