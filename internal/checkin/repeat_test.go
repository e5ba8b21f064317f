package checkin_test

import (
	"testing"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/reservation"
)

// session creates a session of the main guest.
func (x *fixture) session(origin string) (a actor.Actor) {
	x.Helper()
	x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
		made, err := guest.CreateSession(tx, x.service.Keys, guest.SessionSpec{
			PropertyID: propertyID, ReservationID: x.key.ReservationID, Origin: origin, TTL: time.Hour,
		})
		a = x.guest()
		a.ID, a.Origin = made.ID, origin
		return err
	}))
	return a
}

// The code belongs to the session that pressed check-in. While its effect is not known, another person with two facts can repeat the call,
// but gets the code only after that session has ended.
func TestRepeatingACallDoesNotTakeTheCode(t *testing.T) {
	for _, origin := range []string{guest.OriginMail, guest.OriginDoor, "ksk_1"} {
		t.Run(origin, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.desk.answer = status(503)
				x.begin()
				first, second := x.session(origin), x.session(guest.OriginDoor)
				press := func(a actor.Actor) func() (checkin.View, error) {
					return func() (checkin.View, error) { return x.service.Complete(x.Context(), a) }
				}
				again := func() (checkin.View, error) { return x.service.AskAgain(x.Context(), second) }
				x.do("the guest presses", press(first), checkin.Stopped, checkin.StopNoAnswer)
				for what, step := range map[string]func() (checkin.View, error){"try again": again, "check in now": press(second)} {
					if v := x.do(what, step, checkin.Stopped, checkin.StopNoAnswer); v.Row.AttemptSession != first.ID {
						x.Errorf("%s by another person: the code belongs to %s, want %s", what, v.Row.AttemptSession, first.ID)
					}
				}
				if origin == guest.OriginDoor {
					mailed := x.session(guest.OriginMail)
					if v := x.do("the guest with the link", press(mailed), checkin.Stopped, checkin.StopNoAnswer); v.Row.AttemptSession != mailed.ID {
						x.Errorf("the code belongs to %s, want that of the link", v.Row.AttemptSession)
					}
					return
				}
				x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
					return guest.EndSessions(tx, propertyID, x.key.ReservationID, first.ID)
				}))
				if v := x.do("try again after the session ended", again, checkin.Stopped, checkin.StopNoAnswer); v.Row.AttemptSession != second.ID {
					x.Errorf("after the session ended, the code belongs to %s, want %s", v.Row.AttemptSession, second.ID)
				}
				if _, calls, effects := x.desk.counts(); len(calls) != 4 || effects != 1 {
					x.Errorf("called %v", calls)
				}
			})
		})
	}
}

// The phone of a guest who came by a QR code keeps its session after the check-in, which is the only way to the code. That of another person who found
// the stay ends.
func TestPhoneKeepsItsSessionAfterTheCheckIn(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		phone, other := x.session(guest.OriginDoor), x.session(guest.OriginDoor)
		x.do("the guest presses", func() (checkin.View, error) { return x.service.Complete(x.Context(), phone) }, checkin.Waiting)
		x.push(reservation.Patch{reservation.State: "started"})
		_, err := x.service.Evaluate(x.Context(), x.key)
		x.must(err)
		for after, want := range map[time.Duration][2]bool{3 * time.Hour: {true, false}, 8 * 24 * time.Hour: {true, false}, 10 * 24 * time.Hour: {false, false}} {
			x.clock.Set(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(after))
			for i, a := range []actor.Actor{phone, other} {
				goesOn, err := guest.IsSessionActive(x.d.View(x.Context()), propertyID, a.ID)
				if x.must(err); goesOn != want[i] {
					x.Errorf("%s after the check-in, session %d goes on: %t", after, i, goesOn)
				}
			}
		}
	})
}
