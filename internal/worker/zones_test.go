package worker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent"
	entarrival "latchkey.dev/ent/arrival"
	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// insertLostProperty stores a property with a time zone that this machine does not know, and another one.
func insertLostProperty(t *testing.T, d *db.DB) {
	t.Helper()
	for id, zone := range map[string]string{"prp_lost": "Europe/Atlantis", "prp_one": "Europe/Lisbon"} {
		dbtest.Insert(t, d, "properties", dbtest.Values{"id": id, "time_zone": zone, "check_in_time": "00:00"})
	}
}

// A property with an unknown time zone does not keep the staff of others from hearing of a silent tablet.
func TestAnUnknownTimeZoneStopsNoNoticeOfKiosks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insertLostProperty(t, d)
		silent := time.Now().UTC().Add(-time.Hour)
		for id, propertyID := range map[string]string{"ksk_1": "prp_lost", "ksk_2": "prp_one"} {
			dbtest.Insert(t, d, "kiosks", dbtest.Values{"id": id, "property_id": propertyID, "enrolled_at": silent, "seen_at": silent})
		}
		if err := notifySilentKiosks(t.Context(), d); err == nil || !strings.Contains(err.Error(), "Atlantis") {
			t.Errorf("the run does not say what failed: %v", err)
		}
		found, err := d.View(t.Context()).Notice.Query().Where(entnotice.Kind(string(notice.KioskOffline))).All(t.Context())
		if err != nil || len(found) != 1 || found[0].Subject != "ksk_2" {
			t.Errorf("%v, %v", found, err)
		}
	})
}

// Its arrivals do not keep those of others from being checked either, also if they fill a batch.
func TestAnUnknownTimeZoneStopsNoCheckOfArrivals(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		insertLostProperty(t, d)
		dbtest.Insert(t, d, "integrations", dbtest.Values{"id": "int_lost", "property_id": "prp_lost"})
		dbtest.Insert(t, d, "integrations", dbtest.Values{"id": "int_one", "property_id": "prp_one"})
		now := time.Now().UTC().Truncate(time.Microsecond)
		write(t, d, func(tx *db.Tx) error {
			add := func(id, house string, due time.Duration) (*ent.ReservationCreate, *ent.ArrivalCreate) {
				from := now.Add(2 * time.Hour)
				r := tx.Reservation.Create().SetID(id).SetPropertyID("prp_" + house).SetIntegrationID("int_" + house).SetPmsID(id).SetPmsNumber("N").
					SetBooker([]byte("sealed")).SetState("confirmed").SetFromAt(from).SetToAt(from.Add(24 * time.Hour)).SetCreatedAt(now).SetUpdatedAt(now)
				return r, tx.Arrival.Create().SetID(id).SetPropertyID("prp_" + house).SetFromAt(from).SetMinutes(1440).SetVerdict("ready").
					SetJudgedAt(now.Add(-time.Hour)).SetAgainAt(now.Add(due))
			}
			var stays []*ent.ReservationCreate
			var arrivals []*ent.ArrivalCreate
			for i := range arrivalBatch {
				r, a := add(fmt.Sprintf("rsv_%03d", i), "lost", -2*time.Hour)
				stays, arrivals = append(stays, r), append(arrivals, a)
			}
			r, a := add("rsv_one", "one", -time.Hour)
			if err := tx.Reservation.CreateBulk(append(stays, r)...).Exec(tx.Context()); err != nil {
				return err
			}
			return tx.Arrival.CreateBulk(append(arrivals, a)...).Exec(tx.Context())
		})
		a := Arrivals{Reservations: reservation.Service{Keys: dbtest.Keys(t, d, "prp_one")}}
		if err := a.checkDue(t.Context(), d); err == nil || !strings.Contains(err.Error(), "prp_lost") {
			t.Errorf("the run does not say what failed: %v", err)
		}
		checked, err := d.View(t.Context()).Arrival.Query().Where(entarrival.AgainAtGT(d.Clock().Now())).IDs(t.Context())
		if err != nil || len(checked) != 1 || checked[0] != "rsv_one" {
			t.Errorf("checked %v, %v", checked, err)
		}
	})
}
