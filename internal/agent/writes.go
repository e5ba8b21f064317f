package agent

import (
	"sync"

	"go.etcd.io/bbolt"
)

// writes has changes of the store that come at the same time share a commit: the owners of many locks wait for the disk
// together. Whoever finds nobody at it stores for all that wait, then hands over.
type writes struct {
	db *bbolt.DB

	mu      sync.Mutex
	busy    bool
	waiting []*write
}

// write is one change; change may run more than once, and what it sets outside counts from its last run.
type write struct {
	change func(*bbolt.Tx) error
	done   chan error    // of one
	turn   chan struct{} // of one: it is this one's to store for all
}

// do stores a change durably, or answers why nothing of it was.
func (w *writes) do(change func(*bbolt.Tx) error) error {
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
	defer w.next() // also when a change panics
	w.mu.Lock()
	all := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	w.store(all)
	return <-own.done
}

// next lets the first of those who came meanwhile store.
func (w *writes) next() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy = len(w.waiting) > 0; w.busy {
		w.waiting[0].turn <- struct{}{}
	}
}

// store stores changes in one commit, or each by itself if one of them fails.
func (w *writes) store(all []*write) {
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
