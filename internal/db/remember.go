package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mattn/go-sqlite3"
)

// Remember reads something that depends on some tables alone, or answers with what was read before under the same key if
// no row of them has changed since. What it answers is shared and must not be changed.
//
// It is exact: on SQLite the one connection that writes counts the rows it changes, and is told at the beginning of each
// transaction whether another process wrote. On PostgreSQL, and outside of Write, it always reads.
func Remember[K comparable, V any](tx *Tx, tables []string, key K, read func() (V, error)) (V, error) {
	c := tx.changes
	if c == nil {
		return read()
	}
	now := c.mark(tables)
	if known, ok := c.find(key, now); ok {
		if v, ok := known.(V); ok {
			return v, nil
		}
	}
	v, err := read()
	if err == nil {
		c.keep(key, now, v)
	}
	return v, err
}

// changes counts what changes on the connection that writes.
type changes struct {
	mu      sync.Mutex
	rows    map[string]uint64 // changed, by table
	undone  uint64            // how often anything may have changed without being counted
	version int64             // SQLite's own word on whether another connection wrote
	known   map[any]remembered
	some    chan struct{} // holds one when rows have changed
	ended   atomic.Bool   // the transaction that was begun last has been rolled back
}

type remembered struct {
	mark  mark
	value any
}

// mark names a state of some tables. Neither number ever shrinks.
type mark struct{ undone, rows uint64 }

// mostRemembered bounds what is remembered; then it begins anew.
const mostRemembered = 1 << 14

func newChanges() *changes {
	return &changes{rows: map[string]uint64{}, known: map[any]remembered{}, some: make(chan struct{}, 1)}
}

// watch has a new connection tell of every row that it changes.
func (c *changes) watch(conn *sqlite3.SQLiteConn) {
	c.undo()
	conn.RegisterUpdateHook(func(_ int, _ string, table string, _ int64) {
		c.mu.Lock()
		c.rows[table]++
		c.mu.Unlock()
		select {
		case c.some <- struct{}{}:
		default:
		}
	})
	conn.RegisterRollbackHook(func() {
		c.ended.Store(true)
		c.undo()
	})
}

// over says whether the transaction that was begun last has been rolled back, whoever did it: SQLite does so by itself when
// a change is interrupted or the disk fails (https://sqlite.org/lang_transaction.html, "Response To Errors").
func (c *changes) over() bool { return c != nil && c.ended.Load() }

// undo forgets everything: what was read may have been undone.
func (c *changes) undo() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.undone++
	clear(c.known)
}

// begin looks whether another connection wrote since the last transaction. From here on none can.
func (c *changes) begin(conn *sql.Conn) {
	c.ended.Store(false)
	var version int64
	err := conn.QueryRowContext(context.Background(), "PRAGMA data_version").Scan(&version)
	c.mu.Lock()
	same := err == nil && version == c.version
	c.version = version
	c.mu.Unlock()
	if !same {
		c.undo()
	}
}

func (c *changes) mark(tables []string) mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := mark{undone: c.undone}
	for _, t := range tables {
		m.rows += c.rows[t]
	}
	return m
}

func (c *changes) find(key any, now mark) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.known[key]
	return r.value, ok && r.mark == now
}

func (c *changes) keep(key any, now mark, value any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= mostRemembered {
		clear(c.known)
	}
	c.known[key] = remembered{now, value}
}

// connector opens connections. That of the writer is watched by changes, and copies the log only where the copier does not
// keep up.
type connector struct {
	dsn     string
	changes *changes
}

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver {
	return &sqlite3.SQLiteDriver{ConnectHook: func(conn *sqlite3.SQLiteConn) error {
		// What a savepoint may bring back is kept in memory: a change of more than 16 pages would make a file for it.
		pragmas := "PRAGMA temp_store = MEMORY"
		if c.changes != nil {
			c.changes.watch(conn)
			pragmas += fmt.Sprintf("; PRAGMA mmap_size = %d; PRAGMA wal_autocheckpoint = %d", mapped, logMost)
		}
		_, err := conn.Exec(pragmas, nil)
		return err
	}}
}
