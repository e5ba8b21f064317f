package checkin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/partner"
)

// callLimit is the time limit of a call with the transaction that stores its result. It is shorter than callTimeout, after which another
// process assumes that the call was interrupted.
const callLimit = 25 * time.Second

// ask calls getCheckInStatus and stores the answer, unless the check-in has changed meanwhile so that it does not count. A failure of the
// PMS is stored as the answer, and is not an error. before is the check-in that the caller read. If a guest pressed "check in now" in the
// session pressedBy, the same transaction begins the checkIn call if the answer allows it, see record.claimed; the caller makes it.
func (s *Service) ask(ctx context.Context, k Key, before View, pressedBy string) (View, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	row := before.record.reservation
	pms, err := s.PMS(ctx, k.PropertyID, row.IntegrationID)
	if err != nil {
		return View{}, fmt.Errorf("find the PMS of %s: %w", k.ReservationID, err)
	}
	if err := s.testPoint("before getCheckInStatus"); err != nil {
		return View{}, err
	}
	asked := s.DB.Clock().Now()
	status, failure := pms.CheckInStatus(ctx, row.PmsID)
	if err := s.testPoint("after getCheckInStatus"); err != nil {
		return View{}, err
	}
	sealed, err := s.sealErrorText(ctx, k, failure)
	if err != nil {
		return View{}, err
	}
	return s.writeCall(ctx, k, partner.GetCheckInStatus, failure, func(r *record, now time.Time) {
		if !r.view(now).mayAsk() {
			return // the PMS changed the reservation, or another guest of the stay was faster
		}
		if r.stay.Answer.At != before.record.stay.Answer.At && isAfter(r.stay.Answer, asked) {
			return // a call that began later has answered meanwhile
		}
		r.storeAnswer(storedAnswer(asked, row.UpdatedAt, status, failure, sealed))
		r.pms = pms
		if pressedBy != "" {
			r.claim(now, pressedBy)
		}
	})
}

// retry calls checkIn again under the key of the attempt, if its effect is not known and no call runs; otherwise it only returns the
// check-in. by is the guest who pressed, or its zero value if staff asked for it. The guest may get the right to see the code, see
// passesTo.
func (s *Service) retry(ctx context.Context, k Key, by actor.Actor) (View, error) {
	v, err := s.writeTx(ctx, k, func(tx *db.Tx, r *record) error {
		if r.claimRetry(tx.Now(), true); !r.claimed || by.ID == "" {
			return nil
		}
		passes, err := passesTo(tx, r.stay.AttemptSession, by)
		if passes {
			r.stay.AttemptSession = by.ID
		}
		return err
	})
	if err != nil || !v.record.claimed {
		return v, err
	}
	return s.call(ctx, k, v)
}

// passesTo reports whether the right to see the code passes from the session that pressed to the guest who repeats the call. A person who
// knows a number and a name must not take the code from a guest whom the PMS may have checked in already.
//
//	the guest who repeats    the session that pressed    it passes
//	has a mailed link        any                         yes
//	knows two facts only     has ended                   yes: the guest left the kiosk and goes on by phone
//	knows two facts only     goes on                     no
func passesTo(tx *db.Tx, pressed string, by actor.Actor) (bool, error) {
	if by.Origin == guest.OriginMail {
		return true, nil
	}
	goesOn, err := guest.IsSessionActive(tx, by.PropertyID, pressed)
	return !goesOn, err
}

// call calls checkIn for the attempt of a check-in and stores the result, also a failure of the PMS, which is not an error. v is the
// check-in after the transaction that claimed the call, so the reservation was confirmed then.
func (s *Service) call(ctx context.Context, k Key, v View) (View, error) {
	if err := s.testPoint("before checkIn"); err != nil {
		return View{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	pms, a := v.record.pms, v.Attempt
	if pms == nil {
		var err error
		if pms, err = s.PMS(ctx, k.PropertyID, v.record.reservation.IntegrationID); err != nil {
			return View{}, fmt.Errorf("find the PMS of %s: %w", k.ReservationID, err)
		}
	}
	body, err := s.openBody(ctx, v.record.stay)
	if err != nil {
		return View{}, err
	}
	failure := pms.CheckIn(ctx, a.Key, body)
	if err := s.testPoint("after checkIn"); err != nil {
		return View{}, err
	}
	sealed, err := s.sealErrorText(ctx, k, failure)
	if err != nil {
		return View{}, err
	}
	return s.writeCall(ctx, k, partner.CheckIn, failure, func(r *record, now time.Time) { r.storeOutcome(a, now, failure, sealed) })
}

// storeOutcome records the result of a call for the attempt a: failure is its error or nil, and sealed the encrypted text of the error. It
// ignores a result if the check-in has another key or a definite outcome by now. The late result of an earlier call under the same key
// counts only if it is definite, which is any state but AttemptCalling.
func (r *record) storeOutcome(a Attempt, now time.Time, failure error, sealed []byte) {
	state := outcomeOf(failure)
	if r.stay.AttemptKey != a.Key || r.stay.AttemptState != string(AttemptCalling) || state == AttemptCalling && r.stay.Attempts != a.Calls {
		return
	}
	r.stay.AttemptState = string(state)
	if state != AttemptCalling {
		r.stay.AttemptBody = nil
	}
	if state == AttemptAccepted {
		r.stay.AcceptedAt = &now
		return
	}
	r.stay.Refusal = refusalOf(now, state, failure, sealed)
}

// writeCall is like write, for the result of a call to the endpoint action. It also records whether the endpoint works, if healthOf knows
// it. failure is the error of the call, or nil.
func (s *Service) writeCall(ctx context.Context, k Key, action string, failure error, change func(r *record, now time.Time)) (View, error) {
	return s.writeTx(ctx, k, func(tx *db.Tx, r *record) error {
		change(r, tx.Now())
		health, known := healthOf(failure)
		if !known {
			return nil
		}
		return partner.RecordCall(tx, k.PropertyID, r.reservation.IntegrationID, action, health)
	})
}

// healthOf returns the failure of an endpoint for [partner.RecordCall], or zero for a success. known is false if the error of a call says
// nothing about the endpoint: it is not registered, the call was not made or canceled, or the error is a defect of this service. An error
// about one guest is a success of the endpoint: the sweep asks about that guest again and again, and the tablets would close for all
// others.
func healthOf(failure error) (health partner.Failure, known bool) {
	if failure == nil {
		return partner.Failure{}, true
	}
	f, ok := fault.Of(failure)
	switch {
	case !ok, errors.Is(failure, ErrNotRegistered), f.Reason == fault.CanceledReason, f.Meta[MetaNotCalled] != "":
		return partner.Failure{}, false
	case isAboutOneGuest(f, statusOf(failure)):
		return partner.Failure{}, true
	}
	return partner.FailureOf(failure, f.Message, ""), true
}

// isAboutOneGuest reports whether the PMS refuses only this guest: with a status 4xx except 401 and 403, or with a status 2xx whose body is
// a readable error.
func isAboutOneGuest(f *fault.Fault, status int) bool {
	switch status / 100 {
	case 2:
		return f.Reason == PartnerError && len(f.Fields) == 0 && f.Meta[MetaUnreadable] == ""
	case 4:
		return status != 401 && status != 403
	}
	return false
}

// testPoint simulates a crash at a named point, in tests. Otherwise it does nothing.
func (s *Service) testPoint(point string) error {
	if s.interrupt == nil {
		return nil
	}
	return s.interrupt(point)
}
