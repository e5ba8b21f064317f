package db

import (
	"database/sql"
	"sync/atomic"
)

// ChangeWatcher receives what a change did. It is for tests that check the notifications of changes.
type ChangeWatcher struct {
	// Changed is called after a statement that changed rows, or may have, on the goroutine that ran it. It returns a mark, any text to pass
	// to Committed, or "".
	Changed func(statement string) (mark string)
	// Committed is called after the commit of a change that has marks. It gets them, and the keys of the notified topics.
	Committed func(marks []string, notified map[Topic][]string)
}

// changeWatcher is the watcher that a test has set; nil otherwise.
var changeWatcher atomic.Pointer[ChangeWatcher]

// WatchChanges makes w receive each change of the process. It is for tests.
func WatchChanges(w ChangeWatcher) { changeWatcher.Store(&w) }

// mark asks the ChangeWatcher of a test, if any, for a mark of a statement that may have changed rows, and keeps the mark until the
// commit. res is nil if the number of changed rows is not known.
func (c *txConn) mark(statement string, res sql.Result) {
	w := changeWatcher.Load()
	if w == nil {
		return
	}
	if res != nil {
		if n, err := res.RowsAffected(); err == nil && n == 0 {
			return
		}
	}
	if m := w.Changed(statement); m != "" {
		c.marks = append(c.marks, m)
	}
}

// reportChange passes a committed change to the ChangeWatcher of a test, if any.
func reportChange(t *Tx) {
	w := changeWatcher.Load()
	if w == nil || len(t.conn.marks) == 0 {
		return
	}
	notified := map[Topic][]string{}
	for _, n := range t.notices {
		notified[n.topic] = append(notified[n.topic], n.key)
	}
	w.Committed(t.conn.marks, notified)
}
