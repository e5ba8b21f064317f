package checkin

import (
	"cmp"
	"context"
	"slices"
	"time"

	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/money"
	"latchkey.dev/internal/partner"
)

// StopFacts are what staff see of a stop. Since is when the stop began, or when the guest began the check-in if that is not known.
type StopFacts struct {
	Text                          message.Message // Text says to staff what to do; before the guest begins it is what the guest reads
	PartnerReason, PartnerMessage string          // from the PMS's error, or empty
	Status                        int             // Status is the HTTP status of the PMS's answer, or 0
	Since                         time.Time
	Endpoint                      string    // Endpoint is the endpoint of the PMS that is the reason, or empty
	Call                          string    // Call is the webhook-id of the call to Endpoint that failed; empty if it is not known
	LastAnsweredAt                time.Time // LastAnsweredAt is when getCheckInStatus last answered without an error, or zero
	OwingPolicy                   OwingRule // OwingPolicy is the property's rule behind [StopOwing]; empty for another stop
	OwingLimit                    string    // OwingLimit is the largest amount that the rule lets pass, such as "20.00"; empty unless the stop is [StopOwing]
}

// FactsOf returns what staff see of a stop of a check-in. If the PMS's error cannot be decrypted, it returns the other facts and an error.
func (s *Service) FactsOf(ctx context.Context, v View, stop Stop) (StopFacts, error) {
	f := StopFacts{Since: v.BeganAt}
	if kind := stopNotices[stop.Reason]; !v.BeganAt.IsZero() {
		f.Text = kind.Message(v.record.stopParams(stop))
	} else {
		f.Text = stop.Message()
	}
	if stop.Reason == StopOwing {
		f.OwingPolicy = v.Rules.Policy.rule()
		f.OwingLimit = v.Rules.Policy.Limit(stop.Owing.Currency).Number()
	}
	var answer schema.StatusAnswer
	switch {
	case stop.Reason.isOfAnswer():
		answer, f.Endpoint = v.Row.Answer, partner.GetCheckInStatus
	case stop.Reason == StopCheckInRefused, stop.Reason == StopNoAnswer:
		answer, f.Endpoint = v.Row.Refusal, partner.CheckIn
	case stop.Reason == StopAtDesk && v.Attempt.State == AttemptAtDesk:
		f.Since = v.Attempt.At
	}
	if at, err := time.Parse(time.RFC3339Nano, cmp.Or(answer.Since[string(stop.Reason)], answer.At)); err == nil {
		f.Since = at
	}
	f.LastAnsweredAt, _ = time.Parse(time.RFC3339Nano, v.Row.Answer.GoodAt)
	f.Call = answer.Call
	words, err := s.openErrorText(ctx, v.Row, answer.ErrorText)
	f.PartnerReason, f.PartnerMessage, f.Status = words.Reason, words.Message, answer.Status
	return f, err
}

// ClearStage records that a member of staff cleared a stage, or refused it: refused is the reason, or "". The caller makes sure that the
// stage is IdentityCheck or Signature. It appends an event. It returns an error if the check-in has ended or does not want the stage, or if
// the stage is cleared before the day of arrival. A refusal may be earlier.
func (s *Service) ClearStage(tx *db.Tx, k Key, stage Stage, by, refused string) (View, error) {
	return s.applyChange(tx, k, func(tx *db.Tx, r *record) error {
		f := r.facts(tx.Now())
		switch at := Next(f).Stage; {
		case at == CheckedIn, at == Ended:
			return fault.New(fault.Precondition, fault.StayEnded, "the check-in of this stay has ended, so there is no stage to clear")
		case f.Reservation.Today < f.Reservation.ArrivalOn && refused == "":
			return fault.Fields(fault.Field{Path: "stage", Reason: fault.WrongValue, Message: "cannot be cleared yet: clear it on the day of arrival, " + f.Reservation.ArrivalOn + ", or later"})
		}
		if !f.wants(stage) {
			return fault.Fields(fault.Field{Path: "stage", Reason: fault.WrongValue, Message: "is no stage of this check-in: the settings of the property do not want it for this stay"})
		}
		r.stay.Cleared = append(slices.Clone(r.stay.Cleared), schema.ClearedStage{
			Stage: string(stage), By: by, At: tx.Now().Format(time.RFC3339), Refused: refused,
		})
		return event.Append(tx, event.Event{
			PropertyID: k.PropertyID, Subject: event.InternalSubject(k.ReservationID), Kind: event.StageCleared,
			Body: map[string]any{"reservationId": k.ReservationID, "stage": string(stage), "by": by, "refused": refused != ""},
		})
	})
}

// WaiveOwing records that a member of staff lets the guest check in although an amount is owed, and appends an event. seen is the amount
// that was shown, such as "20.00 EUR". If the PMS has changed the amount, or none stops the check-in any more, WaiveOwing returns an error
// and waives nothing.
func (s *Service) WaiveOwing(tx *db.Tx, k Key, by, seen string) (View, error) {
	return s.applyChange(tx, k, func(tx *db.Tx, r *record) error {
		var owing *money.Amount
		for _, stop := range Next(r.facts(tx.Now())).Stops {
			if stop.Reason == StopOwing {
				owing = stop.Owing
			}
		}
		switch {
		case owing == nil:
			return fault.New(fault.Precondition, fault.Outdated, "no open amount stops this check-in any more; read it again")
		case seen != owing.String():
			return fault.New(fault.Aborted, fault.Outdated, "the amount is %s now; read the check-in again", owing).Put("owing", owing.String())
		}
		r.stay.Cleared = append(slices.Clone(r.stay.Cleared), schema.ClearedStage{
			Stage: string(OwingWaived), By: by, At: tx.Now().Format(time.RFC3339), OwingMinor: owing.Minor, OwingCurrency: owing.Currency,
		})
		return event.Append(tx, event.Event{
			PropertyID: k.PropertyID, Subject: event.InternalSubject(k.ReservationID), Kind: event.OwingWaived,
			Body: map[string]any{"reservationId": k.ReservationID, "by": by, "owing": owing.String()},
		})
	})
}

// AskAgainAsStaff asks the PMS at once whether the guest may check in (getCheckInStatus). If the effect of a checkIn call is not known, it
// repeats that call under its key instead. It never makes a new checkIn call. It asks nothing if the PMS may not be asked now, for example
// before the guest begins or after the PMS has accepted.
func (s *Service) AskAgainAsStaff(ctx context.Context, k Key) (View, error) {
	return s.askAgain(context.WithoutCancel(ctx), k, actor.Actor{})
}

// ForgetUnansweredCall forgets a checkIn call whose effect is not known, because a member of staff (by) saw in the PMS that the guest is
// not checked in. It appends an event. The guest's next press calls checkIn under a new key. If there is no such call, or it still runs, it
// returns an error.
func (s *Service) ForgetUnansweredCall(tx *db.Tx, k Key, by string) (View, error) {
	return s.applyChange(tx, k, func(tx *db.Tx, r *record) error {
		unanswered := func(stop Stop) bool { return stop.Reason == StopNoAnswer }
		if !slices.ContainsFunc(Next(r.facts(tx.Now())).Stops, unanswered) {
			return fault.New(fault.Precondition, fault.NoUnansweredCall,
				"no checkIn call of this stay waits for an answer of the PMS now; read the check-in to see where it is")
		}
		body := map[string]any{"reservationId": k.ReservationID, "by": by, "key": r.stay.AttemptKey, "calls": r.stay.Attempts}
		r.forgetAttempt()
		return event.Append(tx, event.Event{PropertyID: k.PropertyID, Subject: event.InternalSubject(k.ReservationID), Kind: event.CallEnded, Body: body})
	})
}

// ReadGuests returns a check-in with the data of its guests, and appends an event with who reads them (by).
func (s *Service) ReadGuests(tx *db.Tx, k Key, by string) (View, error) {
	r, err := s.load(tx, k)
	if err != nil {
		return View{}, err
	}
	return r.view(tx.Now()), event.Append(tx, event.Event{
		PropertyID: k.PropertyID, Subject: event.InternalSubject(k.ReservationID), Kind: event.GuestsRead,
		Body: map[string]any{"reservationId": k.ReservationID, "by": by},
	})
}
