package agent

import (
	"sync"

	"go.etcd.io/bbolt"
)

// groupCommit combines concurrent changes of the store into one commit: the workers of many locks wait for the disk together. The first
// caller commits for all that wait, then hands over.
type groupCommit struct {
	db *bbolt.DB

	mu      sync.Mutex
	busy    bool
	waiting []*write
}

// write is one change. change may run more than once, and only its last run counts.
type write struct {
	change func(*bbolt.Tx) error
	done   chan error    // buffered, one
	turn   chan struct{} // buffered, one: this caller commits for all
}

// update stores a change durably, or returns why it did not.
func (w *groupCommit) update(change func(*bbolt.Tx) error) error {
	own := &write{change: change, done: make(chan error, 1), turn: make(chan struct{}, 1)}
	w.mu.Lock()
	w.waiting = append(w.waiting, own)
	if !w.busy {
		w.busy = true
		own.turn <- struct{}{}
	}
	w.mu.Unlock()
	select {
	case err := <-own.done:
		return err
	case <-own.turn:
	}
	defer w.handOver() // even if a change panics
	w.mu.Lock()
	all := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	w.commit(all)
	return <-own.done
}

// handOver lets the first of the waiting callers commit.
func (w *groupCommit) handOver() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy = len(w.waiting) > 0; w.busy {
		w.waiting[0].turn <- struct{}{}
	}
}

// commit stores changes in one commit, or each by itself if one of them fails.
func (w *groupCommit) commit(all []*write) {
	err := w.db.Update(func(tx *bbolt.Tx) error {
		for _, one := range all {
			if err := one.change(tx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, one := range all {
		if err != nil && len(all) > 1 {
			one.done <- w.db.Update(one.change)
			continue
		}
		one.done <- err
	}
}
