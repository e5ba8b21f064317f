package bridgelink

import (
	"context"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/mobilekey"
)

// handle processes a message from the bridge, and returns a cause if the session must end. It ignores messages with the epoch of another
// session, with a malformed address or id, or of an unknown kind. A second Hello and a failed stream end the session.
func (s *session) handle(r received) cause {
	if r.err != nil {
		return disconnected
	}
	m := r.message
	if m.GetHello() != nil {
		return outOfOrder
	}
	if m.Epoch != uint64(s.open.Epoch) {
		s.node.counters.ignored.WithLabelValues("otherEpoch").Inc()
		return ""
	}
	if !hasValidAddressOrID(m) {
		s.node.counters.ignored.WithLabelValues("invalid").Inc()
		return ""
	}
	switch k := m.Kind.(type) {
	case *lockv1.ConnectRequest_SlotReport:
		return s.write("slotReport", func(tx *db.Tx) error {
			learned, err := lock.ApplyObservations(tx, s.node.cfg.Keys, s.open.BridgeID, s.open.Epoch, k.SlotReport.Address, observations(k.SlotReport))
			return s.notifyEvidence(tx, learned, err)
		})
	case *lockv1.ConnectRequest_UnmanagedSlots:
		return s.write("unmanagedSlots", func(tx *db.Tx) error {
			learned, err := lock.StoreForeignSlots(tx, s.open.BridgeID, s.open.Epoch, k.UnmanagedSlots.Address, unmanagedSlots(k.UnmanagedSlots))
			return s.notifyEvidence(tx, learned, err)
		})
	case *lockv1.ConnectRequest_LockReport:
		return s.onLockReport(k.LockReport)
	case *lockv1.ConnectRequest_ActReport:
		return s.onCommandResult(k.ActReport)
	case *lockv1.ConnectRequest_Events:
		return s.onEvents(k.Events)
	case *lockv1.ConnectRequest_Greeting:
		s.onGreeting(k.Greeting)
	case *lockv1.ConnectRequest_SmartkeyState:
		return s.onSmartKeyState(k.SmartkeyState)
	case *lockv1.ConnectRequest_Heartbeat:
	default:
		s.node.counters.ignored.WithLabelValues("unknownKind").Inc()
	}
	return ""
}

// hasValidAddressOrID reports whether the lock address or id in a message is well-formed. It returns true for a message without one, and
// for events, whose addresses it does not check.
func hasValidAddressOrID(m *lockv1.ConnectRequest) bool {
	switch k := m.Kind.(type) {
	case *lockv1.ConnectRequest_SlotReport:
		return isAddress(k.SlotReport.GetAddress())
	case *lockv1.ConnectRequest_UnmanagedSlots:
		return isAddress(k.UnmanagedSlots.GetAddress())
	case *lockv1.ConnectRequest_LockReport:
		return isAddress(k.LockReport.GetAddress())
	case *lockv1.ConnectRequest_ActReport:
		return isAddress(k.ActReport.GetId())
	}
	return true
}

// notifyEvidence passes changes of the evidence about slots to the OnEvidence function of [Config], inside tx. If err is not nil, it does
// nothing and returns err.
func (s *session) notifyEvidence(tx *db.Tx, changes []lock.EvidenceChange, err error) error {
	if err != nil || len(changes) == 0 {
		return err
	}
	return s.node.cfg.OnEvidence(tx, changes)
}

// write stores what a bridge has sent, and returns a cause if the session must end; what names the message in the log. After a failed write
// the bridge reconnects, and the digest in its Hello shows what is missing. An invalid message is only counted and logged: write stores
// nothing then and returns no cause.
func (s *session) write(what string, fn func(tx *db.Tx) error) cause {
	err := s.node.cfg.DB.Write(context.WithoutCancel(s.stream.Context()), fn)
	if err == nil {
		return ""
	}
	why, ends := causeOf(err)
	if !ends {
		s.node.counters.ignored.WithLabelValues("invalid").Inc()
		s.log.Warn("a bridge's message had no effect", "kind", what, "error", err)
		return ""
	}
	s.log.Error("storing a bridge's message failed", "kind", what, "error", err)
	return why
}

// onLockReport stores the bridge's report about a lock. All slots of a lock that is new in this session are sent next. It returns a cause
// if the session must end.
func (s *session) onLockReport(r *lockv1.LockReport) cause {
	report := decodeLockReport(r)
	var locks []lock.LockRef
	why := s.write("lockReport", func(tx *db.Tx) (err error) {
		var doors []string
		if locks, doors, err = lock.ApplyReports(tx, s.open.BridgeID, s.open.Epoch, []lock.LockReport{report}); err != nil {
			return err
		}
		return s.node.notifyCapabilities(tx, s.open.PropertyID, doors)
	})
	for _, lk := range locks {
		if _, known := s.cursors[lk.ID]; !known && why == "" {
			s.cursors[lk.ID] = cursor{address: lk.Address, generation: needsSnapshot}
			s.mailbox.markDirty(lk.ID)
		}
	}
	return why
}

// onEvents stores the events that happened at the bridge's locks with the uses of codes and phones, and then acknowledges them. Events that
// are not stored end the session, whatever the error, so that no later acknowledgement covers them. More than maxBatch events end it, too.
func (s *session) onEvents(b *lockv1.EventBatch) cause {
	if len(b.Events) > maxBatch {
		return outOfOrder
	}
	var storedUpTo int64
	stored := false
	why := s.write("events", func(tx *db.Tx) error {
		batch := decodeEvents(b) // each retry of the transaction decodes the events again, because AttributeToPhones modifies them
		if err := mobilekey.AttributeToPhones(tx, s.open.PropertyID, batch); err != nil {
			return err
		}
		upTo, learned, err := lock.StoreEvents(tx, s.open.BridgeID, s.open.Epoch, batch)
		if err := s.notifyEvidence(tx, learned, err); err != nil {
			return err
		}
		err = mobilekey.RecordOpenings(tx, s.open.PropertyID, s.open.BridgeID, batch)
		storedUpTo, stored = upTo, err == nil
		return err
	})
	switch {
	case why != "":
		return why
	case !stored:
		return storeFailed
	case storedUpTo > 0:
		s.enqueue(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_EventAck{EventAck: &lockv1.EventAck{Sequence: uint64(storedUpTo)}}})
	}
	return ""
}
