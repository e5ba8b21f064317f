package agent

import (
	"runtime"
	"sync"

	"go.etcd.io/bbolt"
)

// groupCommit combines concurrent changes of the store into one commit, because each commit waits for the disk. The first caller commits
// for all waiting callers. If a change fails, each is committed separately, so that the failure affects no other.
type groupCommit struct {
	db *bbolt.DB

	mu      sync.Mutex
	busy    bool     // a caller commits, or has its turn to
	waiting []*write // changes for the next commit
}

// write is one change of the store. Its function may run more than once; only the last run counts.
type write struct {
	change func(*bbolt.Tx) error
	done   chan error    // receives the result once, when the change is stored or has failed
	turn   chan struct{} // receives a signal if this caller must commit for all waiting callers
}

// update runs change in a transaction of the store, possibly twice: only the last run counts, so change must set its results in each run.
// It returns nil when the change is on the disk. After an error, such as that of change, nothing of this change is stored. Concurrent calls
// share one commit.
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
	defer w.handOver() // deferred, so that the next caller commits even if a change panics
	runtime.Gosched()  // callers that are about to wait share this commit: a check-in changes the locks of several doors at once
	w.mu.Lock()
	all := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	w.commit(all)
	return <-own.done
}

// handOver ends the turn of the caller that has committed. The first caller that has waited meanwhile commits next.
func (w *groupCommit) handOver() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy = len(w.waiting) > 0; w.busy {
		w.waiting[0].turn <- struct{}{}
	}
}

// commit stores the changes of all waiting callers in one commit and sends each its result. If one change fails, each is committed
// separately.
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
