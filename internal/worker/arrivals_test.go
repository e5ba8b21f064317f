package worker

import (
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/test/dbtest"
)

func TestEventsRescheduleArrivalChecks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Insert(t, d, "reservations", dbtest.Values{"id": "rsv_one", "property_id": "prp_one"})
		later := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
		hear := Arrivals{}.Subscriber().Apply
		for _, c := range []struct {
			name  string
			event ent.Event
			soon  bool
		}{
			{"a lock is lost", ent.Event{Kind: string(event.LockOffline), PropertyID: "prp_one", Subject: "lck_one"}, true},
			{"an endpoint fails", ent.Event{Kind: string(event.EndpointFailing), PropertyID: "prp_one", Subject: "int_one"}, true},
			{"another house", ent.Event{Kind: string(event.LockOffline), PropertyID: "prp_two", Subject: "lck_two"}, false},
			{"its own code", ent.Event{Kind: string(event.AccessIssued), PropertyID: "prp_one", Subject: "rsv_one"}, true},
			{"another stay's code", ent.Event{Kind: string(event.AccessIssued), PropertyID: "prp_one", Subject: "rsv_two"}, false},
			{"a door that opened", ent.Event{Kind: string(event.DoorOpened), PropertyID: "prp_one", Subject: "rsv_one"}, false},
		} {
			write(t, d, func(tx *db.Tx) error {
				if _, err := tx.Arrival.Delete().Exec(tx.Context()); err != nil {
					return err
				}
				return tx.Arrival.Create().SetID("rsv_one").SetPropertyID("prp_one").SetFromAt(later).SetMinutes(120).SetVerdict("ready").
					SetJudgedAt(tx.Now()).SetAgainAt(later).Exec(tx.Context())
			})
			write(t, d, func(tx *db.Tx) error { return hear(tx, []*ent.Event{&c.event}) })
			a, err := d.View(t.Context()).Arrival.Get(t.Context(), "rsv_one")
			if err != nil {
				t.Fatal(err)
			}
			if soon := a.AgainAt.Before(later); soon != c.soon {
				t.Errorf("%s: checked soon: %v, want %v", c.name, soon, c.soon)
			}
		}
	})
}
