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
	// logPages is the length of the write-ahead log, in pages of 4 KiB, at which the checkpointer copies it into the database file. A long
	// log combines many changes of the same page into one copy; its price is a longer recovery after a crash.
	logPages = 8192
	// logMax is the length, in pages, at which the writer itself runs a checkpoint, because the checkpointer does not keep up.
	logMax = 8 * logPages
	// logRemainder is the number of pages down to which the checkpointer copies the log by itself. It leaves the rest to the last copy, for
	// which the writer waits. More are left if a round made no progress, because of a busy writer or a long read.
	logRemainder = 512
	// logCheckInterval is the shortest time between two checks of the length of the log.
	logCheckInterval = 20 * time.Millisecond
)

// checkpointer copies the write-ahead log into the database file, so that the writer does not wait for thousands of scattered
// pages and two syncs of the disk. The last few pages are copied between two transactions of the writer: SQLite restarts the
// log only when all of it was copied.
type checkpointer struct {
	conn   *sql.DB // conn is used by the checkpointer only
	writer *sql.DB
	file   *os.File // file is the database file, which sync flushes to disk
	log    *slog.Logger
	pages  atomic.Int64  // pages is the length of the log at which a checkpoint begins: logPages, except in tests
	grown  chan struct{} // grown signals that rows have changed, so that the log may be longer
	done   chan struct{}
	stop   context.CancelFunc
}

// newCheckpointer starts a checkpointer for the database in file; close must stop it. conn is its own connection, writer is the writer's.
// Each value from grown signals that the log may be longer.
func newCheckpointer(conn, writer *sql.DB, file *os.File, grown chan struct{}, log *slog.Logger) *checkpointer {
	c := &checkpointer{conn: conn, writer: writer, file: file, log: log, grown: grown, done: make(chan struct{})}
	c.pages.Store(logPages)
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go c.loop(ctx)
	return c
}

// close stops the checkpointer, waits until it has returned, and closes its own connection. The writer's connection and the file stay open.
func (c *checkpointer) close() error {
	c.stop()
	<-c.done
	return c.conn.Close()
}

// loop calls checkpointIfLong after changes, with a pause after each call, until ctx ends.
func (c *checkpointer) loop(ctx context.Context) {
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
		if err := c.checkpointIfLong(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("the checkpoint of the write-ahead log failed; the writer will retry it", "error", err)
		}
		timer.Reset(logCheckInterval)
	}
}

// checkpointIfLong copies the write-ahead log into the database file if at least logPages of its pages are not copied yet. It copies the
// last few on the writer's connection.
func (c *checkpointer) checkpointIfLong(ctx context.Context) error {
	left, err := c.pagesLeft(ctx)
	if err != nil || int64(left) < c.pages.Load() {
		return err
	}
	for before := left + 1; left > logRemainder && left < before; {
		before = left
		if err := errors.Join(checkpoint(ctx, c.conn), c.sync()); err != nil {
			return err
		}
		if left, err = c.pagesLeft(ctx); err != nil {
			return err
		}
	}
	return checkpoint(ctx, c.writer)
}

// sync waits until the copied pages are on disk. Otherwise SQLite would wait for the disk when it copies the last page, and the writer
// with it.
func (c *checkpointer) sync() error { return c.file.Sync() }

// pagesLeft counts the pages of the log that are not copied yet.
func (c *checkpointer) pagesLeft(ctx context.Context) (int, error) {
	var busy, length, copied int
	err := c.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &length, &copied)
	return max(length-copied, 0), err
}

// checkpoint copies as much of the log as possible without waiting for other connections.
func checkpoint(ctx context.Context, conn *sql.DB) error {
	_, err := conn.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	return err
}
