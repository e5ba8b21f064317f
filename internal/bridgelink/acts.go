package bridgelink

import (
	"context"
	"errors"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/phone"
)

// errBusy answers an act when the session has too much to do to send it in time.
var errBusy = fault.New(fault.Exhausted, fault.UnavailableReason, "the bridge has too much to do; nothing was sent, try again").Retry(time.Second)

// errLeaving answers an order that a session can take no more because its node asked it to leave.
var errLeaving = errors.New("the bridge was asked to go to another node")

// carry claims and sends the acts that were left for the session. An act is claimed durably before it is sent, so it is
// sent at most once, whatever dies.
func (s *session) carry() cause {
	for _, o := range s.box.takeOrders() {
		if s.out.full() || len(s.pending) >= ordersMax {
			s.refuse(o, errBusy, "busy")
			continue
		}
		if !time.Now().Before(o.deadline) {
			s.refuse(o, lock.ErrTooLate, late)
			continue
		}
		if !o.taken.CompareAndSwap(false, true) {
			continue
		}
		claimed, err := s.claim(o)
		if err != nil {
			s.refuse(o, err, "notClaimed")
			if why, ends := causeOf(err); ends && why == superseded {
				return superseded
			}
			continue
		}
		if stored := s.node.onMonotonic(claimed.Deadline); stored.Before(o.deadline) {
			o.deadline = stored // the row is the truth
		}
		if keyed := claimed.Operation != lock.Unlock; keyed != (len(o.presentation) > 0) {
			o.late.Store(true)
			s.giveUp(o)
			continue
		}
		if s.pending == nil {
			s.pending = map[string]*order{}
		}
		s.pending[o.actID] = o
		act := &lockv1.Act{Id: o.actID, Address: claimed.Address, Operation: claimed.Operation, Deadline: stamp(claimed.Deadline), SmartkeyPresentation: o.presentation}
		s.out.first(letter{order: o, message: &lockv1.ConnectResponse{
			Epoch: uint64(s.open.Epoch), Kind: &lockv1.ConnectResponse_Act{Act: act},
		}})
	}
	return ""
}

// claim takes an act for this session, durably: in the change that stored it, where that was made here, or now.
func (s *session) claim(o *order) (claimed lock.UnlockCommand, err error) {
	if o.claimed != nil {
		if o.claimed.Epoch != s.open.Epoch {
			return claimed, lock.ErrBridgeOffline
		}
		return *o.claimed, nil
	}
	err = s.node.cfg.DB.Write(context.WithoutCancel(s.stream.Context()), func(tx *db.Tx) (err error) {
		claimed, err = lock.ClaimCommand(tx, s.open.BridgeID, s.open.Epoch, o.actID)
		return err
	})
	return claimed, err
}

// refuse answers an order of which nothing was sent.
func (s *session) refuse(o *order, err error, why string) {
	s.node.counters.refused.WithLabelValues(why).Inc()
	o.reply(lock.Outcome{ActID: o.actID}, err)
}

// acted takes the bridge's word on an act. It counts also when nobody waits any more.
func (s *session) acted(r *lockv1.ActReport) cause {
	outcome := one(r.Outcome, lock.CommandUnknown, lock.CommandDone, lock.CommandFailed, lock.CommandExpired)
	o := s.pending[r.Id]
	delete(s.pending, r.Id)
	var done lock.Outcome
	why := s.write("actReport", func(tx *db.Tx) (err error) {
		done, err = lock.FinishCommand(tx, s.open.BridgeID, r.Id, outcome, judged(r), when(r.OccurredAt))
		if err != nil || r.SmartkeyReason == "" {
			return err
		}
		return phone.Acted(tx, s.open.PropertyID, r.Id, r.SmartkeyReason)
	})
	if o == nil {
		return why
	}
	if done.ActID == "" {
		done = lock.Outcome{ActID: r.Id, State: lock.CommandUnknown}
	}
	o.reply(done, nil)
	return why
}

// expire ends acts on which nothing came back in time.
func (s *session) expire(now time.Time) {
	for id, o := range s.pending {
		if now.Before(o.deadline.Add(s.node.cfg.pace.grace)) && !o.late.Load() {
			continue
		}
		delete(s.pending, id)
		s.giveUp(o)
	}
}

// giveUp says of a claimed act what can be said without a report: it was not sent, or nobody knows.
func (s *session) giveUp(o *order) {
	outcome := lock.CommandUnknown
	if o.late.Load() {
		outcome = lock.CommandExpired
	}
	done := lock.Outcome{ActID: o.actID, State: outcome}
	err := s.node.cfg.DB.Write(context.WithoutCancel(s.stream.Context()), func(tx *db.Tx) (err error) {
		done, err = lock.FinishCommand(tx, s.open.BridgeID, o.actID, outcome, "", time.Time{})
		return err
	})
	if err != nil {
		s.log.Error("noting that an act's outcome is not known failed", "act", o.actID, "error", err)
	}
	o.reply(done, nil)
}

// finish is the one undo of a session.
func (s *session) finish(end cause) {
	s.box.cut(end)
	s.desk.close()
	var why error = lock.ErrBridgeOffline
	if end == shuttingDown {
		why = errLeaving
	}
	for _, o := range s.box.takeOrders() {
		s.refuse(o, why, "sessionEnded")
	}
	for _, o := range s.pending {
		s.giveUp(o)
	}
	s.node.counters.sessions.Dec()
	s.node.counters.ended.WithLabelValues(string(end)).Inc()
	err := s.node.cfg.DB.Write(context.WithoutCancel(s.stream.Context()), func(tx *db.Tx) error {
		return lock.CloseSession(tx, s.open.BridgeID, s.open.Epoch, end.reason())
	})
	if err != nil {
		s.log.Error("marking a bridge offline failed; it is found silent instead", "error", err)
	}
	s.log.Info("a bridge's session ended", "cause", string(end))
}
