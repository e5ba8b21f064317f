package bridgelink

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// sendChanges queues messages with the slots of the locks that are marked dirty, and the SmartKey data if it changed, as far as the outbox
// has room. It reads the desired slots only now, so that several changes become one message. After a database error it retries later. It
// returns a cause if the session must end.
func (s *session) sendChanges(now time.Time) cause {
	ids := s.mailbox.takeDirty(s.outbox.room())
	if len(ids) == 0 {
		return ""
	}
	if slices.Contains(ids, bridge.KeysChanged) && !s.sendKeys() {
		s.mailbox.markDirty(bridge.KeysChanged)
		s.retryAt = now.Add(s.node.cfg.timings.retry)
	}
	sentUpTo := make(map[string]int64, len(ids))
	for _, id := range ids {
		if c, ok := s.cursors[id]; ok {
			sentUpTo[id] = c.generation
		}
	}
	desired, err := s.loadDesired(sentUpTo)
	if errors.Is(err, bridge.ErrSuperseded) {
		return superseded
	}
	if err != nil {
		s.log.Warn("loading desired slots failed; retrying", "error", err)
		for _, id := range ids {
			s.mailbox.markDirty(id)
		}
		s.retryAt = now.Add(s.node.cfg.timings.retry)
		return ""
	}
	s.enqueueSlots(sentUpTo, desired)
	return ""
}

// loadDesired reads the desired slots of some locks: sentUpTo has, by lock id, the generation above which slots must be sent. It also
// records in the database which slots are sent for the first time. It returns bridge.ErrSuperseded if the bridge has a newer session.
func (s *session) loadDesired(sentUpTo map[string]int64) ([]lock.DesiredSlot, error) {
	if len(sentUpTo) == 0 {
		return nil, nil
	}
	d := s.node.cfg.DB
	view := d.View(s.stream.Context())
	desired, err := lock.DesiredSlots(view, s.open, sentUpTo)
	if err != nil {
		return nil, err
	}
	for _, w := range desired {
		if !w.NeedsMarkSent {
			continue
		}
		read := desired
		err := d.Write(s.stream.Context(), func(tx *db.Tx) (err error) {
			desired, err = lock.MarkSent(tx, s.open, read)
			return err
		})
		return desired, err
	}
	return desired, nil
}

// enqueueSlots queues one message for each lock in sentUpTo that has changes or needs a snapshot. sentUpTo has, by lock id, the generation
// that was sent, or needsSnapshot. Locks with a revocation come first in desired. It starts the sender after each sendTogether locks, before
// the PINs of the next are encrypted, and at the end. An unlock command can still overtake what the sender does not have yet.
func (s *session) enqueueSlots(sentUpTo map[string]int64, desired []lock.DesiredSlot) {
	byLock := make(map[string][]lock.DesiredSlot, len(sentUpTo))
	var order []string
	for _, w := range desired {
		if byLock[w.LockID] == nil {
			order = append(order, w.LockID)
		}
		byLock[w.LockID] = append(byLock[w.LockID], w)
	}
	for locks := range slices.Chunk(order, sendTogether) {
		for _, id := range locks {
			s.enqueueLock(id, sentUpTo[id] == needsSnapshot, byLock[id])
		}
		s.outbox.flush(s.stream)
		runtime.Gosched() // encryption is slow; the sender runs first
	}
	for id, generation := range sentUpTo {
		if byLock[id] == nil && generation == needsSnapshot {
			s.enqueue(snapshot(s.cursors[id].address, nil))
		}
	}
	s.outbox.flush(s.stream)
}

// sendTogether is the maximum number of locks whose changes the sender gets at once. The doors of a stay are seldom more, so they reach the
// bridge together, and it can store them in one commit.
const sendTogether = 4

// enqueueLock queues the message with the slots of a lock and moves the lock's cursor. If all is true, the message is a
// snapshot; otherwise it has the changes, and is left out if there are none. The cursor also passes a slot that cannot be encrypted: the
// next snapshot tries it again.
func (s *session) enqueueLock(id string, all bool, desired []lock.DesiredSlot) {
	c := s.cursors[id]
	slots := make([]*lockv1.DesiredSlot, 0, len(desired))
	for _, w := range desired {
		if d := s.sealSlot(w, c.address); d != nil {
			slots = append(slots, d)
		}
		c.generation = max(c.generation, w.Generation)
	}
	s.cursors[id] = c
	if all {
		s.enqueue(snapshot(c.address, slots))
	} else if len(slots) > 0 {
		s.enqueue(&lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_LockDelta{LockDelta: &lockv1.LockDelta{Address: c.address, Slots: slots}}})
	}
	s.node.counters.slotsSent.Add(float64(len(slots)))
}

// snapshot returns the message with all slots of a lock that the bridge has to know. The bridge does not touch a slot that is not in it.
func snapshot(address string, slots []*lockv1.DesiredSlot) *lockv1.ConnectResponse {
	return &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_LockSnapshot{LockSnapshot: &lockv1.LockSnapshot{Address: address, Slots: slots}}}
}

// sealSlot builds the message for one slot, with the PIN encrypted for the bridge. If the stored code cannot be decrypted or encrypted, it
// logs and counts that and returns nil, so that the other slots can still be sent.
func (s *session) sealSlot(w lock.DesiredSlot, address string) *lockv1.DesiredSlot {
	d, err := w.Desired(context.WithoutCancel(s.stream.Context()), s.node.cfg.Keys)
	var sealed []byte
	if err == nil && d.Intent == slot.Present {
		sealed, err = s.sealPIN(pinseal.Target{Address: address, Slot: int(w.Number), Generation: w.Generation}, string(d.PIN))
	}
	if err != nil {
		s.node.counters.unreadableCodes.Inc()
		s.log.Error("sealing a code for its bridge failed", "lock", w.LockID, "slot", w.Number, "error", err)
		return nil
	}
	later := make([]*lockv1.SlotWindow, d.LaterWindows.Len())
	for i, w := range d.LaterWindows.All() {
		later[i] = &lockv1.SlotWindow{NotBefore: clock.Timestamp(w.From), NotAfter: clock.Timestamp(w.To)}
	}
	return &lockv1.DesiredSlot{
		Slot: w.Number, Generation: d.Generation, Present: d.Intent == slot.Present, Claimed: d.MayHoldOwn, ReportedGeneration: d.ReportedGeneration,
		SealedPin: sealed, NotBefore: clock.Timestamp(d.NotBefore), NotAfter: clock.Timestamp(d.NotAfter), Later: later, Once: d.OneTimeID,
	}
}

// sealPIN encrypts a PIN for this bridge. The first call creates the encryption key of the session.
func (s *session) sealPIN(target pinseal.Target, pin string) (_ []byte, err error) {
	if s.pinSealer == nil {
		if s.pinSealer, err = pinseal.NewSealer(s.open.HPKEKey); err != nil {
			return nil, err
		}
	}
	return s.pinSealer.Seal(target, pin)
}
