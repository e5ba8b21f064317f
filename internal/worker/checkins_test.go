package worker

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// front is the PMS of one integration. Until it is released, it hangs or says that the room is not ready.
type front struct {
	asked chan string   // gets the id of each reservation that was asked about
	hang  chan struct{} // is closed when a hanging PMS answers, or nil
}

func (f front) CheckInStatus(ctx context.Context, reservationID string) (checkin.Status, error) {
	f.asked <- reservationID
	if f.hang != nil {
		select {
		case <-f.hang:
		case <-ctx.Done():
		}
		return checkin.Status{}, fault.New(fault.Unavailable, fault.PartnerUnavailable, "the partner's getCheckInStatus did not answer in time")
	}
	return checkin.Status{}, nil
}

func (f front) CheckIn(context.Context, string, checkin.Disclosure) error { return nil }

// A PMS that hangs delays neither the guests of another PMS, nor what needs no call.
func TestHangingPMSDelaysOnlyItself(t *testing.T) {
	at := clock.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		at.Set(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
		queue, err := jobs.Open(d, quiet)
		if err != nil {
			t.Fatal(err)
		}
		service := &checkin.Service{DB: d, Keys: dbtest.Keys(t, d, "prp_1", "prp_2"), Queue: queue, Log: quiet}
		fronts := map[string]front{}
		var lock sync.Mutex
		service.PMS = func(_ context.Context, _, integrationID string) (checkin.PMS, error) {
			lock.Lock()
			defer lock.Unlock()
			return fronts[integrationID], nil
		}
		stays := reservation.Service{Keys: service.Keys}
		push := func(propertyID, integrationID, number string, state string) (id string) {
			write(t, d, func(tx *db.Tx) error {
				stored, err := stays.Upsert(tx, reservation.Scope{PropertyID: propertyID, IntegrationID: integrationID}, reservation.Patch{
					reservation.PMSID: number, reservation.Number: number, reservation.LastName: "Silva", reservation.State: state, reservation.FromDate: "2026-11-21", reservation.ToDate: "2026-11-23",
				}, nil)
				if err == nil {
					id = stored.Row.ID
				}
				return err
			})
			return id
		}
		start := func(propertyID, integrationID, number string) string {
			id := push(propertyID, integrationID, number, "confirmed")
			if _, err := service.Start(t.Context(), actor.Actor{Kind: actor.Guest, ID: "ses_" + id, PropertyID: propertyID, ReservationID: id, Origin: "mail"}); err != nil {
				t.Fatal(err)
			}
			return id
		}
		for _, of := range [][2]string{{"prp_1", "int_1"}, {"prp_1", "int_2"}, {"prp_2", "int_3"}} {
			dbtest.InsertOnce(t, d, "properties", dbtest.Values{"id": of[0], "name": of[0], "time_zone": "UTC"})
			dbtest.Insert(t, d, "integrations", dbtest.Values{"id": of[1], "property_id": of[0]})
			fronts[of[1]] = front{asked: make(chan string, 1000)}
		}
		var held string
		for i := range 3 * checkInsAtOnce {
			held = start("prp_1", "int_1", fmt.Sprint("hangs", i))
		}
		start("prp_1", "int_2", "same property")
		start("prp_2", "int_3", "other property")
		for _, f := range fronts {
			for len(f.asked) > 0 {
				<-f.asked
			}
		}
		release := make(chan struct{})
		lock.Lock()
		fronts["int_1"] = front{asked: fronts["int_1"].asked, hang: release}
		lock.Unlock()

		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() {
			runSweeps(ctx, d, quiet, []Sweep{CheckIns{Service: service, Log: quiet, Every: 10 * time.Millisecond}.Sweep()})
		})
		defer work.Wait()
		defer cancel()
		wait := func(f front) {
			t.Helper()
			select {
			case <-f.asked:
			case <-time.After(10 * time.Second): // a hanging call takes 15 s
				t.Fatal("not asked while another PMS hangs")
			}
		}
		for range 3 {
			at.Advance(2*time.Minute + time.Second)
			wait(fronts["int_2"])
			wait(fronts["int_3"])
		}
		at.Advance(time.Second)
		stored := make(chan struct{}, 1) // the end of a check-in is an event
		d.Subscribe(event.Appended, func(string) {
			select {
			case stored <- struct{}{}:
			default:
			}
		})
		push("prp_1", "int_1", "hangs11", "started")
		for ended := false; !ended; {
			row, err := d.View(t.Context()).Stay.Query().Where(entstay.PropertyID("prp_1"), entstay.ReservationID(held)).Only(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if ended = row.EndedBy == "pms"; ended {
				continue
			}
			select {
			case <-stored:
			case <-time.After(10 * time.Second):
				t.Fatalf("a check-in that the desk completed waits for a hanging PMS; ended by %q", row.EndedBy)
			}
		}
		for range checkInsAtOnce {
			wait(fronts["int_1"])
		}
		if n := len(fronts["int_1"].asked); n != 0 {
			t.Errorf("the hanging PMS has %d calls at once, want %d", checkInsAtOnce+n, checkInsAtOnce)
		}
		close(release)
	}, dbtest.Clock(at))
}
