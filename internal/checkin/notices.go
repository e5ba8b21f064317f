package checkin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	entmail "latchkey.dev/ent/mail"
	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// stopNotices has the kind of the notice to staff for every reason of a stop. No reason may be missing.
var stopNotices = map[StopReason]notice.Kind{
	StopOwing: notice.CheckInOwing, StopRoomNotReady: notice.CheckInRoomNotReady, StopPartnerError: notice.CheckInPartnerError, StopPartnerUnavailable: notice.CheckInPartnerUnavailable,
	StopIdentityCheck: notice.CheckInIdentityCheck, StopSignature: notice.CheckInSignature, StopStageRefused: notice.CheckInStageRefused, StopMinorAlone: notice.CheckInMinorAlone,
	StopCheckInRefused: notice.CheckInRefused, StopAtDesk: notice.CheckInAtDesk, StopNoAnswer: notice.CheckInNoAnswer,
}

// mailInterval is the time in which staff get at most one mail about a kind of stop of a stay, even if the stop comes and goes.
const mailInterval = time.Hour

// notify adds notices and events about new stops, mails the notices to staff, at most one of a kind in mailInterval, renews those that are
// open already, and resolves the notices of stops that are over. Two stay open: that of an unanswered call while it is repeated, and that
// of repeated searches until the departure. open has the kinds of notices that are open now.
func (s *Service) notify(tx *db.Tx, r *record, step Step, open []notice.Kind) (err error) {
	want := r.neededNotices(step)
	for _, kind := range open {
		params, still := want[kind]
		switch {
		case kind == notice.CheckInRepeated && r.isInHouse(step, tx.Now()): // the notice stays open until the departure; a further search renews it
		case still:
			err = notice.Renew(tx, r.notice(kind, params)) // the amount may have changed
		case kind == stopNotices[StopNoAnswer] && step.Stage == Calling: // the notice stays open until the repeated call is answered
		default:
			err = notice.Resolve(tx, r.stay.PropertyID, r.noticeKey(kind))
		}
		if err != nil {
			return err
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(want)) {
		if slices.Contains(open, kind) {
			continue
		}
		if reason := reasonOf(kind); reason != "" {
			if err := r.appendEvent(tx, event.CheckInBlocked, "reason", string(reason)); err != nil {
				return err
			}
		}
		n := r.notice(kind, want[kind])
		mailed, err := wasMailed(tx, n)
		if err == nil {
			err = s.notifyStaff(tx, n, !mailed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// neededNotices returns the kinds of notices to staff that follow from a decision, with their parameters. Before the guest begins there are
// none.
func (r *record) neededNotices(step Step) map[notice.Kind]message.Params {
	want := map[notice.Kind]message.Params{}
	if r.stay.BeganAt == nil {
		return want
	}
	for _, stop := range step.Stops {
		want[stopNotices[stop.Reason]] = r.stopParams(stop)
	}
	if step.Late {
		want[notice.CheckInLate] = r.params()
	}
	return want
}

// openNotices returns the kinds of the notices about the check-in that are not resolved, except requests for help.
func (r *record) openNotices(tx *db.Tx) (open []notice.Kind, err error) {
	keys := []string{r.noticeKey(notice.CheckInLate), r.noticeKey(notice.CheckInRepeated)}
	for _, kind := range stopNotices {
		keys = append(keys, r.noticeKey(kind))
	}
	err = tx.Notice.Query().Where(entnotice.PropertyID(r.stay.PropertyID), entnotice.OnceKeyIn(keys...)).Select(entnotice.FieldKind).Scan(tx.Context(), &open)
	if err != nil {
		return nil, fmt.Errorf("look for notices of a check-in: %w", err)
	}
	return open, nil
}

// notifyStaff adds a notice. If mailed is true, it also mails the notice to the property's staff, even if the same problem has an open
// notice already.
func (s *Service) notifyStaff(tx *db.Tx, n notice.Notice, mailed bool) error {
	if err := notice.Add(tx, n); err != nil || !mailed {
		return err
	}
	return s.orderMail(tx, mail.Mail{PropertyID: n.PropertyID, Kind: mail.Staff, ReservationID: n.Subject, Params: mail.StaffParams(n.Kind.Message(n.Params))})
}

// reasonOf returns the stop reason of a kind of notice, or "".
func reasonOf(kind notice.Kind) StopReason {
	for reason, k := range stopNotices {
		if k == kind {
			return reason
		}
	}
	return ""
}

// isRecent reports whether a notice of the same kind about the same stay was added within helpInterval, even if it is resolved by now.
func isRecent(tx *db.Tx, n notice.Notice) (bool, error) {
	recent, err := tx.Notice.Query().Where(entnotice.PropertyID(n.PropertyID), entnotice.Subject(n.Subject), entnotice.Kind(string(n.Kind)),
		entnotice.CreatedAtGT(tx.Now().Add(-helpInterval))).Exist(tx.Context())
	if err != nil {
		return false, fmt.Errorf("look for notices of a check-in: %w", err)
	}
	return recent, nil
}

// wasMailed reports whether a notice of the same kind about the same stay was mailed to staff within mailInterval. Notices that were added
// without a mail do not count: otherwise a stop that comes back within each hour would be mailed only once.
func wasMailed(tx *db.Tx, n notice.Notice) (bool, error) {
	mails, err := tx.Mail.Query().Where(entmail.PropertyID(n.PropertyID), entmail.ReservationID(n.Subject), entmail.Kind(string(mail.Staff)),
		entmail.CreatedAtGT(tx.Now().Add(-mailInterval))).Select(entmail.FieldParameters).All(tx.Context())
	if err != nil {
		return false, fmt.Errorf("look for mails about a check-in: %w", err)
	}
	return slices.ContainsFunc(mails, func(m *mail.Row) bool { return mail.StaffText(m.Parameters).Kind == n.Kind.Message(nil).Kind }), nil
}

// notice returns a notice about the check-in that stays open until it is resolved.
func (r *record) notice(kind notice.Kind, params message.Params) notice.Notice {
	return notice.Notice{PropertyID: r.stay.PropertyID, Kind: kind, Params: params, Subject: r.stay.ReservationID, OnceKey: r.noticeKey(kind)}
}

// noticeKey identifies the notice of a kind about this check-in.
func (r *record) noticeKey(kind notice.Kind) string { return kind.Key(r.stay.ReservationID) }

// params returns the only parameter that all texts about this stay have: the PMS's number of the reservation.
func (r *record) params() message.Params { return message.Params{"number": r.reservation.PmsNumber} }

// stopParams returns the parameters of the notice about a stop. All are strings, because the notice is mailed too.
func (r *record) stopParams(stop Stop) message.Params {
	p := r.params()
	switch stop.Reason {
	case StopOwing:
		p["amount"] = stop.Owing.String()
		p["limit"] = r.policy().Limit(stop.Owing.Currency).String()
	case StopPartnerError:
		p["status"] = strconv.Itoa(r.stay.Answer.Status)
	case StopCheckInRefused:
		p["status"] = strconv.Itoa(r.stay.Refusal.Status)
	}
	return p
}

// Message returns what the guest reads at a stop.
func (stop Stop) Message() message.Message {
	m := message.Message{Kind: "checkIn.stop." + string(stop.Reason)}
	if stop.Reason == StopOwing {
		m.Params = message.Params{"amount": stop.Owing.String()}
	}
	return m
}

// IsRoomReadyMailPending reports whether the mail that the room is ready was not ordered yet since the guest began the check-in. It does
// not check whether the guest waits for the room.
func (v View) IsRoomReadyMailPending() bool { return v.Row.RoomReadyMailedAt == nil }

// helpInterval is the time in which repeated requests for help make one notice.
const helpInterval = 5 * time.Minute

// RequestHelp adds a notice that a guest asks for help, and mails it to staff. It does nothing within helpInterval after the last request.
func (s *Service) RequestHelp(ctx context.Context, k Key) error {
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		r, err := s.load(tx, k)
		if err != nil {
			return err
		}
		n := r.notice(notice.CheckInHelp, r.params())
		n.OnceKey = "" // each request for help is a notice of its own
		recent, err := isRecent(tx, n)
		if err != nil || recent {
			return err
		}
		return s.notifyStaff(tx, n, true)
	})
}
