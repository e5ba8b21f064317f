package event_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/sourcetest"
)

// of returns the events of one subject, oldest first.
func of(tx *db.Tx, propertyID, subject string) ([]*ent.Event, error) {
	return tx.Event.Query().Where(entevent.PropertyID(propertyID), entevent.Subject(subject)).Order(entevent.BySubjectSequence()).All(tx.Context())
}

// The events of one subject are numbered without gaps, even if many are appended concurrently, and are stored if and only if
// their change is.
func TestNumbers(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var wg sync.WaitGroup
		for i := range 24 {
			wg.Go(func() {
				subject := fmt.Sprintf("lck_%d", i%2)
				err := d.Write(t.Context(), func(tx *db.Tx) error {
					return event.Append(tx, event.Event{PropertyID: "prp_1", Subject: subject, Kind: event.DoorOpened, Body: map[string]any{"n": i}})
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wrong := errors.New("wrong")
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			return errors.Join(event.Append(tx, event.Event{PropertyID: "prp_1", Subject: "lck_0", Kind: event.DoorOpened}), wrong)
		})
		if !errors.Is(err, wrong) {
			t.Fatal(err)
		}
		view := d.View(t.Context())
		for _, subject := range []string{"lck_0", "lck_1"} {
			rows, err := of(view, "prp_1", subject)
			if err != nil || len(rows) != 12 {
				t.Fatalf("%d events of %s, %v", len(rows), subject, err)
			}
			for i, e := range rows {
				if e.SubjectSequence != int64(i+1) || !e.OccurredAt.Equal(at) || !e.CreatedAt.Equal(at) {
					t.Errorf("%s: %v", subject, e)
				}
			}
		}
		if rows, err := of(view, "prp_2", "lck_0"); err != nil || len(rows) != 0 {
			t.Errorf("another property reads %d events, %v", len(rows), err)
		}
	}, dbtest.Clock(clock.At(at)))
}

// A property is deleted with its events while a subscriber that has read them stores its cursor.
func TestPositionsOfDeletedEventsAreNotAssignedAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var positions []int64
		for range 2 {
			err := d.Write(t.Context(), func(tx *db.Tx) error {
				if _, err := tx.Event.Delete().Where(entevent.PropertyID("prp_1")).Exec(tx.Context()); err != nil {
					return err
				}
				if err := event.Append(tx, event.Event{PropertyID: "prp_1", Subject: "lck_1", Kind: event.DoorOpened}); err != nil {
					return err
				}
				return assign(tx, "lck_1")
			})
			if err != nil {
				t.Fatal(err)
			}
			positions = append(positions, *d.View(t.Context()).Event.Query().Where(entevent.PropertyID("prp_1")).OnlyX(t.Context()).Position)
		}
		if positions[1] <= positions[0] {
			t.Errorf("positions %v", positions)
		}
	})
}

// declaredKinds returns the kinds that the package declares.
func declaredKinds(t *testing.T) (kinds []event.Kind) {
	t.Helper()
	for _, kind := range sourcetest.Constants(t, "kind.go", "Kind") {
		kinds = append(kinds, event.Kind(kind))
	}
	return kinds
}

// Every kind is either delivered to subscribers or internal.
func TestKindsAreComplete(t *testing.T) {
	declared := declaredKinds(t)
	if len(declared) < 20 {
		t.Fatalf("only %d kinds found in the source", len(declared))
	}
	for _, k := range declared {
		if slices.Contains(event.Kinds, k) == k.Internal() {
			t.Errorf("%s: in Kinds %t, internal %t: want exactly one", k, slices.Contains(event.Kinds, k), k.Internal())
		}
	}
	for _, k := range event.Kinds {
		if !slices.Contains(declared, k) {
			t.Errorf("%s is in Kinds and not declared", k)
		}
	}
}
