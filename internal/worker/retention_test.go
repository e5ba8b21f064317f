package worker

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// A sweep that is stopped between two batches leaves each stay either complete or removed, and the next sweep removes the others.
func TestRetentionContinues(t *testing.T) {
	const stays = 5*retentionBatch + 5
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insertProperty(t, d)
		ended := time.Now().UTC().Add(-60 * 24 * time.Hour).Truncate(time.Microsecond)
		write(t, d, func(tx *db.Tx) error {
			for i := range stays {
				id := fmt.Sprintf("rsv_%03d", i)
				err := tx.Reservation.Create().SetID(id).SetPropertyID("prp_one").SetIntegrationID("int_one").SetPmsID(id).SetPmsNumber("N").
					SetBooker([]byte("sealed")).SetState("processed").SetFromAt(ended.Add(-time.Hour)).SetToAt(ended).SetCreatedAt(ended).SetUpdatedAt(ended).Exec(tx.Context())
				if err != nil {
					return err
				}
				err = tx.Grant.Create().SetID("grt_" + id).SetPropertyID("prp_one").SetReservationID(id).SetPlacedAt(ended).SetNotBefore(ended).SetNotAfter(ended).
					SetEndedAt(ended).SetCreatedAt(ended).Exec(tx.Context())
				if err != nil {
					return err
				}
				err = tx.Event.Create().SetID(int64(i + 1)).SetPropertyID("prp_one").SetSubject(id).SetSubjectSequence(1).SetKind(string(event.AccessRemoved)).
					SetBody(map[string]any{}).SetOccurredAt(ended).SetCreatedAt(ended).Exec(tx.Context())
				if err != nil {
					return err
				}
			}
			return nil
		})
		r := Retention{Log: slog.New(slog.DiscardHandler),
			Reservations: reservation.Service{Keys: dbtest.Keys(t, d, "prp_one"), Keep: 30 * 24 * time.Hour}}
		left := func() int { return d.View(t.Context()).Reservation.Query().CountX(t.Context()) }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Sweep().Run(ctx, d) }()
		for left() == stays && t.Context().Err() == nil {
		}
		cancel()
		<-done
		expect := func(n int) {
			t.Helper()
			view, ctx := d.View(t.Context()), t.Context()
			got := []int{view.Reservation.Query().CountX(ctx), view.Grant.Query().CountX(ctx), view.Event.Query().CountX(ctx), stays - view.Tombstone.Query().CountX(ctx)}
			if want := []int{n, n, n, n}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("stays, access, events, and stays without a tombstone: %v, want %v", got, want)
			}
		}
		expect(left())
		if err := r.Sweep().Run(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		expect(0)
	})
}

// Messages end as long after the stay as their property says.
func TestMessagesEndWhenThePropertySaysSo(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insertProperty(t, d)
		keys, days := dbtest.Keys(t, d, "prp_one"), 10
		ended := time.Now().UTC().AddDate(0, 0, -days-1)
		dbtest.Insert(t, d, "reservations", dbtest.Values{"id": "rsv_one", "property_id": "prp_one", "integration_id": "int_one", "to_at": ended})
		dbtest.Insert(t, d, "guests", dbtest.Values{"id": "gst_one", "property_id": "prp_one", "reservation_id": "rsv_one"})
		dbtest.Insert(t, d, "messages", dbtest.Values{"id": "msg_one", "property_id": "prp_one", "reservation_id": "rsv_one", "guest_id": "gst_one", "created_at": ended})
		for _, step := range []struct{ days, left int }{{0, 1}, {days + 5, 1}, {days, 0}} {
			write(t, d, func(tx *db.Tx) error {
				_, err := property.UpdateCheckInSettings(tx, "prp_one", property.CheckInChange{MessageDays: &step.days})
				return err
			})
			for _, s := range (Maintenance{Keys: keys}).Sweeps() {
				if s.Name == "messages" {
					if err := s.Run(t.Context(), d); err != nil {
						t.Fatal(err)
					}
				}
			}
			if n := d.View(t.Context()).Message.Query().CountX(t.Context()); n != step.left {
				t.Errorf("%d days: %d messages are left, want %d", step.days, n, step.left)
			}
		}
	})
}

// One sweep deletes the old entries of the audit log of all properties, however few each has.
func TestOldAuditOfAllPropertiesIsDeleted(t *testing.T) {
	now := clock.At(postBegin)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now.Set(postBegin)
		insertProperty(t, d)
		dbtest.Insert(t, d, "properties", dbtest.Values{"id": "prp_two"})
		keys := dbtest.Keys(t, d, "prp_one")
		for _, propertyID := range []string{"prp_one", "prp_two", "prp_one"} {
			write(t, d, func(tx *db.Tx) error {
				return audit.Append(tx, keys, audit.Record{PropertyID: propertyID, Actor: "staff:prs_one", Action: "x", Outcome: audit.Done})
			})
		}
		now.Advance(48 * time.Hour)
		if err := (Maintenance{Keys: keys, KeepAudit: 24 * time.Hour}).deleteOldAudit(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if n := d.View(t.Context()).AuditEntry.Query().CountX(t.Context()); n != 0 {
			t.Errorf("%d old entries are left", n)
		}
	}, dbtest.Clock(now))
}
