package db_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/pgtemp"
)

// startPair starts a primary and its standby, and opens the database on both. The database is closed and the servers are stopped when t
// ends.
func startPair(t *testing.T, cfg db.Config) (d *db.DB, primary, standby *pgtemp.Cluster) {
	t.Helper()
	primary, err := pgtemp.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if standby, err = primary.Standby(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []*pgtemp.Cluster{primary, standby} {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	cfg.URL, cfg.WriteTimeout = primary.URL("postgres", standby), time.Minute
	if d, err = db.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(primary.Thaw(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	if _, err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d, primary, standby
}

// awaitStorage waits until the database answers.
func awaitStorage(t *testing.T, d *db.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for err := d.Check(ctx); err != nil; err = d.Check(ctx) {
		if ctx.Err() != nil {
			t.Fatalf("the promoted server is not used: %v", err)
		}
	}
}

// A primary that hangs answers nothing and closes no connection. Waiting changes fail with an error that says so, and later
// changes are stored by the promoted standby.
func TestFailoverFromAHungPrimary(t *testing.T) {
	d, primary, standby := startPair(t, db.Config{CheckEvery: 250 * time.Millisecond})
	mustWrite(t, d, put("a"))

	hangs := make(chan struct{})
	waits := make(chan error, 1)
	go func() {
		waits <- d.Write(t.Context(), func(tx *db.Tx) error {
			if err := primary.Freeze(); err != nil {
				t.Error(err)
			}
			close(hangs)
			return put("b")(tx)
		})
	}()
	<-hangs
	wantUnavailable(t, "a change that waits for a hung server", <-waits, "cannot be reached")
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitStorage(t, d)
	mustWrite(t, d, put("c"))
	if ids := stored(t, d); len(ids) != 2 || ids[0] != "a" || ids[1] != "c" {
		t.Errorf("the promoted server has %v, want a and c", ids)
	}
}

// switches is a log that closes a channel when the watcher finds that the database moved.
type switches struct {
	slog.Handler
	moved func()
}

func (s switches) Enabled(context.Context, slog.Level) bool { return true }

func (s switches) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "the database moved") {
		s.moved()
	}
	return nil
}

// The pool finds the promoted standby before the watcher does. The watcher then closes the connections to the former primary, and a
// change that runs on the promoted server goes on.
func TestFailoverKeepsConnectionsToTheNewPrimary(t *testing.T) {
	moved := make(chan struct{})
	log := slog.New(switches{slog.DiscardHandler, sync.OnceFunc(func() { close(moved) })})
	d, primary, standby := startPair(t, db.Config{CheckEvery: 5 * time.Second, Logger: log})
	if err := errors.Join(primary.Stop(), standby.Promote(t.Context())); err != nil {
		t.Fatal(err)
	}
	awaitStorage(t, d)
	mustWrite(t, d, func(tx *db.Tx) error {
		if err := put("a")(tx); err != nil {
			return err
		}
		select {
		case <-moved:
		case <-tx.Context().Done():
		}
		return put("b")(tx)
	})
}
