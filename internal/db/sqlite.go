package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"entgo.io/ent/dialect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/mattn/go-sqlite3"

	"latchkey.dev/internal/disk"
)

const (
	sqliteReaders = 4
	writerCache   = 64 << 10 // KiB of pages that the writer caches
	// mapped is how much of the file the writer maps into memory instead of reading it page by page. SQLite maps at most 2
	// GiB. Only pages that were read count as memory of the process, and the system can evict them. Readers do not map the
	// file: SQLite drops a reader's map at the first read after another connection's change.
	mapped = 2 << 30 // 2 GiB in bytes
)

type sqlite struct {
	path         string
	file         *os.File // file is for fsync. Close it after the pools: closing any descriptor of a file drops SQLite's POSIX locks
	writer       *sql.DB
	readers      *sql.DB
	shared       *sql.DB // shared has the connections of ViewShared; a statement on readers inside a ViewShared never waits for these
	group        *group
	checkpointer *checkpointer
}

// openSQLite creates the file and its directory if they are missing, opens all pools, and starts the writer and the checkpointer.
func openSQLite(ctx context.Context, path string, cfg Config) (*sqlite, error) {
	path = strings.TrimPrefix(path, "//")
	if path == "" || strings.HasPrefix(path, ":memory:") {
		return nil, errors.New("sqlite: needs a file, as in sqlite:data/latchkey.db")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	changes := newChanges()
	writer, err := openPool(ctx, path, 1, url.Values{"_txlock": {"immediate"}, "_foreign_keys": {"1"}, "_secure_delete": {"true"}, "_cache_size": {strconv.Itoa(-writerCache)}}, changes)
	if err != nil {
		return nil, err
	}
	// Open the readers second: a read-only connection can create neither the file nor its log.
	readers, err := openPool(ctx, path, sqliteReaders, url.Values{"mode": {"ro"}, "_query_only": {"1"}}, nil)
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	shared, err := openPool(ctx, path, sqliteReaders, url.Values{"mode": {"ro"}, "_query_only": {"1"}}, nil)
	if err != nil {
		return nil, errors.Join(err, readers.Close(), writer.Close())
	}
	checkpoints, err := openPool(ctx, path, 1, nil, nil)
	if err != nil {
		return nil, errors.Join(err, shared.Close(), readers.Close(), writer.Close())
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(err, checkpoints.Close(), shared.Close(), readers.Close(), writer.Close())
	}
	return &sqlite{
		path: path, file: file, writer: writer, readers: readers, shared: shared,
		group: newGroup(writer, changes, cfg), checkpointer: newCheckpointer(checkpoints, writer, file, changes.changed, cfg.Logger),
	}, nil
}

// createPrivate creates the file, if missing, with permissions for its owner only; the driver would follow the umask.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// openPool opens a pool of at most conns connections to the file at path. more has connection parameters that add to the defaults or
// replace them. changes, if not nil, counts the rows that the connections change.
func openPool(ctx context.Context, path string, conns int, more url.Values, changes *changes) (*sql.DB, error) {
	params := url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_busy_timeout": {"5000"}, "_stmt_cache_size": {"256"},
	}
	for k, v := range more {
		params[k] = v
	}
	if params.Get("mode") == "ro" {
		delete(params, "_journal_mode")
	}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + params.Encode()
	pool := sql.OpenDB(connector{dsn, changes})
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return pool, nil
}

func (s *sqlite) dialect() string { return dialect.SQLite }

// reader returns the read-only pool, not that of ViewShared.
func (s *sqlite) reader() *sql.DB { return s.readers }

// check reads from the file, which fails if the file cannot be read.
func (s *sqlite) check(ctx context.Context) error {
	_, err := s.readers.ExecContext(ctx, "SELECT 1 FROM sqlite_master LIMIT 1")
	return err
}

// jobPools returns the writer's only connection, and no PostgreSQL pool.
func (s *sqlite) jobPools() (*sql.DB, *pgxpool.Pool) { return s.writer, nil }

// write queues the change for the writer, where it shares a transaction with others that wait: see group.
func (s *sqlite) write(ctx context.Context, fn func(*Tx) error) error { return s.group.write(ctx, fn) }

// close runs the queued changes, then stops the checkpointer and closes all connections.
func (s *sqlite) close() error {
	s.group.close()
	err := errors.Join(s.checkpointer.close(), s.shared.Close(), s.readers.Close(), s.writer.Close())
	if closeErr := s.file.Close(); !errors.Is(closeErr, os.ErrClosed) {
		err = errors.Join(err, closeErr)
	}
	return err
}

// isNoTransaction recognises SQLite's error for a ROLLBACK of a transaction that SQLite has already rolled back.
func isNoTransaction(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrError && strings.Contains(e.Error(), "no transaction is active")
}

// Backup writes a consistent snapshot of the database to path, which must not exist, syncs it to disk, and records it for [DB.LastCopy]. A
// failure to record it is only logged. Changes do not wait for Backup. On PostgreSQL, it fails: use PostgreSQL's own tools.
func (d *DB) Backup(ctx context.Context, path string) (err error) {
	s, ok := d.engine.(*sqlite)
	if !ok {
		return errors.New("backup: on PostgreSQL use pg_dump or its continuous archiving")
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("backup: %s exists already", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".backup-*") // only the owner can read the file, which has a temporary name until it is complete
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	conn, err := openPool(ctx, s.path, 1, url.Values{}, nil)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "VACUUM INTO ?", f.Name()); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := os.Link(f.Name(), path); err != nil { // unlike a rename, a link never replaces an existing file
		return fmt.Errorf("backup: give the complete copy its name, for which the file system needs hard links: %w", err)
	}
	if err := disk.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := s.recordCopy(path, d.cfg.Clock.Now()); err != nil {
		d.log.Warn("the copy is complete, but the operators' pages do not know of it", "error", err)
	}
	return nil
}
