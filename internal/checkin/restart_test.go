package checkin_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/reservation"
)

// restart replaces the service, as after the end of its process: only what is stored remains.
func (x *fixture) restart() {
	x.service = &checkin.Service{DB: x.d, Keys: x.service.Keys, Queue: x.service.Queue, Log: x.service.Log, PMS: x.partner(true)}
}

// What is due is stored, so that it is done after a restart, and not earlier.
func TestTimersSurviveARestart(t *testing.T) {
	type check struct {
		after time.Duration // since the restart
		due   int
		calls [2]int // getCheckInStatus and checkIn
		want  checkin.Stage
		stops []checkin.StopReason
		late  bool
	}
	noAnswer, notReady := []checkin.StopReason{checkin.StopNoAnswer}, []checkin.StopReason{checkin.StopRoomNotReady}
	for name, test := range map[string]struct {
		before func(x *fixture)
		checks []check
	}{
		"a minute without the PMS's change": {
			func(x *fixture) { x.begin(); x.do("press", x.complete, checkin.Waiting) },
			[]check{
				{59 * time.Second, 0, [2]int{2, 1}, checkin.Waiting, nil, false},
				{60 * time.Second, 1, [2]int{2, 1}, checkin.Waiting, nil, true},
			},
		},
		"a call without an answer": {
			func(x *fixture) {
				x.desk.set(func() { x.desk.answer = status(http.StatusServiceUnavailable) })
				x.begin()
				x.do("press", x.complete, checkin.Stopped, noAnswer...)
			},
			[]check{
				{4 * time.Second, 0, [2]int{2, 1}, checkin.Stopped, noAnswer, false},
				{5 * time.Second, 1, [2]int{2, 2}, checkin.Stopped, noAnswer, false},
				{14 * time.Second, 0, [2]int{2, 2}, checkin.Stopped, noAnswer, false},
				{15 * time.Second, 1, [2]int{2, 3}, checkin.Stopped, noAnswer, false},
			},
		},
		"a room that is not ready": {
			func(x *fixture) {
				x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":false}` })
				x.do("start", x.start, checkin.Stopped, notReady...)
			},
			[]check{
				{119 * time.Second, 0, [2]int{1, 0}, checkin.Stopped, notReady, false},
				{120 * time.Second, 1, [2]int{2, 0}, checkin.Stopped, notReady, false},
				{240 * time.Second, 1, [2]int{3, 0}, checkin.Stopped, notReady, false},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(x *fixture) {
				test.before(x)
				began := x.clock.Now()
				for _, c := range test.checks {
					x.restart()
					x.clock.Set(began.Add(c.after))
					if due := x.sweep(); due != c.due {
						x.Errorf("after %s: %d due, want %d", c.after, due, c.due)
					}
					v := x.do(c.after.String(), x.get, c.want, c.stops...)
					asked, calls, effects := x.desk.counts()
					if got := [2]int{asked, len(calls)}; got != c.calls || effects > 1 || v.Late != c.late {
						x.Errorf("after %s: calls %v, %d effects, late %t; want %v and %t", c.after, got, effects, v.Late, c.calls, c.late)
					}
				}
			})
		})
	}
}

// A room that moves while checkIn is called changes neither the key nor the body. The PMS decides, and the stay begins in the new room.
func TestRoomMovesDuringTheCall(t *testing.T) {
	for name, code := range map[string]int{"accepted": http.StatusOK, "no answer": http.StatusServiceUnavailable, "refused": http.StatusUnprocessableEntity} {
		t.Run(name, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.push(reservation.Patch{reservation.RoomID: "101"})
				x.desk.set(func() {
					x.desk.answer = func(w http.ResponseWriter, _ *http.Request, call int) {
						if call == 1 {
							x.push(reservation.Patch{reservation.RoomID: "102"})
							w.WriteHeader(code)
						}
					}
				})
				x.begin()
				_, err := x.complete()
				x.must(err)
				x.clock.Advance(10 * time.Second)
				x.sweep()
				if code >= 400 && code < 500 {
					x.do("refused", x.get, checkin.Stopped, checkin.StopCheckInRefused)
					x.do("press again", x.complete, checkin.Waiting)
				}
				x.do("accepted", x.get, checkin.Waiting)
				_, calls, effects := x.desk.counts()
				want := map[int]int{200: 1, 503: 1, 422: 2}[code]
				if effects != want || len(slices.Compact(slices.Clone(x.desk.bodies))) != 1 {
					x.Errorf("%d effects, want %d; called %v with %v", effects, want, calls, x.desk.bodies)
				}
				x.push(reservation.Patch{reservation.State: "started", reservation.RoomID: "102"})
				x.sweep()
				if v := x.do("started", x.get, checkin.CheckedIn); v.Row.EndedBy != "guest" {
					x.Errorf("ended by %q", v.Row.EndedBy)
				}
				x.wantNotices("started")
			})
		})
	}
}

// A room that moves while another one is prepared is asked about at once. A guest who was mailed about the first room and stops at the
// second one gets no promise of another mail.
func TestRoomMovesWhileItIsPrepared(t *testing.T) {
	each(t, func(x *fixture) {
		x.push(reservation.Patch{reservation.RoomID: "101"})
		x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":false}` })
		x.do("start", x.start, checkin.Stopped, checkin.StopRoomNotReady)
		x.clock.Advance(time.Second)
		x.push(reservation.Patch{reservation.RoomID: "102"})
		x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":true}` })
		x.sweep()
		x.do("the other room is ready", x.get, checkin.ConfirmDetails)
		x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":false}` })
		x.do("confirm", x.confirm, checkin.Ready)
		v := x.do("press", x.complete, checkin.Stopped, checkin.StopRoomNotReady)
		if v.IsRoomReadyMailPending() {
			x.Error("a second mail about the room is promised and not sent")
		}
		if _, calls, _ := x.desk.counts(); len(calls) != 0 {
			x.Errorf("called %v", calls)
		}
	})
}
