package bridgelink

import (
	"context"
	"errors"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/mobilekey"
)

// errBusy refuses an unlock command because the session's queue is full.
var errBusy = fault.New(fault.Exhausted, fault.UnavailableReason, "the bridge is busy; the command was not sent, try again").Retry(time.Second)

// errLeaving refuses an unlock command because the bridge was asked to move to another node, to which SendCommand then sends the command.
var errLeaving = errors.New("the bridge was asked to move to another node")

// dispatchCommands claims the waiting unlock commands and queues them for sending, at most maxCommands in one call. It returns a cause if
// the session must end; the commands that then still wait are refused by cleanUp.
func (s *session) dispatchCommands() cause {
	for range maxCommands {
		c := s.mailbox.takeCommand()
		if c == nil {
			break
		}
		if why := s.dispatch(c); why != "" {
			return why
		}
	}
	return ""
}

// dispatch claims an unlock command and queues it for sending. It stores the claim before the command is sent, so that a crash never leads
// to a second send. It refuses a command that is late, that is one too many or that cannot be claimed, and skips one that another session
// or its caller took. It ends as expired a command whose SmartKey message is missing or not needed. It returns superseded if the bridge has
// a newer session, which the caller of the command then looks for, and otherwise no cause.
func (s *session) dispatch(c *command) cause {
	switch {
	case s.outbox.isFull() || len(s.pending) >= maxCommands:
		s.refuse(c, errBusy, "busy")
		return ""
	case !time.Now().Before(c.deadline):
		s.refuse(c, lock.ErrTooLate, tooLate)
		return ""
	case !c.taken.CompareAndSwap(false, true):
		return ""
	}
	claimed, err := s.claim(c)
	if errors.Is(err, bridge.ErrSuperseded) {
		s.refuse(c, lock.ErrBridgeOffline, "notClaimed")
		return superseded
	}
	if err != nil {
		s.refuse(c, err, "notClaimed")
		return ""
	}
	if stored := s.node.toMonotonic(claimed.Deadline); stored.Before(c.deadline) {
		c.deadline = stored // the earlier of the two deadlines counts
	}
	if needsSmartKey := claimed.Operation != lock.Unlock; needsSmartKey != (len(c.presentation) > 0) {
		c.expired.Store(true)
		s.endWithoutReport(c)
		return ""
	}
	if s.pending == nil {
		s.pending = map[string]*command{}
	}
	s.pending[c.id] = c
	message := &lockv1.Act{Id: c.id, Address: claimed.Address, Operation: claimed.Operation, Deadline: clock.Timestamp(claimed.Deadline), SmartkeyPresentation: c.presentation}
	s.outbox.pushFront(outgoing{command: c, message: &lockv1.ConnectResponse{
		Epoch: uint64(s.open.Epoch), Kind: &lockv1.ConnectResponse_Act{Act: message},
	}})
	return ""
}

// claim reserves an unlock command for this session, so that no other session sends it too. A command with c.claimed was reserved when it
// was stored; if that was for another session of the bridge, claim returns ErrBridgeOffline. Other errors are those of [lock.ClaimCommand].
func (s *session) claim(c *command) (claimed lock.UnlockCommand, err error) {
	if c.claimed != nil {
		if c.claimed.Epoch != s.open.Epoch {
			return claimed, lock.ErrBridgeOffline
		}
		return *c.claimed, nil
	}
	err = s.node.cfg.DB.Write(context.WithoutCancel(s.stream.Context()), func(tx *db.Tx) (err error) {
		claimed, err = lock.ClaimCommand(tx, s.open.BridgeID, s.open.Epoch, c.id)
		return err
	})
	return claimed, err
}

// refuse reports err to the caller of an unlock command that was not sent. It does not change the stored command. reason is the label in
// the metrics.
func (s *session) refuse(c *command, err error, reason string) {
	s.node.counters.refused.WithLabelValues(reason).Inc()
	c.reply(lock.Outcome{CommandID: c.id}, err)
}

// onCommandResult stores the bridge's report about an unlock command, with the result of its SmartKey if it has one, and passes it to the
// caller, if the caller still waits. An unknown outcome is stored as CommandUnknown, and the caller gets that, too, if the report cannot be
// stored. It returns a cause if the session must end.
func (s *session) onCommandResult(r *lockv1.ActReport) cause {
	outcome := enumOr(r.Outcome, lock.CommandUnknown, lock.CommandDone, lock.CommandFailed, lock.CommandExpired)
	c := s.pending[r.Id]
	delete(s.pending, r.Id)
	var done lock.Outcome
	why := s.write("actReport", func(tx *db.Tx) error {
		done = lock.Outcome{} // an earlier try of the transaction may have set it
		finished, err := lock.FinishCommand(tx, s.open.BridgeID, r.Id, outcome, resultText(r), timeOf(r.OccurredAt))
		if err == nil && r.SmartkeyReason != "" {
			err = mobilekey.RecordCommandResult(tx, s.open.PropertyID, r.Id, r.SmartkeyReason)
		}
		if err == nil {
			done = finished
		}
		return err
	})
	if c == nil {
		return why
	}
	if why != "" || done.CommandID == "" {
		done = lock.Outcome{CommandID: r.Id, State: lock.CommandUnknown}
	}
	c.reply(done, nil)
	return why
}

// expireCommands ends sent commands whose result did not arrive within resultGrace after their deadline, and those that the sender skipped
// because they were late: see endWithoutReport.
func (s *session) expireCommands(now time.Time) {
	for id, c := range s.pending {
		if now.Before(c.deadline.Add(s.node.cfg.timings.resultGrace)) && !c.expired.Load() {
			continue
		}
		delete(s.pending, id)
		s.endWithoutReport(c)
	}
}

// endWithoutReport ends a claimed command for which no report arrived. It stores and reports that the command expired if it was not sent,
// and otherwise that its outcome is unknown.
func (s *session) endWithoutReport(c *command) {
	outcome := lock.CommandUnknown
	if c.expired.Load() {
		outcome = lock.CommandExpired
	}
	done := lock.Outcome{CommandID: c.id, State: outcome}
	err := s.node.cfg.DB.Write(context.WithoutCancel(s.stream.Context()), func(tx *db.Tx) error {
		stored, err := lock.FinishCommand(tx, s.open.BridgeID, c.id, outcome, "", time.Time{})
		if err == nil {
			done = stored
		}
		return err
	})
	if err != nil {
		s.log.Error("recording that a command's outcome is unknown failed", "act", c.id, "error", err)
	}
	c.reply(done, nil)
}

// cleanUp runs when an open session ends. It refuses the waiting commands and greeting requests, ends sent commands without their reports,
// and marks the bridge offline in the database.
func (s *session) cleanUp(ended cause) {
	s.mailbox.end(ended)
	s.greetings.close()
	var why error = lock.ErrBridgeOffline
	if ended == shuttingDown {
		why = errLeaving
	}
	for c := s.mailbox.takeCommand(); c != nil; c = s.mailbox.takeCommand() {
		s.refuse(c, why, "sessionEnded")
	}
	for _, c := range s.pending {
		s.endWithoutReport(c)
	}
	s.node.counters.sessions.Dec()
	s.node.counters.ended.WithLabelValues(string(ended)).Inc()
	err := s.node.cfg.DB.Write(context.WithoutCancel(s.stream.Context()), func(tx *db.Tx) error {
		return lock.CloseSession(tx, s.open.BridgeID, s.open.Epoch, ended.offlineReason())
	})
	if err != nil {
		s.log.Error("marking a bridge offline failed; the sweep for silent bridges will do it", "error", err)
	}
	s.log.Info("a bridge's session ended", "cause", string(ended))
}
