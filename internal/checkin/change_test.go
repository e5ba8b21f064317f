package checkin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/pms"
	"latchkey.dev/internal/reservation"
)

// A 2xx answer that is too large is no refusal: the PMS may have checked the guest in.
func TestTooLargeAnswerKeepsTheKey(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() {
			x.desk.answer = func(w http.ResponseWriter, _ *http.Request, _ int) {
				_, _ = io.WriteString(w, strings.Repeat(" ", 2<<20))
			}
		})
		x.begin()
		x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		x.desk.set(func() { x.desk.answer = nil })
		x.do("press again", x.complete, checkin.Waiting)
		if _, _, effects := x.desk.counts(); effects != 1 {
			x.Errorf("%d effects, want 1", effects)
		}
	})
}

// A wrong setting of the endpoint is no refusal of the PMS.
func TestWrongSettingIsNoRefusal(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		rules, err := pms.NewRules(pms.RulesOptions{Hosts: []string{strings.TrimPrefix(x.desk.URL, "http://")}})
		x.must(err)
		client, err := pms.New(pms.Options{Rules: rules, Limits: pms.DefaultLimits()})
		x.must(err)
		x.Cleanup(client.Close)
		x.service.PMS = func(context.Context, string, string) (checkin.PMS, error) {
			target := func(action, path, secret string) *pms.Target {
				return &pms.Target{IntegrationID: integrationID, Action: action, URL: x.desk.URL + path, SigningSecrets: []string{secret}}
			}
			return client.Partner(target(pms.GetCheckInStatus, "/status", "whsec_"+strings.Repeat("AAAA", 8)), target(pms.CheckIn, "/checkIn", "bad"), nil), nil
		}
		x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
	})
}

// A clock that is set back does not make the sweep ask without a pause.
func TestClockSetBack(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() { x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":true}` })
		x.do("start", x.start, checkin.Stopped, checkin.StopOwing)
		x.clock.Advance(time.Minute)
		x.push(reservation.Patch{reservation.Number: "8791"})
		x.clock.Set(x.clock.Now().Add(-30 * time.Minute))
		for range 10 {
			x.sweep()
			x.clock.Advance(3 * time.Second)
		}
		if asked, _, _ := x.desk.counts(); asked != 2 {
			x.Errorf("the PMS was asked %d times within 30 s, want once more for the change", asked)
		}
	})
}

// The body of a call whose effect is not known goes with the end of the stay.
func TestBodyEndsWithTheStay(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() {
			x.desk.answer = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusServiceUnavailable) }
		})
		x.begin()
		x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		x.clock.Advance(25 * time.Hour)
		x.sweep()
		x.clock.Advance(48 * time.Hour)
		x.sweep()
		row := x.d.View(x.Context()).Stay.Query().Where(entstay.PropertyID(propertyID)).OnlyX(x.Context())
		if len(row.AttemptBody) != 0 {
			x.Errorf("the body is still stored after the departure; ended by %q", row.EndedBy)
		}
		x.wantNotices("after the departure")
		if x.sweep() != 0 {
			x.Error("still due after the end")
		}
	})
}

// A notice about an amount follows the amount.
func TestOwingNoticeFollowsTheAmount(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() { x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":true}` })
		x.do("start", x.start, checkin.Stopped, checkin.StopOwing)
		x.desk.set(func() { x.desk.status = `{"owing":20,"owingCurrency":"EUR","roomReady":true}` })
		x.do("again", x.again, checkin.Stopped, checkin.StopOwing)
		x.wantNotices("still owing", "checkInOwing")
		for _, n := range x.d.View(x.Context()).Notice.Query().AllX(x.Context()) {
			if n.Kind == "checkInOwing" && !strings.Contains(fmt.Sprint(n.Parameters), "20.00") {
				x.Errorf("the notice says %v", n.Parameters)
			}
		}
	})
}

// The notice about a late change ends with the stay.
func TestLateNoticeEndsWithTheStay(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.do("press", x.complete, checkin.Waiting)
		x.clock.Advance(time.Minute)
		x.sweep()
		x.wantNotices("late", "checkInLate")
		x.clock.Advance(3 * 24 * time.Hour)
		x.sweep()
		x.wantNotices("after the departure")
	})
}

// A reservation that changes while checkIn is called keeps the key and the body.
func TestChangeDuringTheCallKeepsTheKey(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() {
			x.desk.answer = func(w http.ResponseWriter, _ *http.Request, call int) {
				if call == 1 {
					x.push(reservation.Patch{reservation.Number: "8791"})
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			}
		})
		x.begin()
		x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		x.clock.Advance(time.Minute)
		x.sweep()
		_, calls, effects := x.desk.counts()
		if len(calls) != 2 || effects != 1 || x.desk.bodies[0] != x.desk.bodies[1] {
			x.Errorf("%d calls, %d effects", len(calls), effects)
		}
	})
}
