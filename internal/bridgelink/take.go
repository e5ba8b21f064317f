package bridgelink

import (
	"context"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/phone"
)

// take acts on a message of the bridge. One of another epoch has no effect, and one of a kind we do not know neither.
func (s *session) take(r received) cause {
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
	if !named(m) {
		s.node.counters.ignored.WithLabelValues("invalid").Inc()
		return ""
	}
	switch k := m.Kind.(type) {
	case *lockv1.ConnectRequest_SlotReport:
		return s.write("slotReport", func(tx *db.Tx) error {
			learned, err := lock.ApplyObservations(tx, s.open.BridgeID, s.open.Epoch, k.SlotReport.Address, seen(k.SlotReport))
			return s.learn(tx, learned, err)
		})
	case *lockv1.ConnectRequest_UnmanagedSlots:
		return s.write("unmanagedSlots", func(tx *db.Tx) error {
			learned, err := lock.StoreForeignSlots(tx, s.open.BridgeID, s.open.Epoch, k.UnmanagedSlots.Address, searched(k.UnmanagedSlots))
			return s.learn(tx, learned, err)
		})
	case *lockv1.ConnectRequest_LockReport:
		return s.learnLock(k.LockReport)
	case *lockv1.ConnectRequest_ActReport:
		return s.acted(k.ActReport)
	case *lockv1.ConnectRequest_Events:
		return s.happened(k.Events)
	case *lockv1.ConnectRequest_Greeting:
		s.gaveGreeting(k.Greeting)
	case *lockv1.ConnectRequest_SmartkeyState:
		return s.keysTaken(k.SmartkeyState)
	case *lockv1.ConnectRequest_Heartbeat:
	default:
		s.node.counters.ignored.WithLabelValues("unknownKind").Inc()
	}
	return ""
}

// named reports whether what a message is about can have the name that the bridge gives it.
func named(m *lockv1.ConnectRequest) bool {
	switch k := m.Kind.(type) {
	case *lockv1.ConnectRequest_SlotReport:
		return address(k.SlotReport.GetAddress())
	case *lockv1.ConnectRequest_UnmanagedSlots:
		return address(k.UnmanagedSlots.GetAddress())
	case *lockv1.ConnectRequest_LockReport:
		return address(k.LockReport.GetAddress())
	case *lockv1.ConnectRequest_ActReport:
		return address(k.ActReport.GetId())
	}
	return true
}

func (s *session) learn(tx *db.Tx, learned []lock.EvidenceChange, err error) error {
	if err != nil || len(learned) == 0 {
		return err
	}
	return s.node.cfg.Learned(tx, learned)
}

// write runs a change. Callers of many sessions share a commit. When it fails, the session ends and the bridge comes
// back: its digest then tells what was missed. A message that is wrong in itself is let go.
func (s *session) write(what string, fn func(tx *db.Tx) error) cause {
	err := s.node.cfg.DB.Write(s.node.Context(context.WithoutCancel(s.stream.Context())), fn)
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

func (s *session) learnLock(r *lockv1.LockReport) cause {
	heard := heardReport(r)
	var locks []lock.LockRef
	why := s.write("lockReport", func(tx *db.Tx) (err error) {
		locks, err = lock.ApplyReports(tx, s.open.BridgeID, s.open.Epoch, []lock.LockReport{heard})
		return err
	})
	for _, lk := range locks {
		if _, known := s.marks[lk.ID]; !known && why == "" {
			s.marks[lk.ID] = mark{address: lk.Address, generation: whole}
			s.box.touch(lk.ID)
		}
	}
	return why
}

func (s *session) happened(b *lockv1.EventBatch) cause {
	if len(b.Events) > batchMax {
		return outOfOrder
	}
	var stored int64
	why := s.write("events", func(tx *db.Tx) error {
		batch := happenings(b) // anew in each run: Claim writes into it
		if err := phone.Claim(tx, s.open.PropertyID, batch); err != nil {
			return err
		}
		upTo, learned, err := lock.StoreEvents(tx, s.open.BridgeID, s.open.Epoch, batch)
		stored = upTo
		if err := s.learn(tx, learned, err); err != nil {
			return err
		}
		return phone.Happened(tx, s.open.PropertyID, s.open.BridgeID, batch)
	})
	if why == "" && stored > 0 {
		s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_EventAck{EventAck: &lockv1.EventAck{Sequence: uint64(stored)}}})
	}
	return why
}
