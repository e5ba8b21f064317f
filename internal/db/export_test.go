package db

import (
	"testing"
	"time"
)

// ErrComputes is what Write answers in tests if a closure computes for too long.
var ErrComputes = errComputes

// ThreadTime is the CPU time of the calling thread.
func ThreadTime() time.Duration { return threadTime() }

// LogMost is where the writer copies the log itself.
const LogMost = logMost

// Waiting is how many callers stand in SQLite's line.
func Waiting(d *DB) int { return len(d.engine.(*sqlite).group.queue) }

// CopyFrom has the log copied from so many pages on.
func CopyFrom(d *DB, pages int64) { d.engine.(*sqlite).copier.pages.Store(pages) }

// LogLength is how many pages the write-ahead log has.
func LogLength(t *testing.T, d *DB) (pages int) {
	t.Helper()
	var busy, copied int
	if err := d.engine.reader().QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &pages, &copied); err != nil {
		t.Fatal(err)
	}
	return pages
}
