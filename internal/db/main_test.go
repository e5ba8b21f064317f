package db_test

import (
	"context"
	"encoding/binary"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashChild); dir != "" {
		writeUntilKilled(dir)
	}
	goleak.VerifyTestMain(m)
}

// put stores a secret, the model with the fewest fields.
func put(id string) func(*db.Tx) error {
	return func(tx *db.Tx) error {
		return tx.Secret.Create().SetID(id).SetSealed([]byte(id)).Exec(tx.Context())
	}
}

func stored(t *testing.T, d *db.DB) []string {
	t.Helper()
	ids, err := d.View(t.Context()).Secret.Query().Order(ent.Asc("id")).IDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func mustWrite(t *testing.T, d *db.DB, fn func(*db.Tx) error) {
	t.Helper()
	if err := d.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// add reads a counter and writes the value plus one: the count is wrong unless changes are serial.
func add(ctx context.Context, tx *db.Tx, id string) error {
	s, err := tx.Secret.Get(ctx, id)
	if err != nil {
		return err
	}
	n := binary.BigEndian.Uint64(s.Sealed)
	return tx.Secret.UpdateOneID(id).SetSealed(binary.BigEndian.AppendUint64(nil, n+1)).Exec(ctx)
}

// hold occupies SQLite's writer until release is called. release waits for the holder's own Write to return.
func hold(t *testing.T, d *db.DB) (release func()) {
	t.Helper()
	running, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	first := true
	go func() {
		done <- d.Write(context.Background(), func(*db.Tx) error {
			if first { // the closure runs again if the shared commit is lost
				close(running)
				first = false
			}
			<-free
			return nil
		})
	}()
	<-running
	return func() {
		close(free)
		if err := <-done; err != nil {
			t.Errorf("the holder's own change: %v", err)
		}
	}
}

// openWithShortTimeout opens an SQLite database whose changes time out after a second.
func openWithShortTimeout(t *testing.T) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(t, "sqlite"), WriteTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// awaitQueued waits until n callers are queued.
func awaitQueued(d *db.DB, n int) {
	for db.Waiting(d) < n {
		runtime.Gosched()
	}
}

const changed db.Topic = "test.changed"

// subscribe returns the keys of the topic changed that subscribers were notified of so far.
func subscribe(d *db.DB) func() []string {
	var mu sync.Mutex
	var keys []string
	d.Subscribe(changed, func(key string) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, key)
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(keys)
	}
}
