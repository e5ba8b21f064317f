package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/disk"
	"latchkey.dev/internal/worker"
)

// Own locks an embedded database for this process until release is called or the process ends. It fails at once if another process, or an
// earlier call in this one, has the lock, and creates the directory of the database. A server holds the lock while it runs, and so do
// commands that must not run at the same time as a server. Reading and copying need no lock. On PostgreSQL, which several servers can
// share, Own does nothing.
func Own(databaseURL string) (release func() error, err error) {
	path, ok := strings.CutPrefix(databaseURL, "sqlite:")
	if !ok {
		return func() error { return nil }, nil
	}
	path = strings.TrimPrefix(path, "//")
	if err := makeDirectory(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("make the directory of the database: %w", err)
	}
	// Resolve links, so that each database has one lock file.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f, err := openLockFile(path)
	if err != nil {
		return nil, fmt.Errorf("lock the database: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("the database %s is in use by another Latchkey process: stop that first", path)
	} else if err != nil {
		err = fmt.Errorf("lock the database with %s: %w", f.Name(), err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// openLockFile opens or creates the lock file of a database and gives a new file the owner of the database, or of its directory while there
// is no database. An existing file keeps its owner, because it could be a hard link to a file of root. A symbolic link is an error.
func openLockFile(database string) (*os.File, error) {
	path := database + ".lock"
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		return nil, err
	}
	like := database
	if _, err := os.Stat(database); errors.Is(err, os.ErrNotExist) {
		like = filepath.Dir(database)
	}
	if err := disk.InheritOwner(f, like); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// makeDirectory creates a directory and its missing parents. Each new directory gets the owner of its parent.
func makeDirectory(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if err := makeDirectory(parent); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil
		}
		return err
	}
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(disk.InheritOwner(dir, parent), dir.Close())
}

// leaseWait is how long [RunAlone] waits for the lease before it reports that a server runs. A crashed server's lease expires after 15 s.
const leaseWait = 20 * time.Second

// RunAlone runs f while no server uses the database, and returns an error if one does. On SQLite it holds the lock of Own. On PostgreSQL it
// waits up to leaseWait for the lease of the nodes, and f gets a handle that stores nothing once the lease is lost.
func RunAlone(ctx context.Context, d *db.DB, url string, f func(context.Context, *db.DB) error) error {
	if d.SQLite() {
		release, err := Own(url)
		if err != nil {
			return err
		}
		return errors.Join(f(ctx, d), release())
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(leaseWait, cancel)
	ran, err := false, error(nil)
	held := worker.PostgresLease{DB: d, Name: worker.LeaseName, Log: slog.New(slog.DiscardHandler)}.Hold(waiting, func(ctx context.Context, held *db.DB) error {
		if late.Stop() {
			ran, err = true, f(ctx, held)
		}
		cancel()
		return nil
	})
	if !ran && held == nil {
		err = whyNotAlone(ctx, d)
	}
	return errors.Join(err, held)
}

// whyNotAlone returns why this process did not get the lease of the nodes in time: ctx ended, the database does not answer, or else a
// server uses it.
func whyNotAlone(ctx context.Context, d *db.DB) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	conn, err := d.Connect(ctx)
	if err != nil {
		return fmt.Errorf("find out if a server is using this database: %w", err)
	}
	return errors.Join(errors.New("a server is using this database: stop every node first"), conn.Close(ctx))
}
