package checkin_test

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/reservation"
)

// A call without a usable answer is repeated under its key, and never begins another attempt.
func TestNoAnswerIsRetriedUnderTheSameKey(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request, call int){
		"408": status(408), "409": status(409), "425": status(425), "429": status(429), "500": status(500), "503": status(503),
		"hangs":    func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() },
		"cuts off": func(http.ResponseWriter, *http.Request, int) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.desk.answer = func(w http.ResponseWriter, r *http.Request, call int) {
					if call < 3 {
						answer(w, r, call)
					}
				}
				x.begin()
				x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
				x.wantNotices("no answer", "checkInNoAnswer")
				x.do("press again", x.complete, checkin.Stopped, checkin.StopNoAnswer)
				if x.sweep() != 0 {
					x.Error("repeated at once")
				}
				x.clock.Advance(10 * time.Second)
				x.sweep()
				x.do("after the sweep", x.get, checkin.Waiting)
				x.wantNotices("accepted")
				if _, calls, effects := x.desk.counts(); len(calls) != 3 || effects != 1 {
					x.Errorf("called %v", calls)
				}
			})
		})
	}
}

// A refusal ends the attempt: the next press has another key.
func TestRefusalEndsTheAttempt(t *testing.T) {
	presses := map[string]func(x *fixture) (checkin.View, error){"check in now": (*fixture).complete, "try again": (*fixture).again}
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request, call int){
		"400": status(400), "404": status(404), "302": status(302),
		"200 with an error": func(w http.ResponseWriter, _ *http.Request, _ int) {
			_, _ = io.WriteString(w, `{"error":{"code":9,"reason":"roomTaken","message":"the room is taken","status":409}}`)
		},
	} {
		for button, press := range presses {
			t.Run(name+", "+button, func(t *testing.T) {
				each(t, func(x *fixture) {
					x.desk.answer = func(w http.ResponseWriter, r *http.Request, call int) {
						if call == 1 {
							answer(w, r, call)
						}
					}
					x.begin()
					v := x.do("press", x.complete, checkin.Stopped, checkin.StopCheckInRefused)
					if v.Row.Refusal.Status == 0 {
						x.Errorf("the status of the answer is not stored: %+v", v.Row.Refusal)
					}
					x.wantNotices("refused", "checkInRefused")
					x.clock.Advance(time.Hour)
					if x.sweep() != 0 {
						x.Error("repeated without a press")
					}
					x.do("staff ask", x.askAsStaff, checkin.Stopped, checkin.StopCheckInRefused)
					x.do("press again", func() (checkin.View, error) { return press(x) }, checkin.Waiting)
					if _, calls, _ := x.desk.counts(); len(calls) != 2 || calls[0] == calls[1] {
						x.Errorf("called %v", calls)
					}
				})
			})
		}
	}
}

func TestNotRegistered(t *testing.T) {
	each(t, func(x *fixture) {
		x.service.PMS = x.partner(false)
		x.push(reservation.Patch{reservation.Owing: 5.0, reservation.Currency: "EUR"})
		x.do("start", x.start, checkin.Stopped, checkin.StopOwing)
		x.push(reservation.Patch{reservation.Owing: 0.0, reservation.Currency: "EUR"})
		x.do("paid", x.get, checkin.ConfirmDetails)
		x.do("confirm", x.confirm, checkin.Ready)
		x.do("press", x.complete, checkin.AtDesk, checkin.StopAtDesk)
		x.wantNotices("at the desk", "checkInAtDesk")
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		v := x.do("the desk checked in", x.get, checkin.CheckedIn)
		if v.Row.EndedBy != "pms" {
			x.Errorf("ended by %s", v.Row.EndedBy)
		}
		x.wantNotices("checked in")
	})
}

// Of two guests who press at once, one calls.
func TestTwoGuestsRace(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, err := x.complete(); err != nil {
					x.Error(err)
				}
			})
		}
		all.Wait()
		x.do("afterwards", x.get, checkin.Waiting)
		if _, calls, effects := x.desk.counts(); len(calls) != 1 || effects != 1 {
			x.Errorf("called %v", calls)
		}
	})
}

var errCrash = errors.New("the process was killed")

// A crash at any point leaves a check-in that a sweep or the guest completes, with one effect at the PMS.
func TestCrash(t *testing.T) {
	for _, point := range []string{"before getCheckInStatus", "after getCheckInStatus", "before checkIn", "after checkIn"} {
		t.Run(point, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.begin()
				x.service.Interrupt(func(at string) error {
					if at == point {
						return errCrash
					}
					return nil
				})
				if _, err := x.complete(); !errors.Is(err, errCrash) {
					x.Fatalf("got %v", err)
				}
				x.service.Interrupt(nil)
				x.clock.Advance(30 * time.Second)
				x.sweep()
				if v, err := x.get(); err != nil || v.Stage == checkin.Ready {
					x.do("the guest presses again", x.complete, checkin.Waiting)
				}
				x.do("afterwards", x.get, checkin.Waiting)
				if _, _, effects := x.desk.counts(); effects != 1 {
					x.Errorf("%d effects", effects)
				}
			})
		})
	}
	t.Run("after the beginning", func(t *testing.T) {
		each(t, func(x *fixture) {
			x.service.Interrupt(func(string) error { return errCrash })
			if _, err := x.start(); !errors.Is(err, errCrash) {
				x.Fatalf("got %v", err)
			}
			x.service.Interrupt(nil)
			x.clock.Advance(30 * time.Second)
			x.sweep()
			x.do("afterwards", x.get, checkin.ConfirmDetails)
		})
	})
}
