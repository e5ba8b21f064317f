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
	groupMax  = 128                   // the most changes that share a commit
	groupSpan = 20 * time.Millisecond // the time after which no further change joins a commit
)

// group is the writer of SQLite: callers that wait at the same time share one transaction and one commit. One goroutine owns
// the transaction. Each closure runs on the goroutine of its caller, so that a panic reaches the caller that caused it.
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
}

const (
	// Values of ticket.state.
	waiting int32 = iota
	started
	gone // the caller was cancelled before its turn, or panicked in it
)

// ticket is one waiting call of Write.
type ticket struct {
	ctx   context.Context
	fn    func(*Tx) error
	state atomic.Int32
	turn  chan transaction // turn tells the caller to run fn now, in this transaction
	ran   chan struct{}    // ran tells the writer that fn has returned or panicked
	final chan error       // final tells the caller the outcome
	err   error            // err is the error of the last run
	tx    *Tx              // tx is the transaction of the last run
}

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
	go g.loop()
	return g
}

// write queues a change and waits for its outcome. It runs fn on the caller's goroutine each time the writer gives the change its turn. It
// gives up if ctx ends before the first turn.
func (g *group) write(ctx context.Context, fn func(*Tx) error) error {
	t := &ticket{ctx: ctx, fn: fn, turn: make(chan transaction, 1), ran: make(chan struct{}, 1), final: make(chan error, 1)}
	if err := g.enqueue(t); err != nil {
		return err
	}
	cancelled := ctx.Done()
	for {
		select {
		case tx := <-t.turn:
			g.run(t, tx)
		case err := <-t.final:
			return err
		case <-cancelled:
			if t.state.CompareAndSwap(waiting, gone) {
				return ctx.Err()
			}
			cancelled = nil
		}
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

// run calls the closure of t in the transaction tx, and stores its error in t.err. A panic marks t as gone and continues. run is on the
// goroutine of Write's caller, while the writer waits for t.ran.
func (g *group) run(t *ticket, tx transaction) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), g.timeout)
	defer cancel()
	t.tx = newTx(ctx, dialect.SQLite, tx.sql, tx.conn, g.clock.Now(), g.changes)
	returned := false
	defer func() {
		if !returned { // a panic or runtime.Goexit continues in the caller
			t.state.Store(gone)
		}
		t.ran <- struct{}{}
	}()
	t.err = t.tx.run(t.fn)
	returned = true
}

// loop is the writer: it commits queued changes together, one batch after the other, until close.
func (g *group) loop() {
	defer close(g.done)
	for t := range g.queue {
		g.commitBatch(t)
	}
}

// commitBatch runs first and the queued tickets in one transaction, and sends each caller its outcome. If one of several changes fails
// after it has written, it runs all again with savepoints; if the commit fails, each in a transaction of its own. It does nothing if the
// caller of first is gone.
func (g *group) commitBatch(first *ticket) {
	if !first.state.CompareAndSwap(waiting, started) {
		return
	}
	members, err := g.runTogether(first)
	if errors.Is(err, errBatchFailed) {
		members, err = g.rerunWithSavepoints(members)
	}
	if err == nil {
		for _, t := range members {
			t.final <- t.err
		}
		return
	}
	g.changes.invalidate()
	if len(members) > 1 {
		g.log.Warn("shared commit failed; its changes run again one by one", "changes", len(members), "error", err)
	}
	for _, t := range members {
		g.runSolo(t, err)
	}
}

// errBatchFailed means that a shared transaction was rolled back because one change failed after it had written. All its
// changes run again with savepoints.
var errBatchFailed = errors.New("db: a change failed after it had written")

// runTogether runs first and the queued tickets in one transaction and commits it. members are the tickets in it; after an error nothing is
// stored. The error of a single change is in its ticket: it fails the others, with errBatchFailed, only if that change had written. It uses
// no savepoints, because a savepoint costs as much as a statement, and a change that fails has seldom written before.
func (g *group) runTogether(first *ticket) (members []*ticket, err error) {
	tx, err := g.begin()
	if err != nil {
		return []*ticket{first}, err
	}
	begun := time.Now()
	for t := first; t != nil; t = g.next(len(members), begun) {
		members = append(members, t)
		if g.turn(tx, t) && t.tx.wrote() {
			if err = tx.rollback(); err == nil && len(members) > 1 {
				err = errBatchFailed
			}
			return members, err
		}
	}
	return members, tx.commit()
}

// rerunWithSavepoints runs the tickets of a failed batch again in one transaction, with the tickets that were queued meanwhile. Each has
// its own savepoint, so that a failing ticket does not affect the others. It returns all tickets that belong to the transaction.
func (g *group) rerunWithSavepoints(members []*ticket) ([]*ticket, error) {
	tx, err := g.begin()
	if err != nil {
		return members, err
	}
	begun := time.Now()
	for i := 0; i < len(members); i++ {
		if t := members[i]; t.state.Load() != gone {
			if err := g.withSavepoint(tx, t); err != nil {
				return members, errors.Join(err, tx.rollback())
			}
		}
		if i+1 == len(members) {
			if t := g.next(len(members), begun); t != nil {
				members = append(members, t)
			}
		}
	}
	return members, tx.commit()
}

// turn makes the caller of t run its closure in tx, waits for the closure, and reports whether it failed or panicked.
func (g *group) turn(tx transaction, t *ticket) (failed bool) {
	t.err = nil
	t.turn <- tx
	<-t.ran
	return t.err != nil || t.state.Load() == gone
}

// next returns the next ticket whose caller still waits, or nil if the queue is empty or the transaction is full. The transaction began at
// begun, and have counts its tickets. next does not block, but yields the processor once, so that more callers can join: a shared commit
// costs less per change.
func (g *group) next(have int, begun time.Time) *ticket {
	yielded := false
	for have < groupMax && time.Since(begun) < g.span {
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

// withSavepoint runs t in a savepoint, and undoes only its changes if t fails, with the error in t.err. A returned error means that the
// transaction is lost: SQLite rolls back the whole transaction when a statement is interrupted or the disk fails.
func (g *group) withSavepoint(tx transaction, t *ticket) error {
	if err := tx.exec("SAVEPOINT change"); err != nil {
		return err
	}
	if g.turn(tx, t) {
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
		t.final <- err
		return
	}
	tx, err := g.begin()
	if err != nil {
		t.final <- errors.Join(err, reason)
		return
	}
	if !g.turn(tx, t) {
		t.final <- tx.commit()
		return
	}
	_ = tx.rollback()
	if t.state.Load() != gone {
		t.final <- t.err
	}
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
