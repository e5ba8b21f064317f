package checkin_test

import (
	"net/http"
	"testing"
	"time"

	entevent "latchkey.dev/ent/event"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/reservation"
)

func (x *fixture) endCall() (v checkin.View, err error) {
	err = x.d.Write(x.Context(), func(tx *db.Tx) error {
		v, err = x.service.ForgetUnansweredCall(tx, x.key, "Marta")
		return err
	})
	return v, err
}

func (x *fixture) askAsStaff() (checkin.View, error) {
	return x.service.AskAgainAsStaff(x.Context(), x.key)
}

// Staff repeat a call without an answer under its key, also after the sweep has stopped. The session of the guest who pressed remains.
func TestStaffRepeatACall(t *testing.T) {
	each(t, func(x *fixture) {
		x.push(reservation.Patch{reservation.ToDate: "2026-11-28"})
		x.desk.set(func() { x.desk.answer = status(http.StatusServiceUnavailable) })
		x.begin()
		x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		x.clock.Advance(25 * time.Hour)
		x.sweep()
		x.do("a day later", x.get, checkin.Stopped, checkin.StopNoAnswer)
		if x.sweep() != 0 {
			x.Error("the sweep still repeats the call")
		}
		x.desk.set(func() { x.desk.answer = nil })
		v := x.do("staff", x.askAsStaff, checkin.Waiting)
		if _, calls, effects := x.desk.counts(); effects != 1 || len(calls) < 2 {
			x.Errorf("called %v", calls)
		}
		if v.Row.AttemptSession != "ses_1" {
			x.Errorf("session %q", v.Row.AttemptSession)
		}
		x.wantNotices("accepted")
	})
}

// Staff ask getCheckInStatus again at once, for a guest who has begun.
func TestStaffAskAgain(t *testing.T) {
	each(t, func(x *fixture) {
		x.do("before the guest began", x.askAsStaff, checkin.NotStarted)
		if asked, _, _ := x.desk.counts(); asked != 0 {
			x.Errorf("asked %d times", asked)
		}
		x.desk.set(func() { x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":true}` })
		x.do("start", x.start, checkin.Stopped, checkin.StopOwing)
		x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":true}` })
		x.do("staff", x.askAsStaff, checkin.ConfirmDetails)
		x.wantNotices("paid")
	})
}

// Staff waive an amount that is owed, as they saw it. A larger amount stops the check-in again, and nothing else can be waived.
func TestStaffWaiveOwing(t *testing.T) {
	each(t, func(x *fixture) {
		waive := func(seen string) func() (checkin.View, error) {
			return func() (v checkin.View, err error) {
				err = x.d.Write(x.Context(), func(tx *db.Tx) error {
					v, err = x.service.WaiveOwing(tx, x.key, "Marta", seen)
					return err
				})
				return v, err
			}
		}
		refused := func(when, seen string) {
			x.Helper()
			if _, err := waive(seen)(); !fault.Has(err, fault.Outdated) {
				x.Errorf("%s: %v", when, err)
			}
		}
		refused("before the check-in", "84.00 EUR")
		x.desk.set(func() { x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":false}` })
		x.do("start", x.start, checkin.Stopped, checkin.StopOwing, checkin.StopRoomNotReady)
		refused("another amount", "80.00 EUR")
		x.do("waive", waive("84.00 EUR"), checkin.Stopped, checkin.StopRoomNotReady)
		refused("the room is not ready", "84.00 EUR")
		x.desk.set(func() { x.desk.status = `{"owing":85,"owingCurrency":"EUR","roomReady":true}` })
		x.do("the PMS adds a bill", x.askAsStaff, checkin.Stopped, checkin.StopOwing)
		refused("what the PMS has changed since", "84.00 EUR")
		x.do("waive again", waive("85.00 EUR"), checkin.ConfirmDetails)
		x.wantNotices("waived")
		rows := x.d.View(x.Context()).Event.Query().Where(entevent.Kind(string(event.OwingWaived))).AllX(x.Context())
		if len(rows) != 2 || rows[1].Body["by"] != "Marta" || rows[1].Body["owing"] != "85.00 EUR" {
			x.Errorf("recorded: %v", rows)
		}
	})
}

// Staff end a call without an answer. Only the guest's press calls again, under another key. A late answer to the ended call changes
// nothing.
func TestStaffEndACall(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() { x.desk.answer = status(http.StatusServiceUnavailable) })
		x.begin()
		refused := func(when string) {
			x.Helper()
			if _, err := x.endCall(); !fault.Has(err, fault.NoUnansweredCall) {
				x.Errorf("%s: %v", when, err)
			}
		}
		refused("before a call")
		x.desk.set(func() {
			x.desk.answer = func(w http.ResponseWriter, _ *http.Request, _ int) {
				refused("while the call runs")
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		x.desk.set(func() { x.desk.answer = nil })
		x.do("end", x.endCall, checkin.Ready)
		x.wantNotices("ended")
		refused("twice")
		x.clock.Advance(time.Hour)
		if x.sweep() != 0 {
			x.Error("called without a press")
		}
		x.do("press again", x.complete, checkin.Waiting)
		if _, calls, _ := x.desk.counts(); len(calls) != 2 || calls[0] == calls[1] {
			x.Errorf("called %v", calls)
		}
		refused("after the PMS accepted")
		rows := x.d.View(x.Context()).Event.Query().Where(entevent.Kind(string(event.CallEnded))).AllX(x.Context())
		if len(rows) != 1 || rows[0].Body["by"] != "Marta" || rows[0].Body["reservationId"] != x.key.ReservationID {
			x.Errorf("recorded: %v", rows)
		}
	})
}

// An answer that arrives after staff ended its call does not decide about the next one.
func TestAnswerAfterTheEndOfItsCall(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() { x.desk.answer = status(http.StatusServiceUnavailable) })
		x.begin()
		x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		x.service.Interrupt(func(point string) error {
			if point != "after checkIn" {
				return nil
			}
			x.service.Interrupt(nil)
			x.clock.Advance(time.Hour) // the process was suspended: another one repeated the call without success
			x.must(x.service.Resume(x.Context(), x.key))
			x.do("end", x.endCall, checkin.Ready)
			return nil
		})
		x.do("a late refusal", x.askAsStaff, checkin.Ready)
	})
}

// Staff read which call to the PMS failed, when the PMS last answered, and since when a reason lasts.
func TestFactsForStaff(t *testing.T) {
	each(t, func(x *fixture) {
		began := x.clock.Now()
		facts := func(v checkin.View, i int) checkin.StopFacts {
			x.Helper()
			f, err := x.service.FactsOf(x.Context(), v, v.Stops[i])
			x.must(err)
			return f
		}
		x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":false}` })
		x.do("start", x.start, checkin.Stopped, checkin.StopRoomNotReady)
		for range 3 {
			x.clock.Advance(2 * time.Minute)
			x.sweep()
		}
		v := x.do("still not ready", x.get, checkin.Stopped, checkin.StopRoomNotReady)
		if f := facts(v, 0); !f.Since.Equal(began) || !f.LastAnsweredAt.Equal(began.Add(6*time.Minute)) || f.Endpoint != "getCheckInStatus" || f.Call != "" {
			x.Errorf("room: %+v", f)
		}
		x.clock.Advance(2 * time.Minute)
		x.desk.set(func() { x.desk.status = "fails" })
		v = x.do("fails", x.again, checkin.Stopped, checkin.StopPartnerError)
		if f := facts(v, 0); f.Status != 500 || !f.Since.Equal(began.Add(8*time.Minute)) || !f.LastAnsweredAt.Equal(began.Add(6*time.Minute)) ||
			f.Endpoint != "getCheckInStatus" || f.Call == "" || f.Call != x.desk.lastCall() {
			x.Errorf("error: %+v, the PMS got %q", f, x.desk.lastCall())
		}
		x.desk.set(func() {
			x.desk.status, x.desk.answer = `{"owing":0,"owingCurrency":"EUR","roomReady":true}`, status(http.StatusServiceUnavailable)
		})
		x.do("answers again", x.again, checkin.ConfirmDetails)
		x.do("confirm", x.confirm, checkin.Ready)
		v = x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		if f := facts(v, 0); f.Status != 503 || f.Endpoint != "checkIn" || f.Call != v.Attempt.Key || f.Call != x.desk.lastCall() {
			x.Errorf("no answer: %+v", f)
		}
	})
}
