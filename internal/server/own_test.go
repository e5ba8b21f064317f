package server_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/worker"
)

// The error of an interrupted command is the interruption, not a request to stop every node.
func TestRunAloneEndsWithItsContext(t *testing.T) {
	url := dbtest.URL(t, "postgres")
	open := func() *db.DB {
		d, err := db.Open(t.Context(), db.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	}
	node, command := open(), open()
	lease := worker.PostgresLease{DB: node, Name: worker.LeaseName, Log: slog.New(slog.DiscardHandler)}
	err := lease.Hold(t.Context(), func(context.Context, *db.DB) error {
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		return server.RunAlone(ctx, command, url, func(context.Context, *db.DB) error {
			t.Error("ran while a node held the lease")
			return nil
		})
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got the error %v", err)
	}
}

// What root creates in a directory of another user belongs to that user, so that the user's server can open it.
func TestOwnKeepsTheOwnerOfTheDirectory(t *testing.T) {
	dir := t.TempDir()
	owner := os.Geteuid()
	if owner == 0 {
		owner = 4711
		if err := os.Chown(dir, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	database := filepath.Join(dir, "new", "data", "latchkey.db")
	for _, when := range []string{"without a database", "with a database"} {
		release, err := server.Own("sqlite:" + database)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		for _, path := range []string{filepath.Join(dir, "new"), filepath.Dir(database), database + ".lock"} {
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := st.Sys().(*syscall.Stat_t).Uid; int(got) != owner {
				t.Errorf("%s: %s belongs to user %d, want %d", when, path, got, owner)
			}
		}
		if err := release(); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(database, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(database, owner, -1); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOwnFollowsNoLinkInPlaceOfTheLock(t *testing.T) {
	dir := t.TempDir()
	database := filepath.Join(dir, "latchkey.db")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), database+".lock"); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Own("sqlite:" + database); err == nil {
		t.Error("the lock is a link, and was followed")
	}
}

// With hard links to files of other users, which a system may allow, the owner of the directory could have root give a file away.
func TestOwnGivesNoExistingFileAway(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 4711, 4711); err != nil {
			t.Fatal(err)
		}
	}
	database, victim := filepath.Join(dir, "latchkey.db"), filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(victim, database+".lock"); err != nil {
		t.Fatal(err)
	}
	release, err := server.Own("sqlite:" + database)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	st, err := os.Stat(victim)
	if err != nil {
		t.Fatal(err)
	}
	if got := st.Sys().(*syscall.Stat_t).Uid; int(got) != os.Geteuid() {
		t.Errorf("the file behind the link now belongs to user %d", got)
	}
}
