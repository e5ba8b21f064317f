package db

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

const (
	// logPages is how long the write-ahead log grows, in pages of 4 KiB, before it is copied into the file. A page that is
	// written often is then copied once for many times; the price is a log that is read again after a crash.
	logPages = 8192
	// logMost is where the writer copies it itself, because the copier does not keep up.
	logMost = 8 * logPages
	// logRest is so little that the writer may be stopped for it.
	logRest = 512
	// logLook is the least time between two looks at the length.
	logLook = 20 * time.Millisecond
)

// copier copies the write-ahead log into the file beside the writer, which would stand still for it: thousands of pages far
// apart, and two waits for the disk. The last few pages are the writer's own, between two of its transactions: the log
// begins anew only when all of it was copied.
type copier struct {
	conn   *sql.DB // its own
	writer *sql.DB
	file   *os.File // the database; see sync
	log    *slog.Logger
	pages  atomic.Int64 // the length from which it is copied
	grown  chan struct{}
	done   chan struct{}
	stop   context.CancelFunc
}

func newCopier(conn, writer *sql.DB, file *os.File, grown chan struct{}, log *slog.Logger) *copier {
	c := &copier{conn: conn, writer: writer, file: file, log: log, grown: grown, done: make(chan struct{})}
	c.pages.Store(logPages)
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go c.loop(ctx)
	return c
}

func (c *copier) close() error {
	c.stop()
	<-c.done
	return c.conn.Close()
}

// loop looks at the log's length after changes.
func (c *copier) loop(ctx context.Context) {
	defer close(c.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-c.grown:
		}
		if err := c.copy(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("the write-ahead log was not copied; the writer will do it", "error", err)
		}
		timer.Reset(logLook)
	}
}

// copy copies the log if it is long.
func (c *copier) copy(ctx context.Context) error {
	left, err := c.left(ctx)
	if err != nil || int64(left) < c.pages.Load() {
		return err
	}
	for before := left + 1; left > logRest && left < before; {
		before = left
		if err := errors.Join(checkpoint(ctx, c.conn), c.sync()); err != nil {
			return err
		}
		if left, err = c.left(ctx); err != nil {
			return err
		}
	}
	return checkpoint(ctx, c.writer)
}

// sync waits until the disk has what was copied. SQLite does so once the last page is copied, which the writer would wait
// for; then there is little left to wait for.
func (c *copier) sync() error { return c.file.Sync() }

// left is how many pages of the log were not copied yet.
func (c *copier) left(ctx context.Context) (int, error) {
	var busy, length, copied int
	err := c.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &length, &copied)
	return max(length-copied, 0), err
}

// checkpoint copies what it can of the log without waiting for anybody.
func checkpoint(ctx context.Context, conn *sql.DB) error {
	_, err := conn.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	return err
}
