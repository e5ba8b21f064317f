package worker

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/dbtest"
)

// effects is a subscriber whose effects are rows.
func effects(t *testing.T, d *db.DB) Subscriber {
	t.Helper()
	write(t, d, func(tx *db.Tx) error {
		_, err := tx.ExecContext(tx.Context(), "CREATE TABLE effects (subject text NOT NULL, subject_sequence bigint NOT NULL, position bigint NOT NULL)")
		return err
	})
	return Subscriber{Name: "effects", Apply: func(tx *db.Tx, events []*ent.Event) error {
		for _, e := range events {
			if _, err := tx.ExecContext(tx.Context(), "INSERT INTO effects VALUES ($1, $2, $3)", e.Subject, e.SubjectSequence, *e.Position); err != nil {
				return err
			}
		}
		return nil
	}}
}

func countEffects(t *testing.T, d *db.DB) (all, distinct int) {
	t.Helper()
	if _, err := d.View(t.Context()).ReadOne("SELECT count(*), count(DISTINCT position) FROM effects", nil, &all, &distinct); err != nil {
		t.Fatal(err)
	}
	return all, distinct
}

// A dispatcher dies after the effect and before the commit. The next one delivers the events again, and each effect is stored once.
func TestEffectsMoveWithTheCursor(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := effects(t, d)
		emit(t, d, "rsv_a", 3)
		ctx, die := context.WithCancel(t.Context())
		dying := Subscriber{Name: s.Name, Apply: func(tx *db.Tx, events []*ent.Event) error {
			err := s.Apply(tx, events)
			die()
			return errors.Join(err, ctx.Err())
		}}
		if err := NewDispatcher(quiet, DispatcherOptions{}, dying).Run(ctx, d); err != nil {
			t.Fatal(err)
		}
		if n, _ := countEffects(t, d); n != 0 {
			t.Errorf("%d effects without their cursor", n)
		}
		x := NewDispatcher(quiet, DispatcherOptions{}, s)
		for range 2 {
			if _, err := x.deliver(t.Context(), d, s, &skipped{}); err != nil {
				t.Fatal(err)
			}
		}
		if n, _ := countEffects(t, d); n != 3 {
			t.Errorf("%d effects of 3 events", n)
		}
	})
}

// A subscriber that fails for every event delays no other, and its cursor says why it fails.
func TestFailingSubscriberDelaysNoOther(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSink()
		bad := Subscriber{Name: "bad", Apply: func(*db.Tx, []*ent.Event) error {
			return fault.New(fault.Precondition, fault.PartnerError, "Ada Lovelace is refused")
		}}
		emit(t, d, "rsv_a", 2)
		stop := start(t, d, NewDispatcher(quiet, DispatcherOptions{Sweep: time.Millisecond}, bad, s.subscriber()))
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_a"]) == 2 })
		emit(t, d, "rsv_a", 1)
		emit(t, d, "rsv_b", 2)
		s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_a"]) == 3 && len(seen["rsv_b"]) == 2 })
		for held := cursors(t, d, "bad")[1:]; len(held) < 2 || held[0].Attempts+held[1].Attempts < 6; held = cursors(t, d, "bad")[1:] {
			if t.Context().Err() != nil {
				t.Fatal("it is not retried")
			}
		}
		stop()
		reasons := 0
		const query = "SELECT count(*) FROM event_cursors WHERE subscriber = 'bad' AND subject IN ('rsv_a', 'rsv_b') AND reason = 'partnerError'"
		if _, err := d.View(t.Context()).ReadOne(query, nil, &reasons); err != nil || reasons != 2 {
			t.Errorf("%d subjects are held back with their reason, %v, want 2", reasons, err)
		}
	})
}

// The later events of a subject that is held back wait for the earlier ones, also if they come after the main cursor passed.
func TestHeldBackSubjectStaysInOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSink()
		s.bad["rsv_a"] = true
		x := NewDispatcher(quiet, DispatcherOptions{Page: 2, MinBackoff: time.Nanosecond, MaxBackoff: time.Nanosecond}, s.subscriber())
		round := func() {
			t.Helper()
			if err := x.assignPositions(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			view, cursors := d.View(t.Context()), cursors(t, d, "sink")
			for i := len(cursors) - 1; i >= 0; i-- { // the subject first, then all subjects
				events, err := event.After(view, cursors[i], cursors[0], 2)
				if err != nil {
					t.Fatal(err)
				}
				if err := x.deliverPage(t.Context(), d, s.subscriber(), newPage(cursors[i], cursors, events, 2)); err != nil && !errors.Is(err, event.ErrMoved) {
					t.Fatal(err)
				}
			}
		}
		write(t, d, func(tx *db.Tx) error { return event.Subscribe(tx, "sink") })
		for i := range 12 {
			if i < 4 {
				emit(t, d, "rsv_a", 1)
				emit(t, d, "rsv_b", 1)
			}
			if i == 6 {
				s.bad["rsv_a"] = false
			}
			round()
		}
		if diff := cmp.Diff(map[string][]int64{"rsv_a": upTo(4), "rsv_b": upTo(4)}, s.seen); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if left := cursors(t, d, "sink"); len(left) != 1 {
			t.Errorf("%d cursors, want that of all subjects alone", len(left))
		}
	})
}

// On PostgreSQL a transaction may commit after another one with a higher id. No subscriber misses its event.
func TestLowerIDCommitsLater(t *testing.T) {
	url := dbtest.URL(t, "postgres")
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	open, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = open.Exec(t.Context(), `INSERT INTO events (property_id, subject, subject_sequence, kind, body, occurred_at, created_at)
		VALUES ('prp_one', 'rsv_late', 1, 'access.issued', '{}', now(), now())`)
	if err != nil {
		t.Fatal(err)
	}
	s := newSink()
	x := NewDispatcher(quiet, DispatcherOptions{Sweep: time.Hour, Gather: time.Millisecond}, s.subscriber())
	stop := start(t, d, x)
	defer stop()
	emit(t, d, "rsv_early", 1)
	x.Wake()
	s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_early"]) == 1 })
	if err := open.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.Wake()
	s.until(t, func(seen map[string][]int64) bool { return len(seen["rsv_late"]) == 1 })
	rows := d.View(t.Context()).Event.Query().Order(entevent.ByID()).AllX(t.Context())
	if len(rows) != 2 || rows[0].Subject != "rsv_late" || *rows[0].Position <= *rows[1].Position {
		t.Errorf("%v, want the lower id at the higher position", rows)
	}
}

// Two dispatchers run at the same time, as after a lost lease, even without its fence. No event is missed or applied twice.
func TestTwoDispatchersApplyEachEventOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := effects(t, d)
		options := DispatcherOptions{Page: 3, Sweep: time.Millisecond, Gather: time.Microsecond, MinBackoff: time.Millisecond}
		stopOne, stopTwo := start(t, d, NewDispatcher(quiet, options, s)), start(t, d, NewDispatcher(quiet, options, s))
		const rounds = 40
		for i := range rounds {
			emit(t, d, fmt.Sprint("rsv_", i%3), 1+i%2)
		}
		for all := 0; all < rounds*3/2; all, _ = countEffects(t, d) {
			if t.Context().Err() != nil {
				t.Fatalf("%d effects", all)
			}
		}
		stopOne()
		stopTwo()
		if all, distinct := countEffects(t, d); all != rounds*3/2 || distinct != all {
			t.Errorf("%d effects of %d events, want %d", all, distinct, rounds*3/2)
		}
	})
}

// A dispatcher that lost its lease stores nothing.
func TestDispatcherWithoutItsLeaseStoresNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := effects(t, d)
		emit(t, d, "rsv_a", 2)
		lost := d.Fenced(func(*db.Tx) error { return errLeaseLost })
		x := NewDispatcher(quiet, DispatcherOptions{}, s)
		if err := x.assignPositions(t.Context(), lost); !errors.Is(err, errLeaseLost) {
			t.Errorf("positions: %v", err)
		}
		write(t, d, func(tx *db.Tx) error { return event.Subscribe(tx, s.Name) })
		if err := x.assignPositions(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if _, err := x.deliver(t.Context(), lost, s, &skipped{}); !errors.Is(err, errLeaseLost) {
			t.Errorf("delivery: %v", err)
		}
		if n, _ := countEffects(t, d); n != 0 || undelivered(t, d, s.Name) != 2 {
			t.Errorf("%d effects, %d events wait, want none and 2", n, undelivered(t, d, s.Name))
		}
	})
}
