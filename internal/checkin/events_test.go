package checkin_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/reservation"
)

// wantEvents compares the events for partners about the stay, oldest first: kind and body.
func (x *fixture) wantEvents(want ...string) {
	x.Helper()
	var got []string
	kinds := []string{"preCheckIn.completed", "checkIn.started", "checkIn.blocked", "checkIn.completed"}
	for _, e := range x.d.View(x.Context()).Event.Query().Where(entevent.Subject(x.key.ReservationID), entevent.KindIn(kinds...)).Order(entevent.BySubjectSequence()).AllX(x.Context()) {
		body := map[string]any{}
		for name, value := range e.Body {
			if name != "reservationId" {
				body[name] = value
			}
		}
		raw, err := json.Marshal(body)
		x.must(err)
		if e.Body["reservationId"] != x.key.ReservationID || len(e.Body) > 2 {
			x.Errorf("%s: %v", e.Kind, e.Body)
		}
		got = append(got, e.Kind+" "+string(raw))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		x.Errorf("events: %s", diff)
	}
}

// Each transition of a check-in is recorded once, with a body without names and answers.
func TestEventsForPartners(t *testing.T) {
	each(t, func(x *fixture) {
		x.answer(map[string]string{"firstName": "Ana Maria"}) // no transition
		x.desk.set(func() { x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":false}` })
		x.do("start", x.start, checkin.Stopped, checkin.StopOwing, checkin.StopRoomNotReady)
		x.do("start twice", x.start, checkin.Stopped, checkin.StopOwing, checkin.StopRoomNotReady)
		x.do("ask again", x.again, checkin.Stopped, checkin.StopOwing, checkin.StopRoomNotReady)
		x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":true}` })
		x.do("paid", x.again, checkin.ConfirmDetails)
		x.do("confirm", x.confirm, checkin.Ready)
		x.desk.set(func() {
			x.desk.answer = func(w http.ResponseWriter, _ *http.Request, call int) {
				if call < 4 {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			}
		})
		x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		for range 3 {
			x.clock.Advance(2 * time.Minute)
			x.sweep()
		}
		x.do("accepted", x.get, checkin.Waiting)
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		x.push(reservation.Patch{reservation.State: "started", reservation.Number: "8799"})
		x.sweep()
		x.wantEvents(`preCheckIn.completed {}`, `checkIn.started {"origin":"mail"}`, `checkIn.blocked {"reason":"owing"}`, `checkIn.blocked {"reason":"roomNotReady"}`,
			`checkIn.blocked {"reason":"noAnswer"}`, `checkIn.completed {"by":"guest"}`)
	})
}

// The PMS takes a check-in back and starts the stay itself: what happens again is recorded again.
func TestEventsOfASecondCheckIn(t *testing.T) {
	each(t, func(x *fixture) {
		kiosk := x.guest()
		kiosk.Origin = "ksk_1"
		_, err := x.service.Start(x.Context(), kiosk)
		x.must(err)
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		x.clock.Advance(time.Second)
		x.push(reservation.Patch{reservation.State: "confirmed"})
		x.sweep()
		x.begin()
		x.do("press", x.complete, checkin.Waiting)
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		x.wantEvents(`preCheckIn.completed {}`, `checkIn.started {"origin":"kiosk"}`, `checkIn.completed {"by":"pms"}`,
			`checkIn.started {"origin":"mail"}`, `checkIn.completed {"by":"guest"}`)
	})
}

// A check-in at the desk, without the guest's beginning, is no self check-in. A party that grows is complete again with the last answer.
func TestEventsOfTheForm(t *testing.T) {
	each(t, func(x *fixture) {
		x.push(reservation.Patch{reservation.Adults: 2})
		x.sweep()
		x.answer(map[string]string{"firstName": "Ana", "lastName": "Silva"})
		x.answer(map[string]string{"firstName": "Ana", "lastName": "Silva"})
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		x.wantEvents(`preCheckIn.completed {}`, `preCheckIn.completed {}`)
	})
}

// A crash after the beginning repeats no event.
func TestEventsAfterACrash(t *testing.T) {
	each(t, func(x *fixture) {
		x.service.Interrupt(func(string) error { return errCrash })
		if _, err := x.start(); err == nil {
			x.Fatal("not interrupted")
		}
		x.service.Interrupt(nil)
		x.wantEvents(`preCheckIn.completed {}`, `checkIn.started {"origin":"mail"}`)
		x.do("start again", x.start, checkin.ConfirmDetails)
		x.wantEvents(`preCheckIn.completed {}`, `checkIn.started {"origin":"mail"}`)
	})
}
