package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"

	"latchkey.dev/internal/clock"
)

const (
	groupMax  = 128                   // the most changes that share a commit
	groupSpan = 20 * time.Millisecond // the time after which no further change joins a commit
	// groupYields is how often the writer yields the processor before it commits, so that callers that are about to queue a change share the
	// commit. In the ingest bench, 3 make 5 % more changes a second than 1; 10 and 40 are not better than 3.
	groupYields = 3
)

// group is the writer of SQLite: callers that wait at the same time share one transaction and one commit. One goroutine owns
// the transaction and runs the closures of all callers, one after the other, because waking each caller for its turn takes more CPU than a
// statement. If a closure panics or calls runtime.Goexit, that continues in its caller.
type group struct {
	pool    *sql.DB
	changes *changes
	timeout time.Duration
	span    time.Duration // span is groupSpan, except in tests
	clock   clock.Clock
	log     *slog.Logger

	mu     sync.RWMutex // mu guards closed, so that no caller sends on the closed queue
	closed bool
	queue  chan *ticket
	done   chan struct{}

	batch []*ticket // batch are the tickets of the present transaction. Only the writer's goroutine uses it
}

const (
	// Values of ticket.state.
	waiting int32 = iota
	started
	gone // the caller was cancelled before its turn, or has its outcome
)

// ticket is one waiting call of Write.
type ticket struct {
	ctx   context.Context
	fn    func(*Tx) error
	state atomic.Int32
	final chan outcome // final sends the caller its only outcome
	err   error        // err is the error of the last run
	tx    *Tx          // tx is the transaction of the last run
}

// outcome is the result of Write. leave, if not nil, continues a panic or runtime.Goexit of the closure in the caller.
type outcome struct {
	err   error
	leave func()
}

// result returns the error of an outcome, or continues the panic or runtime.Goexit.
func (o outcome) result() error {
	if o.leave != nil {
		o.leave()
	}
	return o.err
}

// end sends the caller its outcome. It does nothing if the caller is gone.
func (t *ticket) end(o outcome) {
	if t.state.Swap(gone) != gone {
		t.final <- o
	}
}

// errLeft is the error of a run whose closure panicked or called runtime.Goexit.
var errLeft = errors.New("db: the closure did not return")

// transaction is a transaction of the writer. The writer's own statements, such as SAVEPOINT, run on conn, because sql.Tx starts a
// goroutine to watch each query.
type transaction struct {
	sql  *sql.Tx
	conn *sql.Conn
}

// begin starts a transaction on the writer's only connection.
func (g *group) begin() (transaction, error) {
	conn, err := g.pool.Conn(context.Background())
	if err != nil {
		return transaction{}, err
	}
	tx, err := conn.BeginTx(context.Background(), nil)
	if err != nil {
		return transaction{}, errors.Join(err, conn.Close())
	}
	g.changes.begin(conn)
	return transaction{tx, conn}, nil
}

// commit commits the transaction and returns its connection to the pool, also after an error.
func (t transaction) commit() error { return errors.Join(t.sql.Commit(), t.conn.Close()) }

// rollback undoes the transaction and returns its connection to the pool, also after an error.
func (t transaction) rollback() error { return errors.Join(rollback(t.sql), t.conn.Close()) }

// exec runs a statement of the writer itself, such as SAVEPOINT.
func (t transaction) exec(statement string) error {
	_, err := t.conn.ExecContext(context.Background(), statement)
	return err
}

// newGroup starts the writer, which takes the only connection of pool for each transaction, until close stops it.
func newGroup(pool *sql.DB, changes *changes, cfg Config) *group {
	g := &group{
		pool: pool, changes: changes, timeout: cfg.WriteTimeout, span: groupSpan, clock: cfg.Clock, log: cfg.Logger,
		queue: make(chan *ticket, cfg.QueueSize), done: make(chan struct{}),
	}
	go g.loop(nil)
	return g
}

// write queues a change and waits for its outcome. It gives up if ctx ends before the writer runs the change.
func (g *group) write(ctx context.Context, fn func(*Tx) error) error {
	t := &ticket{ctx: ctx, fn: fn, final: make(chan outcome, 1)}
	if err := g.enqueue(t); err != nil {
		return err
	}
	select {
	case o := <-t.final:
		return o.result()
	case <-ctx.Done():
		if t.state.CompareAndSwap(waiting, gone) {
			return ctx.Err()
		}
		return (<-t.final).result()
	}
}

// enqueue adds a change to the queue of the writer. It returns errBusy if the queue is full, and ErrClosed after close.
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

// loop is the writer: it commits queued changes together, one batch after the other, until close. First it runs the rest of a batch
// that the former goroutine of the writer left.
func (g *group) loop(rest []*ticket) {
	returned := false
	defer func() {
		if !returned { // by runtime.Goexit in a closure, such as FailNow of a test
			go g.loop(g.batch)
			return
		}
		close(g.done)
	}()
	g.batch = rest
	if len(rest) > 0 {
		g.endBatch(g.rerunWithSavepoints())
	}
	for t := range g.queue {
		g.commitBatch(t)
	}
	returned = true
}

// commitBatch runs first and the queued tickets in one transaction, and sends each caller its outcome. If one of several changes fails
// after it has written, it runs all again with savepoints. It does nothing if the caller of first is gone.
func (g *group) commitBatch(first *ticket) {
	if !first.state.CompareAndSwap(waiting, started) {
		return
	}
	err := g.runTogether(first)
	if err == errBatchFailed { // and the rollback succeeded: otherwise err also has its error
		err = nil // a change that had no other change with it keeps its own error
		if len(g.batch) > 1 {
			err = g.rerunWithSavepoints()
		}
	}
	g.endBatch(err)
}

// endBatch sends the callers of the batch their outcomes. If err is not nil, the transaction of the batch failed with it: then each change
// first runs again in a transaction of its own.
func (g *group) endBatch(err error) {
	if err != nil {
		g.changes.invalidate()
		if len(g.batch) > 1 {
			g.log.Warn("shared commit failed; its changes run again one by one", "changes", len(g.batch), "error", err)
		}
	}
	for _, t := range g.batch {
		if err != nil {
			g.runSolo(t, err)
		} else {
			t.end(outcome{err: t.err})
		}
	}
	g.batch = nil
}

// inTransaction calls f in a new transaction and commits it. It rolls the transaction back if f returns an error or calls runtime.Goexit.
func (g *group) inTransaction(f func(tx transaction) error) error {
	tx, err := g.begin()
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned {
			_ = tx.rollback()
		}
	}()
	err = f(tx)
	returned = true
	if err == nil {
		return tx.commit()
	}
	if undo := tx.rollback(); undo != nil {
		return errors.Join(err, undo)
	}
	return err
}

// errBatchFailed means that a shared transaction was rolled back because one change failed after it had written. All its
// changes run again with savepoints.
var errBatchFailed = errors.New("db: a change failed after it had written")

// runTogether runs first and the queued tickets in one transaction and commits it. g.batch are the tickets in it; after an error nothing is
// stored. The error of a single change is in its ticket: it fails the others, with errBatchFailed, only if that change had written. It uses
// no savepoints, because a savepoint costs as much as a statement, and a change that fails has seldom written before.
func (g *group) runTogether(first *ticket) error {
	g.batch = append(g.batch, first)
	return g.inTransaction(func(tx transaction) error {
		begun := time.Now()
		for t := first; t != nil; t = g.next(begun) {
			if failed := g.run(t, tx); failed && t.tx.wrote() {
				return errBatchFailed
			}
		}
		return nil
	})
}

// rerunWithSavepoints runs the tickets of a failed batch again in one transaction, with the tickets that were queued meanwhile. Each has
// its own savepoint, so that a failing ticket does not affect the others.
func (g *group) rerunWithSavepoints() error {
	return g.inTransaction(func(tx transaction) error {
		begun := time.Now()
		for i := 0; i < len(g.batch); i++ {
			if t := g.batch[i]; t.state.Load() != gone {
				if err := g.withSavepoint(tx, t); err != nil {
					return err
				}
			}
			if i+1 == len(g.batch) {
				g.next(begun)
			}
		}
		return nil
	})
}

// run runs the closure of t in the transaction tx, stores its error in t.err, and reports whether it failed. A panic or runtime.Goexit is a
// failure, and the outcome of t at once.
func (g *group) run(t *ticket, tx transaction) (failed bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), g.timeout)
	defer cancel()
	t.err = errLeft
	t.tx = newTx(ctx, dialect.SQLite, tx.sql, tx.conn, g.clock.Now(), g.changes)
	returned := false
	defer func() {
		if returned {
			return
		}
		failed = true
		p := recover()
		if p == nil {
			t.end(outcome{leave: runtime.Goexit})
			return
		}
		g.log.Error("a change panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		t.end(outcome{leave: func() { panic(p) }})
	}()
	t.err = t.tx.run(t.fn)
	returned = true
	return t.err != nil
}

// next returns the next ticket whose caller still waits, after it has added the ticket to the batch, or nil if the queue is empty or the
// transaction, which began at begun, is full. next does not block, but yields the processor, so that more callers can join: a shared commit
// costs less per change.
func (g *group) next(begun time.Time) *ticket {
	for yields := 0; len(g.batch) < groupMax && time.Since(begun) < g.span; {
		select {
		case t, ok := <-g.queue:
			if !ok {
				return nil
			}
			if t.state.CompareAndSwap(waiting, started) {
				g.batch = append(g.batch, t)
				return t
			}
		default:
			if yields == groupYields {
				return nil
			}
			yields++
			runtime.Gosched()
		}
	}
	return nil
}

// withSavepoint runs t in a savepoint, and undoes only its changes if t fails, with the error in t.err. A returned error means that the
// transaction is lost: SQLite rolls back the whole transaction when a statement is interrupted or the disk fails.
func (g *group) withSavepoint(tx transaction, t *ticket) error {
	if err := tx.exec("SAVEPOINT change"); err != nil {
		return err
	}
	if g.run(t, tx) {
		g.changes.invalidate()
		if err := tx.exec("ROLLBACK TO change"); err != nil {
			return err
		}
	}
	return tx.exec("RELEASE change")
}

// runSolo runs t in its own transaction, after the shared transaction failed with reason, and sends its caller the outcome. If the caller's
// context has ended, it does not run t, and the outcome is the context's error.
func (g *group) runSolo(t *ticket, reason error) {
	if t.state.Load() == gone {
		return
	}
	if err := t.ctx.Err(); err != nil {
		t.end(outcome{err: err})
		return
	}
	ran := false
	err := g.inTransaction(func(tx transaction) error {
		ran = true
		g.run(t, tx)
		return t.err
	})
	if !ran {
		err = errors.Join(err, reason)
	}
	t.end(outcome{err: err})
}

// rollback ends tx. It ignores the error if SQLite has already rolled back.
func rollback(tx *sql.Tx) error {
	err := tx.Rollback()
	if errors.Is(err, sql.ErrTxDone) || (err != nil && isNoTransaction(err)) {
		return nil
	}
	return err
}

// close refuses new changes, runs the queued ones, and waits until the writer has stopped. It does not close the connection.
func (g *group) close() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.queue)
	}
	g.mu.Unlock()
	<-g.done
}
