package checkin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// stopNotices are the notices to staff about stops, by reason.
var stopNotices = map[StopReason]string{
	StopOwing: "checkInOwing", StopRoomNotReady: "checkInRoomNotReady", StopPartnerError: "checkInPartnerError", StopPartnerUnavailable: "checkInPartnerUnavailable",
	StopIdentityCheck: "checkInIdentityCheck", StopSignature: "checkInSignature", StopStageRefused: "checkInStageRefused", StopMinorAlone: "checkInMinorAlone",
	StopCheckInRefused: "checkInRefused", StopAtDesk: "checkInAtDesk", StopNoAnswer: "checkInNoAnswer",
}

const (
	lateNotice = "checkInLate"
	helpNotice = "checkInHelp"
)

// notify adds notices about new stops, and settles those of stops that are over.
func (s *Service) notify(tx *db.Tx, r *record, step Step) error {
	want := map[string]message.Params{}
	if r.stay.BeganAt != nil {
		for _, stop := range step.Stops {
			want[stopNotices[stop.Reason]] = r.stopParams(stop)
		}
		if step.Late {
			want[lateNotice] = r.params()
		}
	}
	var keys []string
	for _, kind := range stopNotices {
		keys = append(keys, r.noticeKey(kind))
	}
	keys = append(keys, r.noticeKey(lateNotice))
	open, err := tx.Notice.Query().Where(entnotice.PropertyID(r.stay.PropertyID), entnotice.OnceKeyIn(keys...)).Select(entnotice.FieldKind).Strings(tx.Context())
	if err != nil {
		return fmt.Errorf("look for notices of a check-in: %w", err)
	}
	for _, kind := range open {
		if params, still := want[kind]; still {
			if err := notice.Renew(tx, r.noticeOf(kind, params)); err != nil { // the amount may have changed
				return err
			}
			continue
		}
		if err := notice.Settle(tx, r.noticeKey(kind)); err != nil {
			return err
		}
	}
	for kind, params := range want {
		if slices.Contains(open, kind) {
			continue
		}
		if err := s.tell(tx, r, kind, params, r.noticeKey(kind)); err != nil {
			return err
		}
	}
	return nil
}

// tell adds a notice and mails it to the property's staff.
func (s *Service) tell(tx *db.Tx, r *record, kind string, params message.Params, onceKey string) error {
	n := notice.Notice{PropertyID: r.stay.PropertyID, Kind: kind, Params: params, Subject: r.stay.ReservationID, OnceKey: onceKey}
	if err := notice.Add(tx, n); err != nil {
		return err
	}
	said := notice.Message(kind, params)
	texts := map[string]string{"kind": said.Kind}
	for name, value := range said.Params {
		texts[name] = fmt.Sprint(value)
	}
	return s.mail(tx, mail.Mail{PropertyID: n.PropertyID, Kind: mail.Staff, ReservationID: n.Subject, Params: texts})
}

func (r *record) noticeOf(kind string, params message.Params) notice.Notice {
	return notice.Notice{PropertyID: r.stay.PropertyID, Kind: kind, Params: params, Subject: r.stay.ReservationID, OnceKey: r.noticeKey(kind)}
}

func (r *record) noticeKey(kind string) string { return r.stay.ReservationID + "/" + kind }

func (r *record) params() message.Params { return message.Params{"number": r.reservation.PmsNumber} }

// stopParams returns the parameters of a notice. All are strings, because the notice is mailed too.
func (r *record) stopParams(stop Stop) message.Params {
	p := r.params()
	switch stop.Reason {
	case StopOwing:
		p["amount"] = stop.Owing.String()
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

// helpInterval is the time in which repeated calls for help make one notice.
const helpInterval = 5 * time.Minute

// RequestHelp notifies staff that a guest asks for help.
func (s *Service) RequestHelp(ctx context.Context, k Key) error {
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		r, err := s.load(tx, k)
		if err != nil {
			return err
		}
		recent, err := tx.Notice.Query().Where(entnotice.PropertyID(k.PropertyID), entnotice.Subject(k.ReservationID), entnotice.Kind(helpNotice),
			entnotice.CreatedAtGT(tx.Now().Add(-helpInterval))).Exist(tx.Context())
		if err != nil {
			return fmt.Errorf("look for a call for help: %w", err)
		}
		if recent {
			return nil
		}
		return s.tell(tx, r, helpNotice, r.params(), "")
	})
}
