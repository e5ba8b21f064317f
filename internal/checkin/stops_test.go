package checkin_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	entguest "latchkey.dev/ent/guest"
	entmail "latchkey.dev/ent/mail"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// A guest whose bill grows after they confirmed stops at the press, and the PMS is not asked to check them in.
func TestPressWhileOwingChecksNothingIn(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.desk.set(func() { x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":true}` })
		x.do("press", x.complete, checkin.Stopped, checkin.StopOwing)
		if _, calls, _ := x.desk.counts(); len(calls) != 0 {
			x.Errorf("called %v", calls)
		}
	})
}

func TestOwingIsPaid(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() { x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":true}` })
		v := x.do("start", x.start, checkin.Stopped, checkin.StopOwing)
		if got := v.Stops[0].Owing.String(); got != "84.00 EUR" {
			x.Errorf("owing %s", got)
		}
		x.wantNotices("owing", "checkInOwing")
		x.do("ask again", x.again, checkin.Stopped, checkin.StopOwing)
		x.wantNotices("still owing", "checkInOwing")
		x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":true}` })
		x.clock.Advance(time.Second)
		x.push(reservation.Patch{reservation.Owing: 0.0, reservation.Currency: "EUR"})
		x.sweep()
		x.do("the PMS sent a change", x.get, checkin.ConfirmDetails)
		x.wantNotices("paid")
	})
}

func TestRoomIsAskedUntilReady(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":false}` })
		x.do("start", x.start, checkin.Stopped, checkin.StopRoomNotReady)
		if x.sweep() != 0 {
			x.Error("asked again at once")
		}
		x.clock.Advance(2 * time.Minute)
		x.sweep()
		if asked, _, _ := x.desk.counts(); asked != 2 {
			x.Errorf("asked %d times", asked)
		}
		x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":true}` })
		x.clock.Advance(2 * time.Minute)
		x.sweep()
		x.do("ready", x.get, checkin.ConfirmDetails)
		x.wantNotices("ready")
		x.clock.Advance(time.Hour)
		if x.sweep() != 0 {
			x.Error("asked although the room is ready")
		}
	})
}

func TestMissingAnswers(t *testing.T) {
	each(t, func(x *fixture) {
		x.push(reservation.Patch{reservation.Adults: 2})
		v := x.do("a companion without answers", x.start, checkin.Details)
		if len(v.Party.MissingGuestIDs) != 1 || v.Party.MissingGuestIDs[0] == "" {
			x.Errorf("missing %q", v.Party.MissingGuestIDs)
		}
		x.do("confirm too early", x.confirm, checkin.Details)
		x.do("press too early", x.complete, checkin.Details)
		x.answer(map[string]string{"firstName": "Jo", "lastName": "Silva"})
		x.do("all answered", x.confirm, checkin.Ready)
	})
}

func TestMinorAlone(t *testing.T) {
	each(t, func(x *fixture) {
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
			return tx.Guest.Update().Where(entguest.PropertyID(propertyID)).SetChild(true).Exec(tx.Context())
		}))
		x.push(reservation.Patch{reservation.Adults: 0, reservation.Children: 1})
		x.do("start", x.start, checkin.Stopped, checkin.StopMinorAlone)
		x.do("press", x.complete, checkin.Stopped, checkin.StopMinorAlone)
		x.wantNotices("alone", "checkInMinorAlone")
	})
}

// The PMS clears the stages of a check-in that the guest began, at whatever step it is. Without a beginning there is no check-in, and no stage is open.
func TestPMSClearsOpenStages(t *testing.T) {
	for name, test := range map[string]struct {
		begin func(x *fixture)
		want  []string
	}{
		"not begun": {func(x *fixture) { x.answer(map[string]string{"firstName": "Ana", "lastName": "Silva"}) }, nil},
		"begun":     {func(x *fixture) { x.do("start", x.start, checkin.ConfirmDetails) }, []string{"identityCheck", "signature"}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.settings(property.CheckInChange{IdentityCheck: new("live"), Signature: new("paper")})
				test.begin(x)
				x.push(reservation.Patch{reservation.State: "started"})
				x.sweep()
				v := x.do("started", x.get, checkin.CheckedIn)
				var cleared []string
				for _, c := range v.Row.Cleared {
					if c.By != "pms" {
						x.Errorf("cleared by %s", c.By)
					}
					cleared = append(cleared, c.Stage)
				}
				if !slices.Equal(cleared, test.want) {
					x.Errorf("cleared %v, want %v", cleared, test.want)
				}
			})
		})
	}
}

func TestStagesOfTheLaw(t *testing.T) {
	each(t, func(x *fixture) {
		x.settings(property.CheckInChange{IdentityCheck: new("live"), Signature: new("paper"), StaffEmail: new("desk@example.com")})
		x.do("start", x.start, checkin.ConfirmDetails)
		x.do("confirm", x.confirm, checkin.IdentityCheck, checkin.StopIdentityCheck)
		x.wantNotices("waits for staff", "checkInIdentityCheck")
		clear := func(stage checkin.Stage, refused string) func() (checkin.View, error) {
			return func() (checkin.View, error) { return x.clear(stage, refused) }
		}
		x.do("refuse", clear(checkin.IdentityCheck, "another person"), checkin.Stopped, checkin.StopStageRefused)
		x.wantNotices("refused", "checkInStageRefused")
		x.do("press", x.complete, checkin.Stopped, checkin.StopStageRefused)
		v := x.do("clear", clear(checkin.IdentityCheck, ""), checkin.Signature, checkin.StopSignature)
		if c := v.Row.Cleared; len(c) != 2 || c[0].By != "Marta" || c[0].Refused != "another person" || c[1].Refused != "" {
			x.Errorf("cleared: %+v", c)
		}
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		v = x.do("started", x.get, checkin.CheckedIn)
		if c := v.Row.Cleared; len(c) != 3 || c[2].By != "pms" || c[2].Stage != "signature" {
			x.Errorf("cleared by the PMS: %+v", c)
		}
		if _, err := x.clear(checkin.Signature, ""); !fault.Has(err, fault.StayEnded) {
			x.Errorf("cleared after the end: %v", err)
		}
		var kinds []string
		for _, m := range x.d.View(x.Context()).Mail.Query().AllX(x.Context()) {
			kinds = append(kinds, m.Parameters["kind"])
		}
		slices.Sort(kinds)
		if diff := cmp.Diff([]string{"notice.checkInIdentityCheck", "notice.checkInSignature", "notice.checkInStageRefused"}, kinds); diff != "" {
			x.Errorf("mails to staff: %s", diff)
		}
	})
}

// A signature on a screen needs only the guest: staff get no notice, and nothing is recorded as cleared.
func TestSignatureOnAScreen(t *testing.T) {
	each(t, func(x *fixture) {
		x.settings(property.CheckInChange{Signature: new(guest.Drawn)})
		x.do("start", x.start, checkin.ConfirmDetails)
		x.do("confirm", x.confirm, checkin.Signature)
		x.wantNotices("waits for the guest")
		x.sign()
		x.do("signed", x.get, checkin.Ready)
		x.answer(map[string]string{"firstName": "Ana Maria"})
		x.do("changed after the signature", x.get, checkin.Signature)
		x.sign()
		x.do("signed again", x.get, checkin.Ready)
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		if v := x.do("started", x.get, checkin.CheckedIn); len(v.Row.Cleared) != 0 {
			x.Errorf("cleared: %+v", v.Row.Cleared)
		}
	})
}

// A payment that arrives while getCheckInStatus is answered is asked about again at once.
func TestPaymentDuringACall(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() {
			x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":true}`
			x.desk.onAsked = func() {
				x.clock.Advance(time.Second)
				x.push(reservation.Patch{reservation.Number: "paid"})
				x.clock.Advance(time.Second)
				x.desk.set(func() { x.desk.onAsked, x.desk.status = nil, `{"owing":0,"owingCurrency":"EUR","roomReady":true}` })
			}
		})
		x.do("start", x.start, checkin.Stopped, checkin.StopOwing)
		x.sweep()
		if asked, _, _ := x.desk.counts(); asked != 2 {
			x.Errorf("the PMS was asked %d times, want once more after the payment", asked)
		}
	})
}

// A call that hangs and fails does not replace the answer to a call that began later.
func TestLateFailureOfACall(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() {
			x.desk.status = "fails"
			x.desk.onAsked = func() {
				x.desk.set(func() { x.desk.onAsked, x.desk.status = nil, `{"owing":0,"owingCurrency":"EUR","roomReady":true}` })
				x.clock.Advance(time.Second)
				x.sweep()
				if asked, _, _ := x.desk.counts(); asked != 1 {
					x.Errorf("the PMS was asked %d times while the guest's call waits for it", asked)
				}
				x.clock.Advance(30 * time.Second) // as after a crash: another process takes the call for interrupted
				x.sweep()
			}
		})
		x.do("start", x.start, checkin.ConfirmDetails)
		if asked, _, _ := x.desk.counts(); asked != 2 {
			x.Errorf("the PMS was asked %d times, want twice", asked)
		}
	})
}

// The mail about the room is ordered once, also if the PMS fails in between.
func TestRoomReadyMail(t *testing.T) {
	each(t, func(x *fixture) {
		for _, status := range []string{`{"owing":0,"owingCurrency":"EUR","roomReady":false}`, "fails", `{"owing":0,"owingCurrency":"EUR","roomReady":true}`, `{"owing":0,"owingCurrency":"EUR","roomReady":false}`, `{"owing":0,"owingCurrency":"EUR","roomReady":true}`} {
			x.desk.set(func() { x.desk.status = status })
			if v, err := x.get(); err == nil && v.Stage == checkin.NotStarted {
				x.do("start", x.start, checkin.Stopped, checkin.StopRoomNotReady)
				continue
			}
			x.clock.Advance(2 * time.Minute)
			if x.sweep() == 0 {
				_, err := x.again()
				x.must(err)
			}
		}
		if n := x.d.View(x.Context()).Mail.Query().Where(entmail.Kind("roomReady")).CountX(x.Context()); n != 1 {
			x.Errorf("%d mails about the room", n)
		}
	})
}

// A stay that the PMS moves to a later day begins again: the guest is mailed again when the room is ready.
func TestRoomReadyMailOfAMovedStay(t *testing.T) {
	each(t, func(x *fixture) {
		answer := func(ready bool) {
			x.desk.set(func() { x.desk.status = fmt.Sprintf(`{"owing":0,"owingCurrency":"EUR","roomReady":%t}`, ready) })
		}
		for day := range 2 {
			answer(false)
			x.do("start", x.start, checkin.Stopped, checkin.StopRoomNotReady)
			answer(true)
			x.clock.Advance(2 * time.Minute)
			x.sweep()
			if n := x.d.View(x.Context()).Mail.Query().Where(entmail.Kind("roomReady")).CountX(x.Context()); n != day+1 {
				x.Fatalf("%d mails about the room on day %d", n, day+1)
			}
			x.push(reservation.Patch{reservation.FromDate: "2026-11-22", reservation.ToDate: "2026-11-24"})
			x.clock.Advance(24 * time.Hour)
		}
	})
}

// A stage that staff cleared is open again after the PMS moved the stay to a later day. A refusal does not end.
func TestClearancesOfAMovedStay(t *testing.T) {
	each(t, func(x *fixture) {
		x.settings(property.CheckInChange{IdentityCheck: new("live"), Signature: new("paper")})
		clear := func(stage checkin.Stage, refused string) func() (checkin.View, error) {
			return func() (checkin.View, error) { return x.clear(stage, refused) }
		}
		move := func(from, to string) {
			x.push(reservation.Patch{reservation.FromDate: from, reservation.ToDate: to})
		}
		x.do("start", x.start, checkin.ConfirmDetails)
		x.do("confirm", x.confirm, checkin.IdentityCheck, checkin.StopIdentityCheck)
		x.do("refuse", clear(checkin.IdentityCheck, "no document"), checkin.Stopped, checkin.StopStageRefused)
		x.do("clear", clear(checkin.IdentityCheck, ""), checkin.Signature, checkin.StopSignature)
		x.do("clear the signature", clear(checkin.Signature, ""), checkin.Ready)
		move("2026-11-22", "2026-11-24")
		if _, err := x.clear(checkin.IdentityCheck, ""); fieldOf(err) != "stage" {
			x.Errorf("cleared before the day of arrival: %v", err)
		}
		x.clock.Advance(24 * time.Hour)
		x.do("start on the later day", x.start, checkin.ConfirmDetails)
		x.do("confirm again", x.confirm, checkin.IdentityCheck, checkin.StopIdentityCheck)
		x.do("clear again", clear(checkin.IdentityCheck, ""), checkin.Signature, checkin.StopSignature)
		x.clock.Advance(24 * time.Hour)
		x.do("a day after the arrival", clear(checkin.Signature, ""), checkin.Ready)
		move("2026-11-24", "2026-11-26")
		x.do("refuse before the day of arrival", clear(checkin.IdentityCheck, "another person"), checkin.NotToday)
		x.clock.Advance(24 * time.Hour)
		x.do("start on the last day", x.start, checkin.Stopped, checkin.StopStageRefused)
	})
}

// fieldOf returns the path of the only wrong field of an error, or "".
func fieldOf(err error) string {
	if f, ok := fault.Of(err); ok && len(f.Fields) == 1 {
		return f.Fields[0].Path
	}
	return ""
}
