package checkin

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/schema"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/watch"
)

// write changes a check-in in one transaction, evaluates it again, and stores what follows: see applyChange.
func (s *Service) write(ctx context.Context, k Key, change func(r *record, now time.Time)) (View, error) {
	return s.writeTx(ctx, k, func(tx *db.Tx, r *record) error {
		change(r, tx.Now())
		return nil
	})
}

// writeTx is like write, for a change that needs the transaction.
func (s *Service) writeTx(ctx context.Context, k Key, change func(tx *db.Tx, r *record) error) (v View, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		v, err = s.applyChange(tx, k, change)
		return err
	})
	return v, err
}

// applyChange changes a check-in in the caller's transaction, evaluates it again, and stores both with the events, notices and mails that
// follow, and with the body of a checkIn call that change has claimed. If change returns an error, it returns that and stores no change.
func (s *Service) applyChange(tx *db.Tx, k Key, change func(tx *db.Tx, r *record) error) (View, error) {
	r, err := s.loadForChange(tx, k)
	if err != nil {
		return View{}, err
	}
	if err := change(tx, r); err != nil {
		return View{}, err
	}
	if err := s.storeDecision(tx, r); err != nil {
		return View{}, err
	}
	if r.claimed && len(r.stay.AttemptBody) == 0 {
		if err := s.sealBody(tx, r); err != nil {
			return View{}, err
		}
	}
	if err := save(tx, r.stay, r.stored); err != nil {
		return View{}, err
	}
	return r.view(tx.Now()), nil
}

// storeAnswer merges a new answer of the PMS into r. It also records in r whether the room has become ready since an answer that denied it.
func (r *record) storeAnswer(a schema.StatusAnswer) {
	before := r.stay.Answer.RoomReady
	r.stay.Answer = mergeAnswer(r.stay.Answer, a)
	r.roomBecameReady = before != nil && !*before && r.stay.Answer.RoomReady != nil && *r.stay.Answer.RoomReady
}

// orderRoomReadyMail orders the mail that the room is ready if the change made it ready, at most once for each start of the check-in.
func (s *Service) orderRoomReadyMail(tx *db.Tx, r *record) error {
	if !r.roomBecameReady || r.stay.RoomReadyMailedAt != nil {
		return nil
	}
	r.stay.RoomReadyMailedAt = new(tx.Now())
	return s.orderMail(tx, mail.Mail{
		PropertyID: r.stay.PropertyID, Kind: mail.RoomReady, ReservationID: r.stay.ReservationID,
		OnceKey: r.stay.ReservationID + "/" + string(mail.RoomReady) + "/" + r.stay.BeganAt.Format(time.RFC3339),
	})
}

// endLinksIfCanceled ends the links and sessions of a stay if this change ends the check-in by a cancelation. Its mails that were not sent
// yet are canceled when they are due.
func endLinksIfCanceled(tx *db.Tx, r *record) error {
	if r.stay.EndedBy != endedByCanceled || r.stored.EndedBy == endedByCanceled {
		return nil
	}
	return guest.EndLinksAndSessions(tx, r.stay.PropertyID, r.stay.ReservationID)
}

// orderMail orders a mail in the transaction.
func (s *Service) orderMail(tx *db.Tx, m mail.Mail) error {
	if _, err := mail.Order(tx, s.Keys, s.Queue, m); err != nil {
		return fmt.Errorf("order a mail about %s: %w", m.ReservationID, err)
	}
	return nil
}

// Who ended a check-in. The first two are the values of by in the event checkIn.completed.
const (
	endedByGuest    = "guest" // the PMS started the stay after this service called checkIn, and had not refused that call
	endedByPMS      = "pms"   // the desk started the stay, or the stay is over
	endedByCanceled = "canceled"
)

// clearedByPMS is who cleared the stages that were open or refused when the PMS started the stay.
const clearedByPMS = "pms"

// storeDecision evaluates the check-in, and sets in r its end, the stages that the PMS cleared and the next evaluation. It stores events,
// notices and mails, prolongs links and sessions when the stay starts, and ends them when it is canceled. The caller saves r.
func (s *Service) storeDecision(tx *db.Tx, r *record) error {
	now := tx.Now()
	f := r.facts(now)
	step := Next(f)
	if r.stay.EndedBy == "" {
		r.end(f, step, now)
		if step.Stage == CheckedIn { // also the phone that pressed keeps its session: guest.Prolong extends sessions and ends none
			if err := guest.Prolong(tx, r.stay.PropertyID, r.reservation.ToAt, r.stay.ReservationID); err != nil {
				return err
			}
		}
	}
	if r.stay.EndedBy != "" { // erases the body of the checkIn call and the PMS's error texts, also those that come after the end
		r.stay.AttemptBody, r.stay.Answer.ErrorText, r.stay.Refusal.ErrorText = nil, nil, nil
	}
	if err := s.orderRoomReadyMail(tx, r); err != nil {
		return err
	}
	if err := endLinksIfCanceled(tx, r); err != nil {
		return err
	}
	open, err := r.openNotices(tx)
	if err != nil {
		return err
	}
	r.stay.NextAskAt = nil
	switch {
	case r.isInHouse(step, now) && slices.Contains(open, notice.CheckInRepeated):
		r.stay.NextAskAt = &f.Reservation.To
	case step.Do != DoNothing:
		r.stay.NextAskAt = &step.At
	case r.stay.BeganAt != nil && r.stay.EndedBy == "" && now.Before(f.Reservation.To):
		r.stay.NextAskAt = &f.Reservation.To // at the departure the check-in ends: its notices are resolved and the body of a call is erased
	}
	if changed := r.reservation.UpdatedAt; r.stay.EvaluatedAt == nil || !r.stay.EvaluatedAt.Equal(changed) {
		r.stay.EvaluatedAt = &changed
	}
	if err := r.RecordCompletion(tx); err != nil {
		return err
	}
	if err := r.appendEvents(tx, step); err != nil {
		return err
	}
	return s.notify(tx, r, step, open)
}

// isInHouse reports whether the guest is checked in and the stay is not over.
func (r *record) isInHouse(step Step, now time.Time) bool {
	return step.Stage == CheckedIn && now.Before(r.reservation.ToAt)
}

// appendEvents appends the events of this change: the guest began the check-in, or the PMS started the stay of a guest who had begun.
func (r *record) appendEvents(tx *db.Tx, step Step) error {
	began := r.stay.BeganAt != nil && (r.stored.BeganAt == nil || !r.stored.BeganAt.Equal(*r.stay.BeganAt))
	if began {
		origin := r.stay.BeganBy
		if origin != guest.OriginMail && origin != guest.OriginDoor {
			origin = "kiosk"
		}
		if err := r.appendEvent(tx, event.CheckInStarted, "origin", origin); err != nil {
			return err
		}
	}
	if r.stay.EndedBy == "" || r.stored.EndedBy != "" || step.Stage != CheckedIn || r.stay.BeganAt == nil {
		return nil
	}
	return r.appendEvent(tx, event.CheckInCompleted, "by", r.stay.EndedBy)
}

// appendEvent appends an event for partners with one fact besides the reservation.
func (r *record) appendEvent(tx *db.Tx, kind event.Kind, name, value string) error {
	return event.Append(tx, event.Event{
		PropertyID: r.stay.PropertyID, Subject: r.stay.ReservationID, Kind: kind,
		Body: map[string]any{"reservationId": r.stay.ReservationID, name: value},
	})
}

// reopen clears an ended check-in, so that it can begin again, after the PMS took back a check-in, a check-out or a cancelation. What staff
// cleared remains. It does nothing unless the check-in has ended and the reservation is confirmed.
func (r *record) reopen() {
	if r.stay.EndedBy == "" || r.reservation.State != "confirmed" {
		return
	}
	r.stay.EndedBy, r.stay.EndedAt, r.stay.BeganBy, r.stay.BeganAt, r.stay.DetailsConfirmedAt = "", nil, "", nil, nil
	r.stay.Answer, r.stay.RoomReadyMailedAt = schema.StatusAnswer{}, nil
	r.stay.Cleared = slices.DeleteFunc(slices.Clone(r.stay.Cleared), func(c schema.ClearedStage) bool { return c.By == clearedByPMS })
	r.forgetAttempt()
}

// end records the end of the check-in, if it has ended. If the PMS started the stay, it also records the stages that were open or refused
// then, as cleared by the PMS. A stay that the desk starts before the guest begins the check-in has no such stage.
func (r *record) end(f Facts, step Step, now time.Time) {
	switch {
	case r.reservation.State == "canceled":
		r.stay.EndedBy = endedByCanceled
	case step.Stage == CheckedIn && f.Attempt.State != NoAttempt && f.Attempt.State != AttemptRefused && f.Attempt.State != AttemptAtDesk:
		r.stay.EndedBy = endedByGuest
	case step.Stage == CheckedIn, step.Stage == Ended:
		r.stay.EndedBy = endedByPMS
	default:
		return
	}
	r.stay.EndedAt = &now
	if step.Stage != CheckedIn || f.BeganAt.IsZero() {
		return
	}
	for _, stage := range []Stage{IdentityCheck, Signature} {
		if c := f.clearance(stage); f.isOpen(stage) || f.wants(stage) && c != nil && c.Refused {
			r.stay.Cleared = append(slices.Clone(r.stay.Cleared), schema.ClearedStage{Stage: string(stage), By: clearedByPMS, At: now.Format(time.RFC3339)})
		}
	}
}

// save stores the row of the check-in if it differs from stored, the row as it was loaded. It writes only the columns that this package
// changes.
func save(tx *db.Tx, row *ent.Stay, stored ent.Stay) error {
	if reflect.DeepEqual(*row, stored) {
		return nil
	}
	watch.Notify(tx, row.PropertyID, watch.Reservations, row.ReservationID)
	u := tx.Stay.Update().Where(entstay.PropertyID(row.PropertyID), entstay.ID(row.ID)).
		SetBeganBy(row.BeganBy).SetCleared(row.Cleared).SetAnswer(row.Answer).SetAttemptKey(row.AttemptKey).SetAttemptSession(row.AttemptSession).SetAttemptState(row.AttemptState).
		SetAttempts(row.Attempts).SetRefusal(row.Refusal).SetEndedBy(row.EndedBy)
	if len(row.AttemptBody) == 0 {
		u.ClearAttemptBody()
	} else {
		u.SetAttemptBody(row.AttemptBody)
	}
	for _, column := range []struct {
		value *time.Time
		set   func(time.Time) *ent.StayUpdate
		clear func() *ent.StayUpdate
	}{
		{row.BeganAt, u.SetBeganAt, u.ClearBeganAt},
		{row.DetailsConfirmedAt, u.SetDetailsConfirmedAt, u.ClearDetailsConfirmedAt},
		{row.NextAskAt, u.SetNextAskAt, u.ClearNextAskAt},
		{row.AttemptAt, u.SetAttemptAt, u.ClearAttemptAt},
		{row.AcceptedAt, u.SetAcceptedAt, u.ClearAcceptedAt},
		{row.EndedAt, u.SetEndedAt, u.ClearEndedAt},
		{row.EvaluatedAt, u.SetEvaluatedAt, u.ClearEvaluatedAt},
		{row.RoomReadyMailedAt, u.SetRoomReadyMailedAt, u.ClearRoomReadyMailedAt},
	} {
		if column.value == nil {
			column.clear()
		} else {
			column.set(*column.value)
		}
	}
	if err := u.Exec(tx.Context()); err != nil {
		return fmt.Errorf("store the check-in of %s: %w", row.ReservationID, err)
	}
	return nil
}

// Due lists check-ins of all properties that must be evaluated without the guest: the PMS has changed the reservation (changed), or the
// next question or call, or the evaluation at the departure, is due (due). Each list has at most limit check-ins. In due the integrations
// take turns, so that one with many check-ins does not fill the list.
func Due(view *db.Tx, limit int) (changed, due []Key, err error) {
	if changed, err = listKeys(view, selectChanged, limit); err != nil {
		return nil, nil, fmt.Errorf("find check-ins whose reservation changed: %w", err)
	}
	if due, err = listKeys(view, selectDue, view.Now(), limit); err != nil {
		return nil, nil, fmt.Errorf("find check-ins that are due: %w", err)
	}
	return changed, due, nil
}

// selectChanged finds check-ins whose reservation has changed since they were evaluated. It reads only the open ones and those that ended
// with an open notice, which are few.
const selectChanged = `SELECT s.property_id, s.reservation_id FROM stays s JOIN reservations r ON r.id = s.reservation_id AND r.property_id = s.property_id
	WHERE s.ended_at IS NULL AND (s.evaluated_at IS NULL OR s.evaluated_at <> r.updated_at)
	UNION ALL SELECT s.property_id, s.reservation_id FROM stays s JOIN reservations r ON r.id = s.reservation_id AND r.property_id = s.property_id
	WHERE s.next_ask_at IS NOT NULL AND s.ended_at IS NOT NULL AND s.evaluated_at <> r.updated_at LIMIT $1`

const selectDue = `SELECT property_id, reservation_id FROM (
		SELECT s.property_id, s.reservation_id, s.next_ask_at, row_number() OVER (PARTITION BY r.integration_id ORDER BY s.next_ask_at) AS turn
		FROM stays s JOIN reservations r ON r.id = s.reservation_id AND r.property_id = s.property_id WHERE s.next_ask_at IS NOT NULL AND s.next_ask_at <= $1
	) AS due ORDER BY turn, next_ask_at LIMIT $2`

// listKeys runs a query that selects the ids of the property and the reservation of check-ins.
func listKeys(view *db.Tx, query string, args ...any) ([]Key, error) {
	return db.ReadList(view, func(k *Key) []any { return []any{&k.PropertyID, &k.ReservationID} }, query, args...)
}

// selectCanceledStays and selectCanceledMails find the data of guests at canceled stays, whatever the state before the cancelation. A stay
// of guests who had arrived is found only after its official forms are in the guest register. A mail that also lists a room that is not
// canceled is kept with that room. A mail about the cancelation is kept for its own retention.
const (
	selectCanceledStays = `SELECT r.property_id, r.id FROM reservations AS r WHERE r.canceled_at <= $1 AND NOT (r.arrived_at IS NOT NULL AND EXISTS (
			SELECT 1 FROM guests AS f WHERE f.reservation_id = r.id AND f.property_id = r.property_id AND f.erase_at IS NULL AND f.law <> '')) AND (
			EXISTS (SELECT 1 FROM guests AS g WHERE g.reservation_id = r.id AND g.property_id = r.property_id)
			OR EXISTS (SELECT 1 FROM stays AS s WHERE s.reservation_id = r.id AND s.property_id = r.property_id)) LIMIT $2`
	selectCanceledMails = `SELECT m.id FROM reservations AS r JOIN mails AS m ON m.reservation_id = r.id AND m.property_id = r.property_id
		WHERE r.canceled_at <= $1 AND m.created_at <= $1 AND NOT EXISTS (
			SELECT 1 FROM invitations AS i JOIN reservations AS o ON o.id = i.reservation_id AND o.property_id = i.property_id
			WHERE (i.mail_id = m.id OR i.reminder_id = m.id) AND o.canceled_at IS NULL) LIMIT $2`
)

// findCanceledStays returns the reservations that were canceled before a time and have guests or a check-in: see selectCanceledStays.
func findCanceledStays(view *db.Tx, before time.Time, limit int) ([]Key, error) {
	ids, err := db.ReadList(view, func(k *Key) []any { return []any{&k.PropertyID, &k.ReservationID} }, selectCanceledStays, before, limit)
	if err != nil {
		return nil, fmt.Errorf("find canceled stays: %w", err)
	}
	return ids, nil
}

// findCanceledMails returns the ids of mails of stays that were canceled before a time: see selectCanceledMails.
func findCanceledMails(view *db.Tx, before time.Time, limit int) ([]string, error) {
	ids, err := view.ReadIDs(selectCanceledMails, before, limit)
	if err != nil {
		return nil, fmt.Errorf("find mails of canceled stays: %w", err)
	}
	return ids, nil
}
