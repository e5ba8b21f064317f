package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"latchkey.dev/ent/migrate"
	"latchkey.dev/internal/disk"
)

// Copy is a copy of an SQLite database, opened read-only for a restore.
type Copy struct {
	path   string
	conn   *sql.DB
	rename func(from, to string) error // rename is os.Rename, except in tests
}

// SQLitePath returns the file of an SQLite database. If it exists, symbolic links are resolved. ok is false for the URL of another engine.
func SQLitePath(databaseURL string) (path string, ok bool) {
	if path, ok = strings.CutPrefix(databaseURL, "sqlite:"); !ok {
		return "", false
	}
	path = strings.TrimPrefix(path, "//")
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path, true
}

// Stage copies a backup file into a directory under a temporary name, and opens the synced copy. If root runs it, the owner of the
// directory owns the copy. Discard removes it. Stage fails unless the file is an SQLite database with an empty or no write-ahead log.
func Stage(ctx context.Context, file, dir string) (_ *Copy, err error) {
	from, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	magic := make([]byte, len(sqliteMagic))
	if _, err := io.ReadFull(from, magic); err != nil || string(magic) != sqliteMagic {
		return nil, fmt.Errorf("%s is not an SQLite database", file)
	}
	if st, err := os.Stat(file + "-wal"); err == nil && st.Size() > 0 {
		return nil, fmt.Errorf("%s-wal holds changes that %s lacks: copy the database with latchkey backup instead", file, file)
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	to, err := os.CreateTemp(dir, ".restore-*") // only the owner can read the file
	if err != nil {
		return nil, err
	}
	c := &Copy{path: to.Name(), rename: os.Rename}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, disk.InheritOwner(to, dir), to.Sync(), to.Close()); err == nil {
		c.conn, err = sql.Open("sqlite3", "file:"+(&url.URL{Path: c.path}).EscapedPath()+"?mode=ro&immutable=1")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy %s: %w", file, err), c.Discard())
	}
	return c, nil
}

const sqliteMagic = "SQLite format 3\x00"

// Discard closes and removes the copy, unless Install has moved it.
func (c *Copy) Discard() error {
	var err error
	if c.conn != nil {
		err = c.conn.Close()
	}
	if gone := os.Remove(c.path); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// Check reads the whole copy, and returns the names of the migrations that it lacks, which only a later migration adds; none if it is
// current. A damaged copy, or one that this program cannot use, is an error.
func (c *Copy) Check(ctx context.Context) (lacks []string, err error) {
	var result string
	if err := c.conn.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result); err != nil {
		return nil, fmt.Errorf("the file is damaged or cut short: %w", err)
	}
	if result != "ok" {
		return nil, fmt.Errorf("the file is damaged or cut short: %s", strings.ReplaceAll(result, "\n", " "))
	}
	wanted, err := migrations(migrate.Files, migrate.Folder(dialect.SQLite))
	if err != nil {
		return nil, err
	}
	applied, err := appliedChecksums(ctx, c.conn)
	if err != nil || len(applied) == 0 {
		return nil, errors.New("the file is an SQLite database, but not of Latchkey")
	}
	todo, err := pending(wanted, applied)
	if errors.Is(err, errMigrationChanged) {
		return nil, errors.New("the file was made by an unreleased version of Latchkey, which has another schema; only that version can restore it")
	}
	if err != nil {
		return nil, err
	}
	for _, m := range todo {
		lacks = append(lacks, m.name)
	}
	return lacks, nil
}

// KeyIDs implements keyring.Reader: it lists the ids of the data keys in the copy.
func (c *Copy) KeyIDs(ctx context.Context) (ids []string, err error) {
	rows, err := c.conn.QueryContext(ctx, "SELECT id FROM property_keys ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// LoadKey implements keyring.Reader: it returns the sealed data key with an id from the copy, or nil if there is none.
func (c *Copy) LoadKey(ctx context.Context, id string) (sealed []byte, err error) {
	err = c.conn.QueryRowContext(ctx, "SELECT sealed FROM property_keys WHERE id = ?", id).Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return sealed, err
}

// Install moves the copy to path, in the same directory, in place of the database there, which no process may have open. It keeps the
// former database under the returned name; "" means that there was none. A crash leaves the former database or the copy. If the log of
// the former database cannot be merged, a crash may leave no database at path, but never one without its log.
func (c *Copy) Install(ctx context.Context, path string, now time.Time) (former string, err error) {
	if err := c.conn.Close(); err != nil {
		return "", err
	}
	c.conn = nil
	merged, err := mergeLog(ctx, path)
	if err != nil {
		return "", err
	}
	if former, err = keepFormer(path, path+".before-restore-"+now.UTC().Format("20060102T150405.000Z")); err != nil {
		return "", err
	}
	if !merged && former != "" {
		if err := errors.Join(os.Remove(path), disk.SyncDir(filepath.Dir(path))); err != nil {
			return "", err
		}
	}
	// The log of the former database must not be applied to the new one.
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	if err := c.rename(c.path, path); err != nil {
		if former != "" {
			err = fmt.Errorf("%w; the former database is kept as %s", err, former)
		}
		return "", err
	}
	return former, disk.SyncDir(filepath.Dir(path))
}

// keepFormer gives the database at path and its write-ahead log a second name by hard links, and returns that name, or "" if there is no
// database.
func keepFormer(path, name string) (former string, err error) {
	for _, suffix := range []string{"", "-wal"} {
		err := os.Link(path+suffix, name+suffix)
		switch {
		case errors.Is(err, os.ErrNotExist) && suffix == "":
			return "", nil
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return "", fmt.Errorf("keep the former database, for which the file system needs hard links: %w", err)
		}
	}
	return name, disk.SyncDir(filepath.Dir(path))
}

// mergeLog copies the write-ahead log of a database into its file, and reports whether the file alone is now the whole database, also if
// there is no log or no database. A log that cannot be merged stays unchanged.
func mergeLog(ctx context.Context, path string) (merged bool, err error) {
	if _, err := os.Stat(path); err == nil {
		// A failure here leaves a log, which is checked below.
		if pool, err := openPool(ctx, path, 1, nil, nil); err == nil {
			_, _ = pool.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
			_ = pool.Close()
		}
	}
	st, err := os.Stat(path + "-wal")
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	return err == nil && st.Size() == 0, err
}
