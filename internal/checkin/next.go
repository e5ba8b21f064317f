package checkin

import (
	"slices"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/money"
)

// Intervals of a check-in.
const (
	askInterval = 2 * time.Minute  // while the room is not ready or the PMS does not answer
	askOften    = 24 * time.Hour   // how long after the guest began the PMS is asked every askInterval; later every rareRetry
	rareRetry   = 30 * time.Minute // the interval after askOften: of questions, and of checkIn calls under one Idempotency-Key
	callTimeout = 30 * time.Second // a call without a result after this time was interrupted by a crash, and is repeated
	lateAfter   = time.Minute      // after this time without the change that follows the PMS's acceptance, staff are notified
	maxRetry    = 2 * time.Minute  // the longest wait between two calls under one Idempotency-Key during askOften
	firstRetry  = 5 * time.Second  // the wait between the first two calls under one Idempotency-Key; each call doubles it, up to maxRetry
)

// Action is what the service has to do next.
type Action string

const (
	DoNothing Action = ""
	DoAsk     Action = "ask"  // call getCheckInStatus
	DoCall    Action = "call" // repeat checkIn under the key of the attempt
	DoWait    Action = "wait" // evaluate again at Step.At
)

// Stop is one thing that holds a check-in back.
type Stop struct {
	Reason StopReason
	Owing  *money.Amount // the amount of StopOwing; otherwise nil
	Retry  bool          // trying again can help
}

// Step is the decision about a check-in.
type Step struct {
	Stage Stage
	Stops []Stop // Stops are in order of importance
	Do    Action
	At    time.Time // At is when to evaluate again without the guest, or zero
	Late  bool      // Late means that the PMS accepted and sent no change for a minute; staff are notified
	// CanComplete means that all but the PMS is done, so that the guest may press "check in now" or "try again".
	CanComplete bool
}

// Next decides which stage a check-in is in, what stops it, and what happens next. It is a pure function of the facts.
func Next(f Facts) Step {
	if stage := f.beforeOrAfter(); stage != "" {
		if stage == AtDesk {
			return Step{Stage: AtDesk, Stops: []Stop{{Reason: StopAtDesk}}}
		}
		return Step{Stage: stage}
	}
	if !f.begun() {
		return Step{Stage: NotStarted}
	}
	switch f.Attempt.State {
	case AttemptCalling:
		return f.nextDuringCall()
	case AttemptAccepted:
		due := f.Attempt.AcceptedAt.Add(lateAfter)
		if f.Now.Before(due) {
			return Step{Stage: Waiting, Do: DoWait, At: due}
		}
		return Step{Stage: Waiting, Late: true}
	}
	return f.nextBeforeCall()
}

// begun reports whether the guest has begun the check-in for the present dates. A beginning before the day of arrival does not count: the
// PMS moved the stay afterwards.
func (f Facts) begun() bool { return !f.BeganAt.IsZero() && f.BeganOn >= f.Reservation.ArrivalOn }

// beforeOrAfter returns the stage of a reservation for which no check-in can go on now, or "" if one can.
func (f Facts) beforeOrAfter() Stage {
	r := f.Reservation
	switch {
	case r.State == "started":
		return CheckedIn
	case r.State == "processed" || r.State == "canceled" || !f.Now.Before(r.To):
		return Ended
	case r.State != "confirmed":
		return AtDesk // not confirmed: self check-in is not offered
	case r.Today < r.ArrivalOn:
		return NotToday
	}
	return ""
}

// nextDuringCall decides about a checkIn call whose effect is not known. It waits while the call runs (stage Calling), or until the retry
// after a failed call is due (stage Stopped). Then it repeats the call under the same key.
func (f Facts) nextDuringCall() Step {
	s := Step{Stage: Calling, At: f.Attempt.At.Add(callTimeout)}
	if f.Attempt.Failed {
		s = Step{Stage: Stopped, Stops: []Stop{{Reason: StopNoAnswer, Retry: true}}, At: f.Attempt.At.Add(f.retryDelay()), CanComplete: true}
	}
	switch {
	case f.Now.Before(s.At):
		s.Do = DoWait
	default:
		s.Do = DoCall
	}
	return s
}

// retryDelay returns the wait between the latest checkIn call and its retry under the same key: firstRetry, doubled by each call up to
// maxRetry, or rareRetry if that call came more than askOften after the guest began.
func (f Facts) retryDelay() time.Duration {
	if f.Attempt.At.After(f.BeganAt.Add(askOften)) {
		return rareRetry
	}
	return clock.Backoff(firstRetry, maxRetry, f.Attempt.Calls-1)
}

// askDelay returns the wait between the latest answer to getCheckInStatus and the next question: askInterval, or rareRetry if that answer
// came more than askOften after the guest began.
func (f Facts) askDelay() time.Duration {
	if f.Answer.At.After(f.BeganAt.Add(askOften)) {
		return rareRetry
	}
	return askInterval
}

// firstAsk returns the step of a check-in that has begun and has no answer of the PMS yet. The request that began it asks the PMS. If no
// answer comes within callTimeout, a crash interrupted that request, and the sweep asks.
func (f Facts) firstAsk() Step {
	s := Step{Stage: NotStarted, Do: DoAsk, At: f.BeganAt.Add(callTimeout)}
	if f.Now.Before(s.At) {
		s.Do = DoWait
	}
	return s
}

// nextBeforeCall decides about a check-in without a running or accepted checkIn call.
func (f Facts) nextBeforeCall() Step {
	if f.Answer == nil {
		return f.firstAsk()
	}
	stops := f.stops()
	s := Step{Stage: f.guestStage(), Stops: stops}
	s.CanComplete = s.Stage == Ready
	switch {
	case len(stops) > 0:
		s.Stage = Stopped
		s.CanComplete = s.CanComplete && !slices.ContainsFunc(stops, func(x Stop) bool { return !x.Retry })
		if len(stops) == 1 && stops[0].Reason == StopAtDesk {
			s.Stage = AtDesk
		}
	case s.Stage == IdentityCheck:
		s.Stops = []Stop{{Reason: StopIdentityCheck}}
	case s.Stage == Signature && f.Rules.Signature != guest.Drawn:
		s.Stops = []Stop{{Reason: StopSignature}} // staff must clear it; a drawn one, which only the guest gives, is no stop
	}
	s.Do, s.At = f.nextAsk(stops)
	return s
}

// guestStage returns the first stage that the guest or staff still have to finish, without regard to the PMS's answer; Ready if there is
// none. A stage that staff refused counts as finished.
func (f Facts) guestStage() Stage {
	switch {
	case len(f.Party.MissingGuestIDs) > 0:
		return Details
	case f.ConfirmedOn < f.Reservation.ArrivalOn:
		return ConfirmDetails
	case f.isOpen(IdentityCheck):
		return IdentityCheck
	case f.isOpen(Signature):
		return Signature
	case f.Rules.HouseRules && !f.HouseRulesAccepted:
		return HouseRules
	}
	return Ready
}

// wants reports whether the settings require a stage of the law for this party. stage is Signature or IdentityCheck.
func (f Facts) wants(stage Stage) bool {
	if stage == Signature {
		return f.Rules.Signature != "none" && f.Party.Signs
	}
	return f.Rules.IdentityCheck != "none"
}

// isOpen reports whether a stage of the law is not done: it waits for staff, or for a signature on a screen. A stage that staff refused is
// not open.
func (f Facts) isOpen(stage Stage) bool {
	return f.wants(stage) && f.clearance(stage) == nil && !(stage == Signature && f.Rules.Signature == guest.Drawn && len(f.Party.Unsigned) == 0)
}

// ToSign returns the ids of the guests who still have to sign on a screen. After staff have decided about the signature it returns none.
func (f Facts) ToSign() []string {
	if !f.isOpen(Signature) {
		return nil
	}
	return f.Party.Unsigned
}

// clearance returns the latest decision of staff about a stage, also a refusal, or nil.
func (f Facts) clearance(stage Stage) *Clearance {
	for i := len(f.Cleared) - 1; i >= 0; i-- {
		if f.Cleared[i].Stage == stage {
			return &f.Cleared[i]
		}
	}
	return nil
}

// waives reports whether staff waived an amount that is owed. A larger amount, or one in another currency, stops the check-in again.
func (f Facts) waives(owing money.Amount) bool {
	c := f.clearance(OwingWaived)
	return c != nil && c.Waived.Currency == owing.Currency && owing.Minor <= c.Waived.Minor
}

// stoppingAmount returns an amount that is owed if it stops the check-in: the rules do not let it pass, and staff have not waived it.
// Otherwise it returns nil, also for a nil amount.
func (f Facts) stoppingAmount(owing *money.Amount) *money.Amount {
	if owing == nil || !f.Rules.Policy.Blocks(*owing) || f.waives(*owing) {
		return nil
	}
	return owing
}

// stops returns what stops the check-in before checkIn may be called, in order of importance. Stages that the guest or staff still have to
// finish are not among them. While the PMS fails, neither its former answer nor money owed counts.
func (f Facts) stops() []Stop {
	var out []Stop
	switch a := f.Answer; {
	case a.Failure != "":
		out = append(out, Stop{Reason: a.Failure, Retry: true})
	default:
		owing, ready := a.Owing, a.RoomReady
		if a.NotRegistered {
			owing, ready = f.Reservation.Owing, true
		}
		if owing = f.stoppingAmount(owing); owing != nil {
			out = append(out, Stop{Reason: StopOwing, Owing: owing, Retry: true})
		}
		if !ready {
			out = append(out, Stop{Reason: StopRoomNotReady, Retry: true})
		}
	}
	if f.Party.MinorAlone {
		out = append(out, Stop{Reason: StopMinorAlone})
	}
	for _, stage := range []Stage{IdentityCheck, Signature} {
		if c := f.clearance(stage); c != nil && c.Refused && f.wants(stage) {
			out = append(out, Stop{Reason: StopStageRefused})
			break
		}
	}
	switch f.Attempt.State {
	case AttemptRefused:
		out = append(out, Stop{Reason: StopCheckInRefused, Retry: true})
	case AttemptAtDesk:
		out = append(out, Stop{Reason: StopAtDesk, Retry: true})
	}
	return out
}

// nextAsk decides whether and when to ask the PMS again without an action of the guest. If the last answer stops the check-in and the PMS
// has changed the reservation since, it asks at once. It compares the versions of the reservation and not times, because the clock may have
// been set back. While the room is not ready or the PMS does not answer, it asks every askInterval, and after a day less often. In all
// other cases, such as money owed alone, it returns DoNothing and the zero time.
func (f Facts) nextAsk(stops []Stop) (Action, time.Time) {
	held := slices.ContainsFunc(stops, func(s Stop) bool { return s.Reason.isOfAnswer() })
	if held && !f.Answer.NotRegistered && !f.Reservation.ChangedAt.Equal(f.Answer.About) {
		return DoAsk, f.Now
	}
	if !slices.ContainsFunc(stops, func(s Stop) bool { return s.Reason.isOfAnswer() && s.Reason != StopOwing }) {
		return DoNothing, time.Time{}
	}
	due := f.Answer.At.Add(f.askDelay())
	if f.Now.Before(due) {
		return DoWait, due
	}
	return DoAsk, due
}

// isOfAnswer reports whether the reason comes from the last call of getCheckInStatus: from the PMS's answer, or from the failure of the
// call.
func (r StopReason) isOfAnswer() bool {
	switch r {
	case StopOwing, StopRoomNotReady, StopPartnerError, StopPartnerUnavailable:
		return true
	}
	return false
}
