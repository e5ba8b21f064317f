package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"latchkey.dev/internal/disk"
)

// Description describes the database of the installation.
type Description struct {
	Version   string // version of the database engine
	Bytes     int64  // size of the database
	Migration string // name of the newest applied migration
}

// Describe reads the engine's version, the size of the database, and its newest applied migration. It fails for a database that was never
// migrated.
func (d *DB) Describe(ctx context.Context) (i Description, err error) {
	version, bytes := "SELECT current_setting('server_version')", "SELECT pg_database_size(current_database())"
	if d.SQLite() {
		version, bytes = "SELECT sqlite_version()", "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
	}
	view := d.View(ctx)
	if _, err = view.ReadOne(version, nil, &i.Version); err == nil {
		_, err = view.ReadOne(bytes, nil, &i.Bytes)
	}
	if err == nil {
		_, err = view.ReadOne("SELECT name FROM schema_migrations ORDER BY number DESC LIMIT 1", nil, &i.Migration)
	}
	if err != nil {
		return Description{}, fmt.Errorf("describe the database: %w", err)
	}
	return i, nil
}

// CopyRecord describes the last copy of the database that [DB.Backup] made.
type CopyRecord struct {
	MadeAt time.Time `json:"madeAt"`
	Bytes  int64     `json:"bytes"`
	File   string    `json:"file"`
}

// copyNote is the suffix of the file next to the database that records the last copy. The record is not in the database, because the
// command that makes the copy must not write to a database that a server uses.
const copyNote = ".backup.json"

// recordCopy records the size and time of a complete copy in the file next to the database, for [DB.LastCopy].
func (s *sqlite) recordCopy(file string, at time.Time) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	note, err := json.Marshal(CopyRecord{MadeAt: at.UTC(), Bytes: info.Size(), File: file})
	if err != nil {
		return err
	}
	return disk.Replace(s.path+copyNote, note, s.path)
}

// LastCopy returns the last copy of the database. It returns false if none is known: on PostgreSQL, or if there was none.
func (d *DB) LastCopy() (c CopyRecord, found bool, err error) {
	s, ok := d.engine.(*sqlite)
	if !ok {
		return c, false, nil
	}
	note, err := os.ReadFile(s.path + copyNote)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err == nil {
		err = json.Unmarshal(note, &c)
	}
	if err != nil {
		return CopyRecord{}, false, fmt.Errorf("read when the last copy was made: %w", err)
	}
	return c, true, nil
}
