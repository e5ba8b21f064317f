package worker

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/test/dbtest"
)

// A subscriber's cursor does not move for each event that it does not want, but passes them later. No wanted event is lost or applied twice,
// also by a dispatcher that starts at the stored cursor.
func TestUnwantedEventsMoveTheCursorLater(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := effects(t, d)
		s.Wants = func(_ *db.Tx, events []event.Ref) (bool, error) {
			return slices.ContainsFunc(events, func(e event.Ref) bool { return e.Kind == event.DoorOpened }), nil
		}
		x := NewDispatcher(quiet, DispatcherOptions{Page: 2}, s)
		write(t, d, func(tx *db.Tx) error { return event.Subscribe(tx, s.Name) })
		skip := &skipped{}
		// deliver adds events of a kind, delivers, and compares what was applied and how many events the stored cursor has not passed.
		deliver := func(what string, kind event.Kind, events int, skip *skipped, applied, left int) {
			t.Helper()
			write(t, d, func(tx *db.Tx) (err error) {
				for i := 0; i < events && err == nil; i++ {
					err = event.Append(tx, event.Event{PropertyID: "prp_one", Subject: "rsv_a", Kind: kind})
				}
				return err
			})
			if err := x.assignPositions(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if _, err := x.deliver(t.Context(), d, s, skip); err != nil {
				t.Fatal(err)
			}
			if n, distinct := countEffects(t, d); n != applied || distinct != n || undelivered(t, d, s.Name) != left {
				t.Errorf("%s: %d effects of %d events, %d events left, want %d and %d", what, n, distinct, undelivered(t, d, s.Name), applied, left)
			}
		}
		deliver("unwanted", event.AccessIssued, 5, skip, 0, 5)
		deliver("more", event.AccessIssued, 1, skip, 0, 6)
		deliver("another dispatcher", "", 0, &skipped{}, 0, 6)
		skip.since = skip.since.Add(-time.Hour)
		deliver("later", "", 0, skip, 0, 0)
		deliver("after that", event.AccessIssued, 1, skip, 0, 1)
		deliver("wanted", event.DoorOpened, 1, skip, 1, 0)
		deliver("unwanted again", event.AccessIssued, 3, skip, 1, 3)
		deliver("wanted by another dispatcher", event.DoorOpened, 2, &skipped{}, 4, 0) // the third unwanted event shares its page
	})
}

// While a subject is held back, the cursor passes events at once: those of the subject wait for its own cursor, which ends at the main one.
func TestNoEventIsSkippedWhileASubjectIsHeldBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSink()
		s.bad["rsv_a"] = true
		sub := s.subscriber()
		wanted := true
		sub.Wants = func(*db.Tx, []event.Ref) (bool, error) { return wanted, nil }
		x := NewDispatcher(quiet, DispatcherOptions{MinBackoff: time.Hour, MaxBackoff: time.Hour}, sub)
		write(t, d, func(tx *db.Tx) error { return event.Subscribe(tx, "sink") })
		skip := &skipped{}
		round := func() {
			t.Helper()
			if err := x.assignPositions(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if _, err := x.deliver(t.Context(), d, sub, skip); err != nil {
				t.Fatal(err)
			}
		}
		emit(t, d, "rsv_a", 1) // fails and is held back
		emit(t, d, "rsv_b", 1)
		round()
		wanted = false
		emit(t, d, "rsv_a", 2)
		emit(t, d, "rsv_b", 1)
		round()
		if left := undelivered(t, d, "sink"); left != 0 {
			t.Errorf("the main cursor has not passed %d events", left)
		}
		s.bad["rsv_a"] = false
		write(t, d, func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), "UPDATE event_cursors SET retry_at = $1 WHERE subject = 'rsv_a'", tx.Now())
			return err
		})
		round()
		if len(s.seen["rsv_a"]) != 3 || len(cursors(t, d, "sink")) != 1 {
			t.Errorf("%v of the subject were delivered, %d cursors", s.seen["rsv_a"], len(cursors(t, d, "sink")))
		}
	})
}
