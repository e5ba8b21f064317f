package checkin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

func TestCheckIn(t *testing.T) {
	each(t, func(x *fixture) {
		x.do("before", x.get, checkin.NotStarted)
		x.begin()
		x.do("press", x.complete, checkin.Waiting)
		x.do("press twice", x.complete, checkin.Waiting)
		asked, calls, effects := x.desk.counts()
		if asked != 2 || len(calls) != 1 || effects != 1 {
			x.Errorf("asked %d times, called %v, %d effects", asked, calls, effects)
		}
		var body map[string]any
		if err := json.Unmarshal([]byte(x.desk.bodies[0]), &body); err != nil || len(body) != 1 || body["reservationId"] != "R1" {
			x.Errorf("checkIn sent %s", x.desk.bodies[0])
		}
		x.push(reservation.Patch{reservation.State: "started"})
		x.do("the PMS's change arrived", x.get, checkin.CheckedIn)
		x.sweep()
		v := x.do("after the sweep", x.get, checkin.CheckedIn)
		if v.Row.EndedBy != "guest" || v.Row.NextAskAt != nil {
			x.Errorf("stored: %+v", v.Row)
		}
		if x.sweep() != 0 {
			x.Error("a check-in that ended is still due")
		}
		x.wantNotices("all went well")
	})
}

// A press waits for the PMS to start the stay, and then answers that it did.
func TestPressWaitsForTheStart(t *testing.T) {
	each(t, func(x *fixture) {
		x.service.Starts = &checkin.Starts{Wait: time.Hour}
		x.d.Subscribe(reservation.Started, x.service.Starts.Notify)
		x.begin()
		x.service.Interrupt(func(point string) error {
			if point == "waits for the start" {
				go x.push(reservation.Patch{reservation.State: "started"})
			}
			return nil
		})
		x.do("press", x.complete, checkin.CheckedIn)
	})
}

// A press ends its wait without the start when the guest leaves or the time is over.
func TestPressEndsItsWait(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.service.Starts = &checkin.Starts{Wait: time.Hour}
		ctx, leave := context.WithCancel(x.Context())
		x.service.Interrupt(func(point string) error {
			if point == "waits for the start" {
				leave()
			}
			return nil
		})
		v, err := x.service.Complete(ctx, x.guest())
		if err != nil || v.Stage != checkin.Waiting {
			x.Errorf("the guest leaves: %s, %v", v.Stage, err)
		}
		x.service.Starts.Wait = time.Nanosecond
		x.do("the time is over", x.complete, checkin.Waiting)
	})
}

func TestLate(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.do("press", x.complete, checkin.Waiting)
		x.clock.Advance(time.Minute)
		x.sweep()
		if v := x.do("a minute later", x.get, checkin.Waiting); !v.Late {
			x.Error("not late")
		}
		x.wantNotices("late", "checkInLate")
		if x.sweep() != 0 {
			x.Error("still due")
		}
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		x.do("the change arrived", x.get, checkin.CheckedIn)
		x.wantNotices("arrived")
	})
}

// The PMS may send the change before it answers checkIn, and may do so without a call from Latchkey.
func TestStartedEndsTheCheckIn(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.desk.answer = func(w http.ResponseWriter, _ *http.Request, _ int) {
			x.push(reservation.Patch{reservation.State: "started"})
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		v := x.do("press", x.complete, checkin.CheckedIn)
		if v.Row.EndedBy != "guest" {
			x.Errorf("ended by %q", v.Row.EndedBy)
		}
		x.clock.Advance(time.Hour)
		x.sweep()
		x.do("later", x.again, checkin.CheckedIn)
		if _, calls, _ := x.desk.counts(); len(calls) != 1 {
			x.Errorf("called %v after the change", calls)
		}
	})
}

func TestStartedBetweenAskAndCall(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.service.Interrupt(func(point string) error {
			if point == "after getCheckInStatus" {
				x.push(reservation.Patch{reservation.State: "started"})
			}
			return nil
		})
		x.do("press", x.complete, checkin.CheckedIn)
		if _, calls, _ := x.desk.counts(); len(calls) != 0 {
			x.Errorf("called %v", calls)
		}
	})
}

func TestCanceledAndTakenBack(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.push(reservation.Patch{reservation.State: "canceled"})
		x.sweep()
		if v := x.do("canceled", x.get, checkin.Ended); v.Row.EndedBy != "canceled" {
			x.Errorf("ended by %q", v.Row.EndedBy)
		}
		x.do("press", x.complete, checkin.Ended)
		x.push(reservation.Patch{reservation.State: "confirmed"})
		x.sweep()
		if v := x.do("taken back", x.get, checkin.NotStarted); v.Row.EndedBy != "" {
			x.Errorf("ended by %q", v.Row.EndedBy)
		}
		x.begin()
		x.do("press", x.complete, checkin.Waiting)
	})
}

// An integration with many due check-ins does not keep those of another from the list.
func TestDueGivesEachIntegrationItsTurn(t *testing.T) {
	each(t, func(x *fixture) {
		due := func(integrationID string, number int, after time.Duration) {
			id := fmt.Sprintf("rsv_%s_%d", integrationID, number)
			dbtest.InsertOnce(x, x.d, "integrations", dbtest.Values{"id": integrationID, "property_id": propertyID})
			dbtest.Insert(x, x.d, "reservations", dbtest.Values{"id": id, "property_id": propertyID, "integration_id": integrationID, "pms_id": id})
			dbtest.Insert(x, x.d, "stays", dbtest.Values{"id": "sty_" + id, "property_id": propertyID, "reservation_id": id, "next_ask_at": x.clock.Now().Add(after)})
		}
		for i := range 5 {
			due("int_1", i, -time.Hour)
		}
		due("int_2", 0, -time.Second)
		due("int_2", 1, time.Second)
		_, got, err := checkin.Due(x.d.View(x.Context()), 3)
		x.must(err)
		var ids []string
		for _, k := range got {
			ids = append(ids, k.ReservationID)
		}
		if len(ids) != 3 || !slices.Contains(ids, "rsv_int_2_0") || slices.Contains(ids, "rsv_int_2_1") {
			x.Errorf("due: %v", ids)
		}
	})
}

// A companion takes no step of the check-in, whatever edge the companion uses.
func TestCompanionTakesNoStep(t *testing.T) {
	each(t, func(x *fixture) {
		companion := x.guest()
		companion.GuestID = "gst_2"
		staff := actor.Actor{Kind: actor.Staff, ID: "usr_1", PropertyID: propertyID, ReservationID: x.key.ReservationID}
		for name, step := range map[string]func(context.Context, actor.Actor) (checkin.View, error){
			"start": x.service.Start, "ask": x.service.AskAgain, "confirm": x.service.ConfirmDetails, "complete": x.service.Complete,
		} {
			for _, a := range []actor.Actor{companion, staff} {
				if _, err := step(x.Context(), a); !fault.Has(err, fault.MainGuestOnly) {
					x.Errorf("%s by %s: %v", name, a.Kind, err)
				}
			}
		}
		if asked, calls, _ := x.desk.counts(); asked+len(calls) != 0 {
			x.Errorf("asked %d times, called %v", asked, calls)
		}
		x.do("afterwards", x.get, checkin.NotStarted)
	})
}
