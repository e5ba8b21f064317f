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
)

const (
	sqliteReaders = 4
	writerCache   = 64 << 10 // KiB of pages that the writer keeps
	// mapped is how much of the file the writer reads where the system keeps it, instead of by a call and a copy for each page.
	// SQLite maps 2 GiB at most. Only what was asked for counts as memory of the process, and the system takes it back when it
	// likes. Readers do without: SQLite gives a map up with the first read after somebody else's change.
	mapped = 2 << 30 // bytes
)

type sqlite struct {
	path    string
	file    *os.File // is closed after the pools: POSIX drops the locks that SQLite has on a file as soon as the process closes it anywhere
	writer  *sql.DB
	readers *sql.DB
	group   *group
	copier  *copier
}

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
	writer, err := openPool(ctx, path, 1, url.Values{"_txlock": {"immediate"}, "_foreign_keys": {"1"}, "_cache_size": {strconv.Itoa(-writerCache)}}, changes)
	if err != nil {
		return nil, err
	}
	// The readers come second: a read-only connection cannot make the file or its log.
	readers, err := openPool(ctx, path, sqliteReaders, url.Values{"mode": {"ro"}, "_query_only": {"1"}}, nil)
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	own, err := openPool(ctx, path, 1, nil, nil)
	if err != nil {
		return nil, errors.Join(err, readers.Close(), writer.Close())
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(err, own.Close(), readers.Close(), writer.Close())
	}
	return &sqlite{
		path: path, file: file, writer: writer, readers: readers,
		group: newGroup(writer, changes, cfg), copier: newCopier(own, writer, file, changes.some, cfg.Logger),
	}, nil
}

// createPrivate makes the file readable by its owner alone; the driver would follow the umask.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// openPool opens a pool of connections; changes, if there is any, is told what they change.
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
func (s *sqlite) reader() *sql.DB { return s.readers }

// check reads the database.
func (s *sqlite) check(ctx context.Context) error {
	_, err := s.readers.ExecContext(ctx, "SELECT 1 FROM sqlite_master LIMIT 1")
	return err
}

func (s *sqlite) pools() (*sql.DB, *pgxpool.Pool) { return s.writer, nil }

func (s *sqlite) write(ctx context.Context, fn func(*Tx) error) error { return s.group.write(ctx, fn) }

func (s *sqlite) close() error {
	s.group.close()
	err := errors.Join(s.copier.close(), s.readers.Close(), s.writer.Close())
	if again := s.file.Close(); !errors.Is(again, os.ErrClosed) {
		err = errors.Join(err, again)
	}
	return err
}

// isNoTransaction recognises SQLite's answer to a ROLLBACK after it rolled back by itself.
func isNoTransaction(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrError && strings.Contains(e.Error(), "no transaction is active")
}

// Backup writes a complete copy of one moment to path, which must not exist, and waits until the disk has it. Changes do not
// wait for it. On PostgreSQL use its own tools.
func (d *DB) Backup(ctx context.Context, path string) (err error) {
	s, ok := d.engine.(*sqlite)
	if !ok {
		return errors.New("backup: on PostgreSQL use pg_dump or its continuous archiving")
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("backup: %s exists already", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".backup-*") // for its owner alone, and with a name of its own until it is complete
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
	if err := os.Link(f.Name(), path); err != nil { // unlike a rename it replaces nothing that was made meanwhile
		return fmt.Errorf("backup: give the complete copy its name, for which the file system needs hard links: %w", err)
	}
	return syncDirectory(filepath.Dir(path))
}

// syncDirectory waits until the disk has the names in a directory.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}
