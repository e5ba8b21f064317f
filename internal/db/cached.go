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

// Cached returns what read returned earlier under the same key, if no row of the tables has changed since; otherwise it
// calls read. The value must depend on key and these tables only, so a key's type should belong to one caller. It is shared between
// callers and must not be modified. An error is not cached.
//
// The cache is never stale: on SQLite the only connection that writes counts the rows it changes, and checks at the beginning
// of each transaction whether another process wrote. On PostgreSQL, and outside of Write, Cached always reads.
func Cached[K comparable, V any](tx *Tx, tables []string, key K, read func() (V, error)) (V, error) {
	c := tx.changes
	if c == nil {
		return read()
	}
	now := c.versionOf(tables)
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

// changes counts the row changes of the writer's connection, and caches values for [Cached].
type changes struct {
	mu            sync.Mutex
	rows          map[string]uint64 // rows counts the changed rows of each table
	undone        uint64            // undone counts how often rows may have changed uncounted: rollbacks and writes by other connections
	version       int64             // version is PRAGMA data_version, which differs after another connection wrote
	known         map[any]cachedValue
	changed       chan struct{} // changed notifies the checkpointer that rows have changed
	wasRolledBack atomic.Bool   // wasRolledBack means that the transaction that began last was rolled back, also by SQLite itself
}

// cachedValue is a cached value, with the version that its tables had when it was read.
type cachedValue struct {
	version tableVersion
	value   any
}

// tableVersion identifies a state of some tables. Neither number ever decreases.
type tableVersion struct{ undone, rows uint64 }

// maxCached bounds the cache; a full cache is cleared.
const maxCached = 1 << 14

// newChanges returns an empty cache. Call watch for each connection of the writer.
func newChanges() *changes {
	return &changes{rows: map[string]uint64{}, known: map[any]cachedValue{}, changed: make(chan struct{}, 1)}
}

// watch registers hooks on a new connection of the writer, so that c counts each row that the connection changes, notices each rollback,
// and wakes the checkpointer. It also clears the cache.
func (c *changes) watch(conn *sqlite3.SQLiteConn) {
	c.invalidate()
	conn.RegisterUpdateHook(func(_ int, _ string, table string, _ int64) {
		c.mu.Lock()
		c.rows[table]++
		c.mu.Unlock()
		select {
		case c.changed <- struct{}{}:
		default:
		}
	})
	conn.RegisterRollbackHook(func() {
		c.wasRolledBack.Store(true)
		c.invalidate()
	})
}

// rolledBack reports whether the latest transaction has been rolled back, also by SQLite itself: it does so when a change is
// interrupted or the disk fails (https://sqlite.org/lang_transaction.html, "Response To Errors").
func (c *changes) rolledBack() bool { return c != nil && c.wasRolledBack.Load() }

// invalidate clears the cache, because what was read may have been rolled back.
func (c *changes) invalidate() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.undone++
	clear(c.known)
}

// begin must run at the start of each transaction on the writer's connection. It clears the cache if another connection has written since
// the last transaction. No other connection can write until this transaction ends.
func (c *changes) begin(conn *sql.Conn) {
	c.wasRolledBack.Store(false)
	var version int64
	err := conn.QueryRowContext(context.Background(), "PRAGMA data_version").Scan(&version)
	c.mu.Lock()
	same := err == nil && version == c.version
	c.version = version
	c.mu.Unlock()
	if !same {
		c.invalidate()
	}
}

// versionOf returns the present version of some tables. Two equal versions of the same tables mean that no row of them has changed in
// between.
func (c *changes) versionOf(tables []string) tableVersion {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := tableVersion{undone: c.undone}
	for _, t := range tables {
		m.rows += c.rows[t]
	}
	return m
}

// find returns the cached value of key. It returns false if there is none, or if its tables have changed since it was read. now is the
// present version of the tables.
func (c *changes) find(key any, now tableVersion) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.known[key]
	return r.value, ok && r.version == now
}

// keep caches a value that was read while its tables had the version now. It first clears a full cache.
func (c *changes) keep(key any, now tableVersion, value any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCached {
		clear(c.known)
	}
	c.known[key] = cachedValue{now, value}
}

// connector opens connections. changes watches the writer's connection, and is nil for all others.
type connector struct {
	dsn     string
	changes *changes
}

// Connect opens a SQLite connection with the options and hooks of Driver.
func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }

// Driver implements driver.Connector. The returned driver sets the options of each new connection and, for the writer's, registers the
// hooks.
func (c connector) Driver() driver.Driver {
	return &sqlite3.SQLiteDriver{ConnectHook: func(conn *sqlite3.SQLiteConn) error {
		// Keep the journals of savepoints in memory. Otherwise a change of more than 16 pages creates a temporary file.
		pragmas := "PRAGMA temp_store = MEMORY"
		if c.changes != nil {
			c.changes.watch(conn)
			// The writer itself runs a checkpoint only at logMax pages, when the checkpointer does not keep up.
			pragmas += fmt.Sprintf("; PRAGMA mmap_size = %d; PRAGMA wal_autocheckpoint = %d", mapped, logMax)
		}
		_, err := conn.Exec(pragmas, nil)
		return err
	}}
}
