package checkin_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
)

// While one press of a stay asks the PMS, another one does not: it leaves room for the guests of other stays.
func TestOneStayAsksThePMSOnceAtATime(t *testing.T) {
	each(t, func(x *fixture) {
		x.do("start", x.start, checkin.ConfirmDetails)
		first := true
		x.service.Interrupt(func(at string) error {
			if at == "before getCheckInStatus" && first {
				first = false
				x.do("another device meanwhile", x.again, checkin.ConfirmDetails)
			}
			return nil
		})
		x.do("try again", x.again, checkin.ConfirmDetails)
		if asked, _, _ := x.desk.counts(); asked != 2 {
			x.Errorf("the PMS was asked %d times, want once for each press that had its turn", asked)
		}
	})
}

func TestPressesOfOneStayAreBounded(t *testing.T) {
	each(t, func(x *fixture) {
		x.do("start", x.start, checkin.ConfirmDetails)
		for range 9 {
			x.do("try again", x.again, checkin.ConfirmDetails)
		}
		for what, press := range map[string]func() (checkin.View, error){"try again": x.again, "check in now": x.complete, "start": x.start} {
			if _, err := press(); !fault.Has(err, fault.TooManyAttempts) {
				x.Errorf("%s, after ten presses: %v", what, err)
			}
		}
		if asked, _, _ := x.desk.counts(); asked != 10 {
			x.Errorf("the PMS was asked %d times", asked)
		}
		x.clock.Advance(6 * time.Second)
		x.do("a moment later", x.again, checkin.ConfirmDetails)
		if _, err := x.service.AskAgainAsStaff(x.Context(), x.key); err != nil {
			x.Errorf("staff: %v", err)
		}
	})
}

// A person with two facts who spends the budget of a stay's QR codes does not spend that of the guest, with the link or at the property.
func TestPressesFromAfarLeaveRoomForTheGuest(t *testing.T) {
	each(t, func(x *fixture) {
		x.do("start", x.start, checkin.ConfirmDetails)
		again := func(a actor.Actor) error {
			_, err := x.service.AskAgain(x.Context(), a)
			return err
		}
		var spent error
		for range 11 {
			spent = again(x.session(guest.OriginDoor)) // each search gives another session
		}
		if !fault.Has(spent, fault.TooManyAttempts) {
			t.Errorf("eleven presses from afar: %v", spent)
		}
		phone := x.session(guest.OriginDoor)
		phone.HandedBy = "ses_kiosk"
		for what, a := range map[string]actor.Actor{"the link": x.session(guest.OriginMail), "the kiosk": x.session("ksk_1"), "the phone from the kiosk": phone} {
			if err := again(a); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
