package lock

import (
	"slices"
	"time"

	"latchkey.dev/ent"
	entlock "latchkey.dev/ent/lock"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/health"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/watch"
)

// LockEvent is an event that a bridge recorded at a lock, and that the server reads from the bridge's journal.
type LockEvent struct {
	Sequence     int64 // Sequence is the position in the bridge's journal
	Address      string
	Kind         string // Kind is opened, denied, batteryLow and so on, as bridges report it
	Slot         int    // Slot is 0 if the slot is not known, or holds no Latchkey code
	Generation   int64  // Generation is that of the code in the slot; 0 if it is not known
	Reason       string // Reason is why, as the bridge reports it, such as wrongPin; it may be empty
	OccurredAt   time.Time
	ClockQuality string    // ClockQuality is the state of the bridge's clock: synchronized, drifting or untrusted
	Until        time.Time // Until is the end of a keypad pause, by the bridge's clock
	// Phone is the key id of a SmartKey that the bridge verified. Actor is the phone (see [PhoneActorPrefix]) and GrantID the grant of its
	// guest. Each is empty if it is not known.
	Phone, Actor, GrantID string
}

// TrustedTime returns the event's time by the bridge's clock, or now if it has none or is more than maxClockLead ahead. It trusts any
// earlier time.
func (h LockEvent) TrustedTime(now time.Time) time.Time {
	if h.OccurredAt.IsZero() || h.OccurredAt.After(now.Add(maxClockLead)) {
		return now
	}
	return h.OccurredAt
}

// maxClockLead is how far a bridge's clock may be ahead of the server's clock. A later time of an event counts as now.
const maxClockLead = 5 * time.Minute

// eventKinds are the reported kinds that are stored as events. Other kinds only advance the stored sequence.
var eventKinds = map[string]event.Kind{
	"opened": event.DoorOpened, "denied": event.DoorDenied, "batteryLow": event.LockBatteryLow, "batteryOk": event.LockBatteryOK,
	"tampered": event.LockTampered, "jammed": event.LockJammed, "keypadPaused": event.KeypadPaused,
}

// StoreEvents stores a batch of events from a bridge's journal in order. It skips sequence numbers up to the last stored one, events of
// unknown locks or kinds, and an alarm of a battery, or its end, that is no news for staff. It returns the last sequence number, which
// skipped events also advance, and the slots whose codes were used, without repeated uses of a desired code. It returns
// bridge.ErrSuperseded if epoch is not the bridge's current session.
func StoreEvents(tx *db.Tx, bridgeID string, epoch int64, batch []LockEvent) (stored int64, changes []EvidenceChange, err error) {
	br, err := bridge.InSession(tx, bridgeID, epoch)
	if err != nil {
		return 0, nil, err
	}
	stored = br.EventSequence
	locks, err := locksByAddress(tx, br, batch)
	if err != nil {
		return 0, nil, err
	}
	for _, h := range batch {
		if h.Sequence <= stored {
			continue
		}
		stored = h.Sequence
		lk, kind := locks[h.Address], eventKinds[h.Kind]
		if lk == nil || kind == "" || !isNews(lk, kind, h.TrustedTime(tx.Now())) {
			continue
		}
		change, err := storeEvent(tx, lk, kind, h)
		if err != nil {
			return 0, nil, err
		}
		if change != nil && !slices.ContainsFunc(changes, change.repeats) {
			changes = append(changes, *change)
		}
	}
	if stored == br.EventSequence {
		return stored, nil, nil
	}
	return stored, changes, bridge.StoreEventSequence(tx, br, stored)
}

// repeats reports whether an earlier change in the batch concerns the same slot and grant, and this change adds no new
// evidence, so that it can be dropped.
func (c EvidenceChange) repeats(earlier EvidenceChange) bool {
	same := earlier.Slot.LockID == c.Slot.LockID && earlier.Slot.Number == c.Slot.Number && earlier.Slot.GrantID == c.Slot.GrantID
	return same && c.Before == c.After
}

// isNews reports whether an event of this kind at a time must be stored: always, unless it is about a battery whose state staff know.
func isNews(lk *ent.Lock, kind event.Kind, at time.Time) bool {
	switch kind {
	case event.LockBatteryLow:
		return isBatteryNewlyLow(lk, at)
	case event.LockBatteryOK: // a lock with a known charge is judged by it
		return lk.BatteryNotifiedAt != nil && lk.Status.BatteryPercent == nil
	}
	return true
}

// batteryAgain is how long after a low battery the next one of a lock without a known charge counts as that of another battery. Some of
// these locks do not report that their battery was changed.
const batteryAgain = 7 * 24 * time.Hour

// isBatteryNewlyLow reports whether a low battery, reported at a time, is news for staff: they were not notified of it yet, or batteryAgain
// before, and no later reading shows the battery charged.
func isBatteryNewlyLow(lk *ent.Lock, at time.Time) bool {
	s := lk.Status
	notified := lk.BatteryNotifiedAt != nil && (s.BatteryPercent != nil || at.Sub(*lk.BatteryNotifiedAt) < batteryAgain)
	charged := s.BatteryPercent != nil && *s.BatteryPercent >= health.ChargedPercent && s.BatteryObservedAt != nil && s.BatteryObservedAt.After(at)
	return !notified && !charged
}

// locksByAddress loads the locks that a batch of events names, by their address on the bridge.
func locksByAddress(tx *db.Tx, br *ent.Bridge, batch []LockEvent) (map[string]*ent.Lock, error) {
	addresses := make([]string, len(batch))
	for i, h := range batch {
		addresses[i] = h.Address
	}
	rows, err := tx.Lock.Query().
		Where(entlock.BridgeID(br.ID), entlock.PropertyID(br.PropertyID), entlock.AddressIn(addresses...)).All(tx.Context())
	if err != nil {
		return nil, err
	}
	by := make(map[string]*ent.Lock, len(rows))
	for _, lk := range rows {
		by[lk.Address] = lk
	}
	return by, nil
}

// storeEvent stores one event of a bridge's journal with its effects: notices, counted wrong PINs, and the use of a
// code, which it returns.
func storeEvent(tx *db.Tx, lk *ent.Lock, kind event.Kind, h LockEvent) (*EvidenceChange, error) {
	if kind == event.KeypadPaused {
		return nil, recordKeypadPause(tx, lk, h)
	}
	typed, err := findTypedCode(tx, lk, h)
	if err != nil {
		return nil, err
	}
	e, err := journaledEvent(tx, lk, kind, typed, h)
	if err != nil {
		return nil, err
	}
	switch kind {
	case event.LockBatteryLow:
		return nil, recordBatteryLow(tx, lk, e)
	case event.LockBatteryOK:
		return nil, recordBatteryOK(tx, lk, e)
	}
	if err := event.Append(tx, e); err != nil {
		return nil, err
	}
	if err := notifyAlarm(tx, lk, kind, h, e.OccurredAt); err != nil {
		return nil, err
	}
	switch {
	case kind == event.DoorDenied && countsAsGuess(h.Reason):
		return nil, recordFailedAttempt(tx, lk, e.OccurredAt)
	case kind == event.DoorOpened && typed != nil:
		return recordUse(tx, typed, h.Generation, e.OccurredAt)
	}
	return nil, nil
}

// journaledEvent builds the stored event of a bridge's journal entry, with its time, its door and its grant. typed is
// the code that was typed, or nil.
func journaledEvent(tx *db.Tx, lk *ent.Lock, kind event.Kind, typed *typedCode, h LockEvent) (event.Event, error) {
	e := newLockEvent(lk, kind, map[string]any{"sequence": h.Sequence})
	e.OccurredAt = timeOf(h, typed, tx.Now())
	if err := setEventDoor(tx, &e, doorOfLock(lk), typed, h, e.OccurredAt); err != nil {
		return event.Event{}, err
	}
	grantID := h.GrantID
	if typed != nil {
		grantID = typed.GrantID
	}
	if grantID != "" {
		e.GrantID = grantID
	}
	for name, text := range map[string]string{"reason": h.Reason, "clockQuality": h.ClockQuality, "actor": h.Actor, "grantId": grantID} {
		if text != "" {
			e.Body[name] = text
		}
	}
	return e, nil
}

// timeOf returns when a journaled event happened, by [LockEvent.TrustedTime]. A code cannot be typed before it was desired: if the bridge
// reports such a time, its clock is slow and the time of the desired state is used. A code that was only changed may have been typed before
// the change.
func timeOf(h LockEvent, typed *typedCode, now time.Time) time.Time {
	at := h.TrustedTime(now)
	if typed != nil && !typed.isFormer && typed.Until == h.Generation && typed.Until == typed.Since && at.Before(typed.slot.ChangedAt) {
		return typed.slot.ChangedAt
	}
	return at
}

// recordUse stores the first time that a typed code opened its door, and returns the change to the slot's evidence, or nil if a use was
// stored before. A use of a former grant's code, or of an older generation of the code, is returned and not stored: it proves nothing about
// the desired code.
func recordUse(tx *db.Tx, typed *typedCode, generation int64, at time.Time) (*EvidenceChange, error) {
	row := typed.slot
	if typed.isFormer {
		return &EvidenceChange{Slot: codeSlotOf(row, typed.slotGrant), UsedAt: at, AtThisLock: true}, nil
	}
	if row.UsedAt != nil {
		return nil, nil
	}
	before := slot.Evidence(row.Evidence)
	change := EvidenceChange{Slot: codeSlotOf(row, typed.slotGrant), Before: before, After: before, UsedAt: at, AtThisLock: true}
	if row.Present && generation != row.Generation {
		return &change, nil
	}
	update := tx.Slot.UpdateOne(row).SetUsedAt(at)
	switch before {
	case slot.Queued, slot.Sent, slot.Accepted, slot.Verified, slot.Unconfirmed:
		update.SetEvidence(string(slot.Used))
	}
	stored, err := update.Save(tx.Context())
	if err != nil {
		return nil, err
	}
	watch.Notify(tx, row.PropertyID, watch.Locks, row.LockID)
	change.After = slot.Evidence(stored.Evidence)
	return &change, nil
}
