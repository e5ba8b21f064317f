package event_test

import (
	"slices"
	"testing"
	"time"

	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/test/dbtest"
)

// Old events are deleted after their delivery; the sequence numbers continue.
func TestForget(t *testing.T) {
	c := clock.At(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	start := c.Now()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c.Set(start)
		happen := func(subject string, handedOver bool) {
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				if err := event.Append(tx, event.Event{PropertyID: "prp_1", Subject: subject, Kind: event.DoorOpened}); err != nil || !handedOver {
					return err
				}
				return assign(tx, subject)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			happen("lck_1", true)
			happen("lck_2", true)
		}
		happen("lck_3", false)
		happen("lck_3", false)
		c.Advance(time.Hour)
		before := c.Now()
		happen("lck_3", false)
		happen("lck_2", false)
		for after, rounds := int64(0), 0; ; rounds++ {
			next := int64(0)
			if err := d.Write(t.Context(), func(tx *db.Tx) (err error) { next, err = event.Forget(tx, before, after, 3); return err }); err != nil {
				t.Fatal(err)
			}
			if after = next; after == 0 {
				break
			}
			if rounds > 10 {
				t.Fatal("there is no end of it")
			}
		}
		happen("lck_1", false)
		for subject, want := range map[string][]int64{"lck_1": {5, 6}, "lck_2": {6}, "lck_3": {1, 2, 3}} {
			rows, err := of(d.View(t.Context()), "prp_1", subject)
			if err != nil || len(rows) != len(want) {
				t.Fatalf("%s: %d events, %v, want the numbers %v", subject, len(rows), err, want)
			}
			for i, e := range rows {
				if e.SubjectSequence != want[i] {
					t.Errorf("%s: number %d, want %d", subject, e.SubjectSequence, want[i])
				}
			}
		}
	}, dbtest.Clock(c))
}

// assign gives the events of a subject their positions.
func assign(tx *db.Tx, subject string) error {
	all, last, err := event.Unpositioned(tx, 1000)
	if err != nil {
		return err
	}
	own, err := tx.Event.Query().Where(entevent.Subject(subject), entevent.PositionIsNil()).Order(entevent.ByID()).All(tx.Context())
	if err != nil || len(all) == 0 || len(own) == 0 {
		return err
	}
	events := make([]event.PendingEvent, len(own))
	for i, e := range own {
		events[i] = event.PendingEvent{ID: e.ID, Kind: event.Kind(e.Kind)}
	}
	return event.AssignPositions(tx, events, last)
}

// Events that a subscriber has not received are kept for 30 more days. Then they are deleted, and the positions go on.
func TestForgetKeepsUndeliveredEventsForAWhile(t *testing.T) {
	c := clock.At(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	start := c.Now()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c.Set(start)
		write := func(f func(tx *db.Tx) error) {
			t.Helper()
			if err := d.Write(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		happen := func() {
			t.Helper()
			write(func(tx *db.Tx) error {
				if err := event.Append(tx, event.Event{PropertyID: "prp_1", Subject: "lck_1", Kind: event.DoorOpened}); err != nil {
					return err
				}
				return assign(tx, "lck_1")
			})
		}
		first := int64(0) // one less than the position of the first event
		left := func() (positions []int64) {
			t.Helper()
			write(func(tx *db.Tx) error {
				_, err := event.Forget(tx, tx.Now().Add(-365*24*time.Hour), 0, 100)
				return err
			})
			rows, err := of(d.View(t.Context()), "prp_1", "lck_1")
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range rows {
				positions = append(positions, *e.Position-first)
			}
			return positions
		}
		first = c.Now().UnixMicro()
		happen()
		happen()
		write(func(tx *db.Tx) error { return event.Subscribe(tx, "fast") })
		write(func(tx *db.Tx) error { return event.Subscribe(tx, "dead") })
		happen()
		happen()
		cursors, err := event.Cursors(d.View(t.Context()), "fast")
		if err != nil {
			t.Fatal(err)
		}
		write(func(tx *db.Tx) error { return event.Move(tx, cursors[0], first+4) })
		c.Advance(366 * 24 * time.Hour)
		if got := left(); !slices.Equal(got, []int64{3, 4}) {
			t.Errorf("positions %v, want those that the dead subscriber has not received", got)
		}
		c.Advance(30 * 24 * time.Hour)
		if got := left(); !slices.Equal(got, []int64{4}) {
			t.Errorf("positions %v, want the last event of the subject alone", got)
		}
		write(func(tx *db.Tx) error {
			_, err := tx.Event.Delete().Exec(tx.Context())
			return err
		})
		happen()
		if got := left(); len(got) != 1 || got[0] <= 4 {
			t.Errorf("positions %v, want one after 4: the cursor at 4 would miss a position that is used again", got)
		}
	}, dbtest.Clock(c))
}

// A subscriber that this version of the program lacks may be of a newer one: its cursor stays until it misses an event for 30 days.
func TestCursorsOfRemovedSubscribersAreDeleted(t *testing.T) {
	c := clock.At(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	start := c.Now()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c.Set(start)
		write := func(f func(tx *db.Tx) error) {
			t.Helper()
			if err := d.Write(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		write(func(tx *db.Tx) error { return event.Subscribe(tx, "current") })
		write(func(tx *db.Tx) error { return event.Subscribe(tx, "removed") })
		left := func(name string) int {
			t.Helper()
			write(func(tx *db.Tx) error { return event.RemoveUnknown(tx, []string{"current"}) })
			all, err := event.Cursors(d.View(t.Context()), name)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		c.Advance(60 * 24 * time.Hour)
		if left("removed") != 1 {
			t.Error("a cursor without waiting events was deleted")
		}
		write(func(tx *db.Tx) error {
			if err := event.Append(tx, event.Event{PropertyID: "prp_1", Subject: "lck_1", Kind: event.DoorOpened}); err != nil {
				return err
			}
			return assign(tx, "lck_1")
		})
		c.Advance(30 * 24 * time.Hour)
		if left("removed") != 1 {
			t.Error("the cursor was deleted before 30 days")
		}
		c.Advance(time.Second)
		if left("removed") != 0 || left("current") != 1 {
			t.Errorf("%d cursors of the removed subscriber, %d of the current one", left("removed"), left("current"))
		}
	}, dbtest.Clock(c))
}
