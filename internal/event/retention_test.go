package event_test

import (
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
				return tx.Event.Update().Where(entevent.Subject(subject)).SetDispatchedAt(tx.Now()).Exec(tx.Context())
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
