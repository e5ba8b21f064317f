package worker

import (
	"context"
	"os"
	"strings"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// A process that ends after an erasure and before it has emptied the log leaves that to the next one. A log that a reader holds is emptied later.
func TestErasuresEmptyTheLogAfterARestart(t *testing.T) {
	url := dbtest.URL(t, "sqlite")
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	path, _, _ := strings.Cut(strings.TrimPrefix(url, "sqlite:"), "?")
	grow := func() {
		t.Helper()
		write(t, d, func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), "DELETE FROM guests WHERE property_id = 'prp_gone'")
			if err == nil {
				_, err = tx.ExecContext(tx.Context(), "INSERT INTO secrets (id, sealed, created_at) VALUES ('s' || hex(randomblob(8)), x'00', '2026-01-01')")
			}
			return err
		})
	}
	logSize := func() int64 {
		t.Helper()
		st, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	sweep := func(s Sweep) error { return s.Run(t.Context(), d) }

	grow()
	if logSize() == 0 {
		t.Fatal("the log is empty before the sweep")
	}
	restarted := Erasures{Log: quiet}.Sweep()
	if err := sweep(restarted); err != nil || logSize() != 0 {
		t.Errorf("after the first sweep of a process, the log has %d bytes, %v", logSize(), err)
	}
	grow()
	if err := sweep(restarted); err != nil || logSize() == 0 {
		t.Errorf("a sweep without an erasure emptied the log: %v", err)
	}

	again := Erasures{Log: quiet}.Sweep()
	ctx, release := context.WithCancel(t.Context())
	rows, err := d.View(ctx).QueryContext(ctx, "SELECT id FROM secrets UNION ALL SELECT id FROM secrets")
	if err != nil {
		t.Fatal(err)
	}
	rows.Next()
	grow()
	if err := sweep(again); err == nil {
		t.Error("a log that a reader holds counts as emptied")
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	release()
	if err := sweep(again); err != nil || logSize() != 0 {
		t.Errorf("once the reader is gone, the log has %d bytes, %v", logSize(), err)
	}
}
