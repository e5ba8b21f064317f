package db

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"latchkey.dev/ent/migrate"
)

// ErrComputes is the error of Write in tests if a closure computes for too long.
var ErrComputes = errComputes

// ThreadTime returns the CPU time of the calling thread.
func ThreadTime() time.Duration { return threadTime() }

// LogMax is the length of the log at which the writer itself runs a checkpoint.
const LogMax = logMax

// Waiting counts the callers that wait for SQLite's writer.
func Waiting(d *DB) int { return len(d.engine.(*sqlite).group.queue) }

// ShareSlowCommits lets changes share a commit however slow the machine is. The writer must be idle.
func ShareSlowCommits(d *DB) { d.engine.(*sqlite).group.span = time.Hour }

// CheckpointFrom sets the length of the log, in pages, from which the checkpointer copies it.
func CheckpointFrom(d *DB, pages int64) { d.engine.(*sqlite).checkpointer.pages.Store(pages) }

// LogLength returns the number of pages in the write-ahead log.
func LogLength(t *testing.T, d *DB) (pages int) {
	t.Helper()
	var busy, copied int
	if err := d.engine.reader().QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &pages, &copied); err != nil {
		t.Fatal(err)
	}
	return pages
}

// ProbeNow makes the next Check probe, however recent the last probe was.
func ProbeNow(d *DB) { d.storageState.probed = time.Time{} }

// URL returns the address at which a database was opened.
func URL(d *DB) string { return d.cfg.URL }

// FillDisk stops SQLite's file from growing, as a full disk does.
func FillDisk(t *testing.T, d *DB) { limitPages(t, d, 1) }

// MakeRoom removes the limit of FillDisk.
func MakeRoom(t *testing.T, d *DB) { limitPages(t, d, 1<<30) }

// limitPages limits the size of SQLite's file, at least to its present size.
func limitPages(t *testing.T, d *DB, pages int) {
	t.Helper()
	if _, err := d.engine.(*sqlite).writer.ExecContext(t.Context(), fmt.Sprint("PRAGMA max_page_count = ", pages)); err != nil {
		t.Fatal(err)
	}
}

// FailRename makes Install fail where it renames the copy: the files are then as a crash there leaves them.
func FailRename(c *Copy, err error) { c.rename = func(string, string) error { return err } }

// MigrateTo applies the first migrations only.
func MigrateTo(t *testing.T, d *DB, number int) {
	t.Helper()
	available, err := migrations(migrate.Files, migrate.Folder(d.Dialect()))
	if err == nil {
		err = d.engine.alter(t.Context(), func(tx *sql.Tx) error {
			_, err := apply(t.Context(), tx, d.Dialect(), available[:number], time.Now())
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}
