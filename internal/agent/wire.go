package agent

import (
	"maps"
	"slices"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/keyring/pinseal"
	"latchkey.dev/internal/lock/slot"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

// wireCapabilities converts a lock's capabilities to protobuf.
func wireCapabilities(c slot.Capabilities) *lockv1.LockCapabilities {
	kinds := make([]string, len(c.Kinds))
	for i, k := range c.Kinds {
		kinds[i] = string(k)
	}
	return &lockv1.LockCapabilities{
		PinMinLength: uint32(c.PINMin), PinMaxLength: uint32(c.PINMax), PinAlphabet: c.Alphabet,
		PinForbiddenPrefixes: c.ForbiddenPrefixes, PinForbiddenPatterns: c.ForbiddenPatterns,
		SlotsTotal: uint32(c.Slots), PinReadable: string(c.Readable), ReadBack: c.ReadBack,
		NativeSchedule: string(c.Schedule), ScheduleGranularitySeconds: uint32(c.Granularity / time.Second),
		ScheduleTimeBase: string(c.TimeBase), OneTimeCodes: c.OneTime, RemoteUnlock: c.RemoteUnlock,
		DoorSensor: c.DoorSensor, EventLog: c.EventLog, CredentialKinds: kinds,
		OperationLifetimeMs: uint32(c.Lifetime() / time.Millisecond),
		Lockout:             string(c.Lockout), KeypadPause: c.KeypadPause,
	}
}

// wireStatus converts a lock's status and guard record to protobuf.
func wireStatus(s lockStatus) *lockv1.LockStatus {
	out := &lockv1.LockStatus{
		Bolt: s.Bolt, Door: s.Door, BatteryPercent: s.BatteryPercent, BatteryObservedAt: clock.Timestamp(s.BatteryObservedAt),
		Online: s.Online, Rssi: s.RSSI, LastSeenAt: clock.Timestamp(s.LastSeenAt), ClockObservedAt: clock.Timestamp(s.ClockObservedAt),
		Firmware: s.Firmware, Name: s.Name, OfflineCause: s.OfflineCause,
		LockoutAttempts: uint32(s.guard.Lockout.Attempts), // no overflow: drivers read the value from a byte
		LockoutSeconds:  uint32(s.guard.Lockout.Pause / time.Second), KeypadPausedUntil: clock.Timestamp(s.guard.PausedUntil),
	}
	if s.ClockOffset != nil {
		ms := s.ClockOffset.Milliseconds()
		out.ClockOffsetMs = &ms
	}
	return out
}

// wireObservedSlot converts what the bridge observed in slot number to protobuf. An empty result becomes OK.
func wireObservedSlot(number uint32, o slot.Observed) *lockv1.ObservedSlot {
	result := o.Result
	if result == "" {
		result = slot.OK
	}
	return &lockv1.ObservedSlot{
		Slot: number, Generation: o.Generation, Present: o.Present, Evidence: string(o.Evidence),
		Result: string(result), Rule: o.Rule, ObservedAt: clock.Timestamp(o.At),
		Window: uint32(o.Window), Used: o.Used, Cleared: o.Cleared,
	}
}

// wireUnmanagedSlots converts the observations of unmanaged slots of a lock to protobuf. slots has for each slot number whether the slot
// holds a code that the server did not set.
func wireUnmanagedSlots(address string, slots map[uint32]bool) *lockv1.UnmanagedSlots {
	m := &lockv1.UnmanagedSlots{Address: address}
	for _, n := range slices.Sorted(maps.Keys(slots)) {
		if slots[n] {
			m.Occupied = append(m.Occupied, n)
		} else {
			m.Empty = append(m.Empty, n)
		}
	}
	return m
}

// decodeDesiredSlot decodes a desired slot of the lock at address and decrypts its PIN with pins. If the PIN cannot be decrypted, it
// returns an error and the slot with an empty PIN; the slot rules refuse it, so that the server gets an error result.
func decodeDesiredSlot(pins *pinseal.Opener, address string, d *lockv1.DesiredSlot) (slot.Desired, error) {
	out := slot.Desired{
		Generation: d.GetGeneration(), Intent: slot.Absent, MayHoldOwn: d.GetClaimed(),
		NotBefore: clock.TimeOf(d.GetNotBefore()), NotAfter: clock.TimeOf(d.GetNotAfter()), ReportedGeneration: d.GetReportedGeneration(),
	}
	if !d.GetPresent() {
		return out, nil
	}
	out.Intent, out.OneTimeID = slot.Present, d.GetOnce()
	var later []slot.Window
	for _, w := range d.GetLater() {
		later = append(later, slot.Window{From: clock.TimeOf(w.GetNotBefore()), To: clock.TimeOf(w.GetNotAfter())})
	}
	out.LaterWindows = slot.PackWindows(later...)
	at := pinseal.Target{Address: address, Slot: int(d.GetSlot()), Generation: int64(d.GetGeneration())}
	pin, err := pins.Open(at, d.GetSealedPin())
	out.PIN = slot.PIN(pin)
	return out, err
}

// wireEvent converts a journal entry to protobuf.
func wireEvent(o journalEntry) *lockv1.Event {
	return &lockv1.Event{
		Sequence: o.Sequence, Address: o.Address, Kind: o.Kind, Slot: o.Slot, Generation: o.Generation,
		Reason: o.Reason, OccurredAt: clock.Timestamp(o.At), ClockQuality: o.Quality, SmartkeyPhone: o.Phone, Until: clock.Timestamp(o.Until),
	}
}

// wireCommandResult converts the result of a command to protobuf.
func wireCommandResult(rec commandRecord) *lockv1.ActReport {
	return &lockv1.ActReport{
		Id: rec.ID, Outcome: rec.Outcome, Result: rec.Result, OccurredAt: clock.Timestamp(rec.At),
		SmartkeyReason: rec.Reason, SmartkeyTokenId: rec.Token, SmartkeyListNumber: rec.List,
	}
}

// decodeCommand decodes a command of the server. Its deadline is the earliest of the bridge's own limit maxDeadline and the server's two
// deadlines, each of which may be missing: the duration DeadlineMs, and the time Deadline on the server's clock.
func (b *Bridge) decodeCommand(a *lockv1.Act) command {
	b.checkClock() // if the clock was set, the difference to the server's clock must be corrected before toLocalTime uses it
	now := time.Now()
	out := command{id: a.GetId(), address: a.GetAddress(), operation: a.GetOperation(), deadline: now.Add(maxDeadline), presentation: a.GetSmartkeyPresentation()}
	earlier := func(t time.Time) {
		if t.Before(out.deadline) {
			out.deadline = t
		}
	}
	if ms := a.GetDeadlineMs(); ms > 0 {
		earlier(now.Add(time.Duration(ms) * time.Millisecond))
	}
	if theirs := clock.TimeOf(a.GetDeadline()); !theirs.IsZero() {
		earlier(now.Add(b.toLocalTime(theirs).Sub(b.clock.Now())))
	}
	return out
}

// hello returns the first message of a session: the bridge, its locks, and digests from which the server finds what differs.
func (b *Bridge) hello() *lockv1.Hello {
	h := &lockv1.Hello{
		ProtocolVersion: 1, BootId: b.boot, Software: b.cfg.Software, Clock: clock.Timestamp(b.clock.Now()), Capabilities: []string{smartKeys},
	}
	h.SmartkeyKeySetVersion, h.SmartkeyListNumber, h.SmartkeyListDigest = b.doorkeeper.Versions()
	for _, l := range b.locks {
		digest, status := b.outbox.helloState(l.Address())
		h.Locks = append(h.Locks, &lockv1.LockHello{
			Address: l.Address(), Digest: digest[:], Model: l.Model(),
			Capabilities: wireCapabilities(l.Capabilities()), Status: wireStatus(status),
		})
	}
	return h
}
