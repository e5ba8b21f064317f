package db

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"

	"latchkey.dev/internal/clock"
)

const (
	groupMax  = 128                   // changes that share a commit
	groupSpan = 20 * time.Millisecond // no further change joins a commit after this
)

// group is SQLite's writer: callers that wait at the same time share one transaction
// and one commit, each behind a savepoint of its own. One goroutine owns the
// transaction; each closure runs on its caller's goroutine when it is given its turn,
// so that a panic stays with the caller who caused it.
type group struct {
	pool    *sql.DB
	changes *changes
	timeout time.Duration
	clock   clock.Clock
	log     *slog.Logger

	mu     sync.RWMutex // guards closed against a send on the closed queue
	closed bool
	queue  chan *ticket
	done   chan struct{}
}

const (
	waiting int32 = iota
	started
	gone // the caller left: cancelled before its turn, or panicked in it
)

// ticket is one caller of Write.
type ticket struct {
	ctx   context.Context
	fn    func(*Tx) error
	state atomic.Int32
	turn  chan *sql.Tx  // writer → caller: run now, in this transaction
	ran   chan struct{} // caller → writer: fn has returned or panicked
	final chan error    // writer → caller: the outcome
	err   error         // of the last run
	tx    *Tx           // of the last run
}

func newGroup(pool *sql.DB, changes *changes, cfg Config) *group {
	g := &group{
		pool: pool, changes: changes, timeout: cfg.WriteTimeout, clock: cfg.Clock, log: cfg.Logger,
		queue: make(chan *ticket, cfg.QueueSize), done: make(chan struct{}),
	}
	go g.loop()
	return g
}

func (g *group) write(ctx context.Context, fn func(*Tx) error) error {
	t := &ticket{ctx: ctx, fn: fn, turn: make(chan *sql.Tx, 1), ran: make(chan struct{}, 1), final: make(chan error, 1)}
	if err := g.enqueue(t); err != nil {
		return err
	}
	cancelled := ctx.Done()
	for {
		select {
		case tx := <-t.turn:
			g.run(t, tx)
		case err := <-t.final:
			if err == nil {
				t.tx.runAfter()
			}
			return err
		case <-cancelled:
			if t.state.CompareAndSwap(waiting, gone) {
				return ctx.Err()
			}
			cancelled = nil
		}
	}
}

func (g *group) enqueue(t *ticket) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.closed {
		return ErrClosed
	}
	select {
	case g.queue <- t:
		return nil
	default:
		return errBusy
	}
}

// run is the caller's side of a turn.
func (g *group) run(t *ticket, tx *sql.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), g.timeout)
	defer cancel()
	t.tx = newTx(ctx, dialect.SQLite, tx, g.clock.Now(), g.changes)
	returned := false
	defer func() {
		if !returned { // a panic or runtime.Goexit passes through us to the caller
			t.state.Store(gone)
		}
		t.ran <- struct{}{}
	}()
	t.err = t.tx.run(t.fn)
	returned = true
}

func (g *group) loop() {
	defer close(g.done)
	for t := range g.queue {
		g.batch(t)
	}
}

// batch runs first and whoever else waits in one transaction and tells each the outcome.
func (g *group) batch(first *ticket) {
	if !first.state.CompareAndSwap(waiting, started) {
		return
	}
	members, err := g.shared(first)
	if err == nil {
		for _, t := range members {
			t.final <- t.err
		}
		return
	}
	g.changes.undo()
	if len(members) > 1 {
		g.log.Warn("shared commit failed; its changes run again one by one", "changes", len(members), "error", err)
	}
	for _, t := range members {
		g.alone(t, err)
	}
}

// shared runs tickets until none waits, then commits. An error means that nothing of it is stored. The first needs no
// savepoint: where it fails there is nothing else to keep.
func (g *group) shared(first *ticket) ([]*ticket, error) {
	members := []*ticket{first}
	tx, err := g.pool.Begin()
	if err != nil {
		return members, err
	}
	g.changes.begin(tx)
	begun := time.Now()
	if g.turn(tx, first) {
		g.changes.undo()
		return members, rollback(tx)
	}
	for t := g.next(1, begun); t != nil; t = g.next(len(members), begun) {
		members = append(members, t)
		if err := g.guarded(tx, t); err != nil {
			return members, errors.Join(err, rollback(tx))
		}
	}
	return members, tx.Commit()
}

// turn has t run in tx, and says whether that failed.
func (g *group) turn(tx *sql.Tx, t *ticket) (failed bool) {
	t.turn <- tx
	<-t.ran
	return t.err != nil || t.state.Load() == gone
}

// next is the next ticket whose caller is still there. It waits for none, but lets callers that could run at once come
// as far as the queue: a commit for more of them costs each less.
func (g *group) next(have int, begun time.Time) *ticket {
	yielded := false
	for have < groupMax && time.Since(begun) < groupSpan {
		select {
		case t, ok := <-g.queue:
			if !ok {
				return nil
			}
			if t.state.CompareAndSwap(waiting, started) {
				return t
			}
		default:
			if yielded {
				return nil
			}
			yielded = true
			runtime.Gosched()
		}
	}
	return nil
}

// guarded gives t its turn behind a savepoint. An error means that the transaction is
// lost: SQLite rolls all of it back by itself when a statement is interrupted or the
// disk fails, and the savepoint is gone with it.
func (g *group) guarded(tx *sql.Tx, t *ticket) error {
	if _, err := tx.Exec("SAVEPOINT change"); err != nil {
		return err
	}
	if g.turn(tx, t) {
		g.changes.undo()
		if _, err := tx.Exec("ROLLBACK TO change"); err != nil {
			return err
		}
	}
	_, err := tx.Exec("RELEASE change")
	return err
}

// alone runs t in a transaction of its own, after the shared one was lost for reason.
func (g *group) alone(t *ticket, reason error) {
	if t.state.Load() == gone {
		return
	}
	if err := t.ctx.Err(); err != nil {
		t.final <- err
		return
	}
	tx, err := g.pool.Begin()
	if err != nil {
		t.final <- errors.Join(err, reason)
		return
	}
	g.changes.begin(tx)
	t.err = nil
	if !g.turn(tx, t) {
		t.final <- tx.Commit()
		return
	}
	_ = rollback(tx)
	if t.state.Load() != gone {
		t.final <- t.err
	}
}

// rollback ends tx; that SQLite has done so already is no error.
func rollback(tx *sql.Tx) error {
	err := tx.Rollback()
	if errors.Is(err, sql.ErrTxDone) || (err != nil && isNoTransaction(err)) {
		return nil
	}
	return err
}

// close lets the queue run dry and ends the writer.
func (g *group) close() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.queue)
	}
	g.mu.Unlock()
	<-g.done
}
