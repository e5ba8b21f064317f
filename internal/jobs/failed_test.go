package jobs

import (
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/dbtest"
)

// An operator sees a failed job without the addresses in its error, runs it again, and removes it only once it is given up.
func TestFailedJobs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := open(t, d)
		fails := func(state string) {
			t.Helper()
			attempts := `'[{"attempt": 1, "error": "older"}, {"attempt": 2, "error": "550 <ada@example.com> is unknown"}]'`
			if !d.SQLite() {
				attempts = `ARRAY['{"attempt": 1, "error": "older"}', '{"attempt": 2, "error": "550 <ada@example.com> is unknown"}']::jsonb[]`
			}
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				_, err := tx.SQL().ExecContext(tx.Context(), "UPDATE river_job SET attempt = 2, attempted_at = CURRENT_TIMESTAMP, errors = "+attempts+", state = '"+state+"'"+
					map[bool]string{true: ", finalized_at = CURRENT_TIMESTAMP"}[state == "discarded"])
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		failed := func() []Failed {
			t.Helper()
			list, err := q.ListFailed(d.View(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		count := func(want Counts) {
			t.Helper()
			got, err := q.Count(d.View(t.Context()))
			if got.OldestDueAt.IsZero() != (want.Waiting == 0) {
				t.Errorf("the oldest of %d waiting jobs is due at %v", want.Waiting, got.OldestDueAt)
			}
			if got.OldestDueAt = want.OldestDueAt; got != want || err != nil {
				t.Errorf("counted %+v, %v, want %+v", got, err, want)
			}
		}
		change := func(do func(*db.Tx, int64) error, id int64) error {
			return d.Write(t.Context(), func(tx *db.Tx) error { return do(tx, id) })
		}

		insertJob(t, d, q, one)
		count(Counts{Waiting: 1})
		if list := failed(); len(list) != 0 {
			t.Fatalf("failed: %v", list)
		}
		fails("retryable")
		count(Counts{Retrying: 1})
		list := failed()
		if len(list) != 1 {
			t.Fatalf("failed: %v", list)
		}
		got := list[0]
		if got.Kind != one.Kind() || got.PropertyID != "prp_one" || got.GivenUp || got.Attempts != 2 || got.FailedAt == nil || got.Error != "550 <<address>> is unknown" {
			t.Errorf("listed %+v", got)
		}
		if err := change(q.Discard, got.ID); !fault.Has(err, fault.InUse) {
			t.Errorf("removing a job that is retried: %v", err)
		}
		if err := change(q.Retry, got.ID); err != nil {
			t.Error(err)
		}
		count(Counts{Waiting: 1})
		if err := change(q.Retry, got.ID); !fault.Has(err, fault.NotFoundReason) {
			t.Errorf("running a job again that waits: %v", err)
		}

		fails("discarded")
		count(Counts{Failed: 1})
		if list := failed(); len(list) != 1 || !list[0].GivenUp {
			t.Errorf("failed: %v", list)
		}
		insertJob(t, d, q, one)
		if err := change(q.Retry, got.ID); !fault.Has(err, fault.InUse) {
			t.Errorf("running a job again of which a newer one waits: %v", err)
		}
		if err := change(q.Discard, got.ID); err != nil {
			t.Error(err)
		}
		count(Counts{Waiting: 1})
		if list := failed(); len(list) != 0 {
			t.Errorf("left: %v", list)
		}
	})
}
