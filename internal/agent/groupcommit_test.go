package agent

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"go.etcd.io/bbolt"
)

// Changes that wait for the disk at the same time share its next commit, and one that fails does not affect the others.
func TestWaitingChangesShareACommit(t *testing.T) {
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "store"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	w := groupCommit{db: db}
	put := func(key string) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			if err != nil {
				return err
			}
			return b.Put([]byte(key), []byte("v"))
		}
	}
	wrong := errors.New("wrong")
	began, proceed := make(chan struct{}), make(chan struct{})
	results := make([]error, 4)
	var all sync.WaitGroup
	all.Go(func() {
		results[0] = w.update(func(tx *bbolt.Tx) error { close(began); <-proceed; return put("first")(tx) })
	})
	<-began
	changes := []func(*bbolt.Tx) error{put("a"), func(*bbolt.Tx) error { return wrong }, put("b")}
	for i, change := range changes {
		all.Go(func() { results[i+1] = w.update(change) })
	}
	waiting := func() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.waiting) }
	for waiting() < len(changes) {
		runtime.Gosched()
	}
	close(proceed)
	all.Wait()
	for i, want := range []error{nil, nil, wrong, nil} {
		if !errors.Is(results[i], want) {
			t.Errorf("change %d: %v, want %v", i, results[i], want)
		}
	}
	err = db.View(func(tx *bbolt.Tx) error {
		for _, key := range []string{"first", "a", "b"} {
			if tx.Bucket([]byte("b")).Get([]byte(key)) == nil {
				t.Errorf("%s is not stored", key)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if w.busy || len(w.waiting) != 0 {
		t.Error("a write is still running")
	}
}

// If no change fails, all waiting callers share one commit.
func TestWaitingChangesAreCommittedTogether(t *testing.T) {
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "store"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	w := groupCommit{db: db}
	ids := map[int]bool{}
	note := func(tx *bbolt.Tx) error { ids[tx.ID()] = true; return nil }
	began, proceed := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_ = w.update(func(tx *bbolt.Tx) error { close(began); <-proceed; return note(tx) })
	})
	<-began
	for range 10 {
		all.Go(func() { _ = w.update(note) })
	}
	waiting := func() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.waiting) }
	for waiting() < 10 {
		runtime.Gosched()
	}
	close(proceed)
	all.Wait()
	if len(ids) != 2 {
		t.Errorf("%d commits for one change and ten that waited, want 2", len(ids))
	}
}
