package checkin_test

import (
	"net/http"
	"testing"
	"time"

	entmail "latchkey.dev/ent/mail"
	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/property"
)

// toStaff returns how many notices and mails staff got about a kind of stop.
func (x *fixture) toStaff(kind string) (notices, mails int) {
	x.Helper()
	for _, m := range x.d.View(x.Context()).Mail.Query().Where(entmail.Kind(string(mail.Staff))).AllX(x.Context()) {
		if m.Parameters["kind"] == "notice."+kind {
			mails++
		}
	}
	return x.d.View(x.Context()).Notice.Query().Where(entnotice.Kind(kind)).CountX(x.Context()), mails
}

// A call that is repeated for hours is one problem: one notice, one mail.
func TestRepeatedCallIsOneNotice(t *testing.T) {
	each(t, func(x *fixture) {
		x.settings(property.CheckInChange{StaffEmail: new("desk@example.com")})
		x.desk.set(func() { x.desk.answer = status(http.StatusServiceUnavailable) })
		x.begin()
		x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		for range 30 {
			x.clock.Advance(2 * time.Minute)
			x.sweep()
		}
		x.do("the guest presses too", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		if _, calls, _ := x.desk.counts(); len(calls) < 30 {
			x.Fatalf("%d calls", len(calls))
		}
		if notices, mails := x.toStaff("checkInNoAnswer"); notices != 1 || mails != 1 {
			x.Errorf("%d notices and %d mails about one call without an answer", notices, mails)
		}
		x.wantNotices("no answer", "checkInNoAnswer")
	})
}

// A PMS that fails in two ways by turns makes no flood of mails.
func TestFlappingStopIsMailedOnceAnHour(t *testing.T) {
	each(t, func(x *fixture) {
		x.settings(property.CheckInChange{StaffEmail: new("desk@example.com")})
		x.desk.set(func() { x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":true}` })
		x.do("start", x.start, checkin.Stopped, checkin.StopOwing)
		for range 10 {
			x.clock.Advance(12 * time.Second) // two presses more
			x.desk.set(func() { x.desk.status = "fails" })
			x.do("fails", x.again, checkin.Stopped, checkin.StopPartnerError)
			x.desk.set(func() { x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":true}` })
			x.do("owing", x.again, checkin.Stopped, checkin.StopOwing)
		}
		for _, kind := range []string{"checkInOwing", "checkInPartnerError"} {
			if _, mails := x.toStaff(kind); mails != 1 {
				x.Errorf("%d mails about %s within two minutes", mails, kind)
			}
		}
		x.clock.Advance(time.Hour + time.Second)
		x.desk.set(func() { x.desk.status = "fails" })
		x.do("fails an hour later", x.again, checkin.Stopped, checkin.StopPartnerError)
		if _, mails := x.toStaff("checkInPartnerError"); mails != 2 {
			x.Errorf("%d mails about the PMS's error, want another one after an hour", mails)
		}
	})
}

// A stop that comes back more than once an hour, for hours, is mailed about once an hour.
func TestStopThatComesBackIsMailedAgain(t *testing.T) {
	each(t, func(x *fixture) {
		x.settings(property.CheckInChange{StaffEmail: new("desk@example.com")})
		owing := func() { x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":true}` }
		x.desk.set(owing)
		x.do("start", x.start, checkin.Stopped, checkin.StopOwing)
		for _, want := range []int{1, 1, 2, 2, 3} {
			x.clock.Advance(40 * time.Minute)
			x.desk.set(func() { x.desk.status = "fails" })
			x.do("fails", x.again, checkin.Stopped, checkin.StopPartnerError)
			if _, mails := x.toStaff("checkInPartnerError"); mails != want {
				x.Errorf("%d mails about the PMS's error, want %d", mails, want)
			}
			x.clock.Advance(12 * time.Second)
			x.desk.set(owing)
			x.do("owing", x.again, checkin.Stopped, checkin.StopOwing)
		}
	})
}

// Repeated calls for help within some minutes are one.
func TestHelp(t *testing.T) {
	each(t, func(x *fixture) {
		x.settings(property.CheckInChange{StaffEmail: new("desk@example.com")})
		for range 3 {
			x.must(x.service.RequestHelp(x.Context(), x.key))
		}
		x.clock.Advance(6 * time.Minute)
		x.must(x.service.RequestHelp(x.Context(), x.key))
		if notices, mails := x.toStaff("checkInHelp"); notices != 2 || mails != 2 {
			x.Errorf("%d notices, %d mails; want 2 of each", notices, mails)
		}
	})
}
