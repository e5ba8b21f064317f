package db_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"latchkey.dev/internal/db"
)

// backupOf makes a database with one row and a copy of it.
func backupOf(t *testing.T, dir string) (path, backup string) {
	t.Helper()
	path, backup = filepath.Join(dir, "latchkey.db"), filepath.Join(t.TempDir(), "copy.db")
	d, err := db.Open(t.Context(), db.Config{URL: "sqlite:" + path})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.EnsureSchema(t.Context()), d.Backup(t.Context(), backup), d.Close()); err != nil {
		t.Fatal(err)
	}
	return path, backup
}

// logOf changes a database and returns the log that a process leaves behind that is killed then.
func logOf(t *testing.T, path string) []byte {
	t.Helper()
	pool, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.ExecContext(t.Context(), "UPDATE schema_migrations SET name = 'changed'"); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err := errors.Join(err, pool.Close()); err != nil || len(log) == 0 {
		t.Fatalf("a log of %d bytes: %v", len(log), err)
	}
	return log
}

// A crash before the copy has its name leaves the former database, whole; if its log could not be merged, no database.
func TestInterruptedInstallLeavesNoDatabaseWithoutItsLog(t *testing.T) {
	for what, logLeft := range map[string]bool{"log merged": false, "log left": true} {
		t.Run(what, func(t *testing.T) {
			path, backup := backupOf(t, t.TempDir())
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var log []byte
			if logLeft {
				log = logOf(t, path)
				// SQLite cannot merge a log without its shared memory, in place of which is a directory.
				if err := errors.Join(os.WriteFile(path, content, 0o600), os.WriteFile(path+"-wal", log, 0o600), os.Mkdir(path+"-shm", 0o700)); err != nil {
					t.Fatal(err)
				}
			}
			crash := errors.New("crash")
			staged, err := db.Stage(t.Context(), backup, filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			db.FailRename(staged, crash)
			if _, err := staged.Install(t.Context(), path, time.Now()); !errors.Is(err, crash) || !strings.Contains(err.Error(), "kept as "+path+".before-restore-") {
				t.Errorf("the install: %v", err)
			}
			left, err := os.ReadFile(path)
			if logLeft && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a database is left without its log: %v", err)
			}
			if !logLeft && !bytes.Equal(left, content) {
				t.Errorf("the former database changed: %v", err)
			}
			if logLeft {
				keptLog, err := filepath.Glob(path + ".before-restore-*Z-wal")
				if err != nil || len(keptLog) != 1 {
					t.Fatalf("the former log: %v, %v", keptLog, err)
				}
				for name, want := range map[string][]byte{strings.TrimSuffix(keptLog[0], "-wal"): content, keptLog[0]: log} {
					if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
						t.Errorf("%s is not the former file: %v", name, err)
					}
				}
			}
			// The next attempt succeeds.
			if err := staged.Discard(); err != nil {
				t.Fatal(err)
			}
			if staged, err = db.Stage(t.Context(), backup, filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
			if _, err := staged.Install(t.Context(), path, time.Now().Add(time.Second)); err != nil {
				t.Fatal(err)
			}
			d, err := db.Open(t.Context(), db.Config{URL: "sqlite:" + path})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(d.EnsureSchema(t.Context()), d.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCopyOfAnUnreleasedVersion(t *testing.T) {
	path, backup := backupOf(t, t.TempDir())
	pool, err := sql.Open("sqlite3", "file:"+backup)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pool.ExecContext(t.Context(), "UPDATE schema_migrations SET checksum = 'x'")
	if err := errors.Join(err, pool.Close()); err != nil {
		t.Fatal(err)
	}
	staged, err := db.Stage(t.Context(), backup, filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := staged.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "made by an unreleased version") {
		t.Errorf("the check: %v", err)
	}
	if err := staged.Discard(); err != nil {
		t.Error(err)
	}
}

// The owner of the directory replaces the copy with a link to a file of root, before root installs the copy.
func TestRestoreByRootChangesNoFileBehindALink(t *testing.T) {
	dir := t.TempDir()
	owner := os.Geteuid()
	if owner == 0 {
		owner = 4711
		if err := os.Chown(dir, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	_, backup := backupOf(t, t.TempDir())
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	staged, err := db.Stage(t.Context(), backup, dir)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, ".restore-*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("staged copies: %v, %v", names, err)
	}
	if got := ownerOf(t, names[0]); got != owner {
		t.Errorf("the copy belongs to user %d, want %d", got, owner)
	}
	if err := errors.Join(os.Remove(names[0]), os.Symlink(victim, names[0])); err != nil {
		t.Fatal(err)
	}
	if _, err := staged.Install(t.Context(), filepath.Join(dir, "latchkey.db"), time.Now()); err != nil {
		t.Logf("the install fails: %v", err)
	}
	if got := ownerOf(t, victim); got != os.Geteuid() {
		t.Errorf("the file behind the link now belongs to user %d", got)
	}
}

func ownerOf(t *testing.T, path string) int {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(st.Sys().(*syscall.Stat_t).Uid)
}
