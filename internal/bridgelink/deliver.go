package bridgelink

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// deliver tells the bridge of the locks that changed: what is wanted now, read anew, however many changes there were.
func (s *session) deliver(now time.Time) cause {
	ids := s.box.takeDirty(s.out.room())
	if len(ids) == 0 {
		return ""
	}
	if slices.Contains(ids, lock.KeysChanged) && !s.tellKeys() {
		s.box.touch(lock.KeysChanged)
		s.retryAt = now.Add(s.node.cfg.pace.retry)
	}
	marks := make(map[string]int64, len(ids))
	for _, id := range ids {
		if m, ok := s.marks[id]; ok {
			marks[id] = m.generation
		}
	}
	wishes, err := s.wishes(marks)
	if errors.Is(err, lock.ErrSuperseded) {
		return superseded
	}
	if err != nil {
		s.log.Warn("reading what a bridge shall be told failed; trying again", "error", err)
		for _, id := range ids {
			s.box.touch(id)
		}
		s.retryAt = now.Add(s.node.cfg.pace.retry)
		return ""
	}
	s.tell(marks, wishes)
	return ""
}

// wishes reads what to tell and marks it as handed over where it was not.
func (s *session) wishes(marks map[string]int64) ([]lock.DesiredSlot, error) {
	if len(marks) == 0 {
		return nil, nil
	}
	d := s.node.cfg.DB
	view := d.View(s.stream.Context())
	wishes, err := lock.DesiredSlots(view.Brief(), view.Client, s.open, marks)
	if err != nil {
		return nil, err
	}
	for _, w := range wishes {
		if !w.NeedsMark {
			continue
		}
		read := wishes
		err := d.Write(s.stream.Context(), func(tx *db.Tx) (err error) {
			wishes, err = lock.MarkSent(tx, s.open, read)
			return err
		})
		return wishes, err
	}
	return wishes, nil
}

// tell puts one message per lock into the outbox, locks with a revocation first, each on its way before the codes of the
// next are sealed.
func (s *session) tell(marks map[string]int64, wishes []lock.DesiredSlot) {
	of := make(map[string][]lock.DesiredSlot, len(marks))
	var order []string
	for _, w := range wishes {
		if of[w.LockID] == nil {
			order = append(order, w.LockID)
		}
		of[w.LockID] = append(of[w.LockID], w)
	}
	for _, id := range order {
		s.tellLock(id, marks[id] == whole, of[id])
	}
	for id, mark := range marks {
		if of[id] == nil && mark == whole {
			s.say(snapshot(s.marks[id].address, nil))
		}
	}
}

func (s *session) tellLock(id string, all bool, wishes []lock.DesiredSlot) {
	m := s.marks[id]
	slots := make([]*lockv1.DesiredSlot, 0, len(wishes))
	for _, w := range wishes {
		if d := s.seal(w, m.address); d != nil {
			slots = append(slots, d)
		}
		m.generation = max(m.generation, w.Generation)
	}
	s.marks[id] = m
	if all {
		s.say(snapshot(m.address, slots))
	} else if len(slots) > 0 {
		s.say(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_LockDelta{LockDelta: &lockv1.LockDelta{Address: m.address, Slots: slots}}})
	}
	s.node.counters.told.Add(float64(len(slots)))
	s.out.flush(s.stream)
	runtime.Gosched() // the sender first: sealing takes a while
}

func snapshot(address string, slots []*lockv1.DesiredSlot) *lockv1.ConnectResponse {
	return &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_LockSnapshot{LockSnapshot: &lockv1.LockSnapshot{Address: address, Slots: slots}}}
}

// seal makes the message of one slot. nil: its code does not open, which must not keep the others back.
func (s *session) seal(w lock.DesiredSlot, address string) *lockv1.DesiredSlot {
	d, err := w.Desired(context.WithoutCancel(s.stream.Context()), s.node.cfg.Keys)
	var sealed []byte
	if err == nil && d.Intent == slot.Present {
		sealed, err = s.sealPIN(pinseal.Place{LockID: address, Slot: int(w.Number), Generation: w.Generation}, string(d.PIN))
	}
	if err != nil {
		s.node.counters.unsealed.Inc()
		s.log.Error("a code could not be sealed to its bridge", "lock", w.LockID, "slot", w.Number, "error", err)
		return nil
	}
	later := make([]*lockv1.SlotWindow, d.Later.Len())
	for i, w := range d.Later.All() {
		later[i] = &lockv1.SlotWindow{NotBefore: stamp(w.From), NotAfter: stamp(w.To)}
	}
	return &lockv1.DesiredSlot{
		Slot: w.Number, Generation: d.Generation, Present: d.Intent == slot.Present, Claimed: d.Claimed,
		SealedPin: sealed, NotBefore: stamp(d.NotBefore), NotAfter: stamp(d.NotAfter), Later: later, Once: d.Once,
	}
}

func (s *session) sealPIN(at pinseal.Place, pin string) (_ []byte, err error) {
	if s.pins == nil {
		if s.pins, err = pinseal.NewSealer(s.open.HPKEKey); err != nil {
			return nil, err
		}
	}
	return s.pins.Seal(at, pin)
}

// stamp is a time on the wire; absent where it is zero.
func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
