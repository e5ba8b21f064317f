package db

import (
	"fmt"
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

// ProbeNow lets the next Check probe, however short ago the last probe was.
func ProbeNow(d *DB) { d.trouble.probed = time.Time{} }

// URL is the address that a database was opened at.
func URL(d *DB) string { return d.cfg.URL }

// FillDisk lets SQLite's file grow no more, as a full disk does.
func FillDisk(t *testing.T, d *DB) { limitPages(t, d, 1) }

// MakeRoom takes the limit of FillDisk away.
func MakeRoom(t *testing.T, d *DB) { limitPages(t, d, 1<<30) }

// limitPages limits the size of SQLite's file. It never becomes smaller than what is used.
func limitPages(t *testing.T, d *DB, pages int) {
	t.Helper()
	if _, err := d.engine.(*sqlite).writer.ExecContext(t.Context(), fmt.Sprint("PRAGMA max_page_count = ", pages)); err != nil {
		t.Fatal(err)
	}
}
