package bridgelink

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/text"
)

const maxLockName = 64 // bytes of a name that a bridge suggests

// printable is a string of a bridge as far as it may be stored: without unprintable characters, and cut to most bytes.
func printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if text.Unprintable(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	for len(s) > most {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}

func when(t *timestamppb.Timestamp) time.Time {
	if t == nil || !t.IsValid() {
		return time.Time{}
	}
	return t.AsTime().Truncate(time.Microsecond)
}

func maybeWhen(t *timestamppb.Timestamp) *time.Time {
	at := when(t)
	if at.IsZero() {
		return nil
	}
	return &at
}

// address tells whether a bridge's name for a lock, or an id, can be one: it is used as it is, never cut.
func address(s string) bool { return s != "" && len(s) <= 255 && s == printable(s, 255) }

// one is s if it is one of the words, else instead.
func one[T ~string](s string, instead T, words ...T) T {
	if slices.Contains(words, T(s)) {
		return T(s)
	}
	return instead
}

// seen reads a report. An observation in words that we do not know is left out.
func seen(r *lockv1.SlotReport) []lock.Observation {
	out := make([]lock.Observation, 0, len(r.Slots))
	for _, o := range r.Slots {
		evidence := one[slot.Evidence](o.Evidence, "", slot.Sent, slot.Accepted, slot.Verified, slot.Unconfirmed, slot.Failed)
		if evidence == "" || o.Slot > math.MaxInt32 || len(out) == batchMax*4 {
			continue
		}
		if o.Window > slot.MostLater {
			continue
		}
		out = append(out, lock.Observation{Number: int(o.Slot), Observed: slot.Observed{
			Generation: o.Generation, Present: o.Present, Evidence: evidence, Result: result(o.Result), Rule: printable(o.Rule, 255), At: when(o.ObservedAt),
			Window: int(o.Window), Used: o.Used, Cleared: o.Cleared,
		}})
	}
	return out
}

// searched reads what a search found: which slots hold a code that is not ours.
func searched(m *lockv1.UnmanagedSlots) map[int]bool {
	out := map[int]bool{}
	for occupied, slots := range map[bool][]uint32{true: m.Occupied, false: m.Empty} {
		for _, n := range slots[:min(len(slots), batchMax)] {
			out[int(min(n, math.MaxInt32))] = occupied
		}
	}
	return out
}

// result reads the word of a lock or driver. That all went well is no word in the rows that both sides sum up.
func result(word string) slot.Result {
	if r := one[slot.Result](word, "", slot.Results()...); r != slot.OK {
		return r
	}
	return ""
}

// happenings reads a batch of events.
func happenings(b *lockv1.EventBatch) []lock.LockEvent {
	out := make([]lock.LockEvent, 0, len(b.Events))
	for _, e := range b.Events {
		if e.Sequence > math.MaxInt64 || e.Generation > math.MaxInt64 {
			continue
		}
		out = append(out, lock.LockEvent{
			Sequence: int64(e.Sequence), Address: printable(e.Address, 255), Kind: printable(e.Kind, 64), Slot: int(min(e.Slot, math.MaxInt32)),
			Generation: int64(e.Generation), Reason: printable(e.Reason, 64), OccurredAt: when(e.OccurredAt),
			ClockQuality: one(e.ClockQuality, "", "synchronized", "drifting", "untrusted"), Phone: printable(e.SmartkeyPhone, 16),
			Until: when(e.Until),
		})
	}
	return out
}

// heardHello reads what Hello says of locks. false: an address cannot be one, or comes twice, or there are too many.
func heardHello(h *lockv1.Hello) ([]lock.LockReport, bool) {
	if len(h.Locks) > lock.MaxLocksPerBridge {
		return nil, false
	}
	out := make([]lock.LockReport, 0, len(h.Locks))
	known := make(map[string]bool, len(h.Locks))
	for _, lk := range h.Locks {
		if !address(lk.Address) || known[lk.Address] {
			return nil, false
		}
		known[lk.Address] = true
		heard := lock.LockReport{Address: lk.Address, Capabilities: capabilities(lk.Capabilities), Status: state(lk.Status), Model: printable(lk.Model, 255), Name: lockName(lk.Status)}
		copy(heard.Digest[:], lk.Digest)
		out = append(out, heard)
	}
	return out, true
}

func heardReport(r *lockv1.LockReport) lock.LockReport {
	return lock.LockReport{
		Address: r.Address, Capabilities: capabilities(r.Capabilities), Status: state(r.Status), Model: printable(r.Model, 255), Name: lockName(r.Status),
	}
}

// lockName is what the bridge's driver calls a lock, as far as the service may show it.
func lockName(s *lockv1.LockStatus) string {
	return strings.TrimSpace(printable(s.GetName(), maxLockName))
}

func capabilities(c *lockv1.LockCapabilities) *slot.Capabilities {
	if c == nil {
		return nil
	}
	small := func(n uint32) int { return int(min(n, 1<<16)) }
	out := &slot.Capabilities{
		PINMin: small(c.PinMinLength), PINMax: small(c.PinMaxLength), Alphabet: printable(c.PinAlphabet, 128),
		Slots:    small(c.SlotsTotal),
		Readable: one(c.PinReadable, slot.ReadableNone, slot.ReadableMasked, slot.ReadableClear),
		Schedule: one(c.NativeSchedule, slot.ScheduleNone, slot.ScheduleWindow, slot.ScheduleWeekly),
		TimeBase: one(c.ScheduleTimeBase, slot.TimeUTC, slot.TimeLocal),
		OneTime:  c.OneTimeCodes, RemoteUnlock: c.RemoteUnlock, DoorSensor: c.DoorSensor, EventLog: c.EventLog, ReadBack: c.ReadBack,
		Lockout: one(c.Lockout, slot.LockoutNone, slot.LockoutFixed, slot.LockoutSettable), KeypadPause: c.KeypadPause,
		ForbiddenPatterns: c.PinForbiddenPatterns, // the lock package accepts or refuses each as it is
		Granularity:       time.Duration(c.ScheduleGranularitySeconds) * time.Second,
		OpLifetime:        time.Duration(c.OperationLifetimeMs) * time.Millisecond,
	}
	for _, p := range c.PinForbiddenPrefixes {
		out.ForbiddenPrefixes = append(out.ForbiddenPrefixes, printable(p, 128))
	}
	for _, k := range c.CredentialKinds {
		out.Kinds = append(out.Kinds, slot.CredentialKind(printable(k, 32)))
	}
	return out
}

func state(s *lockv1.LockStatus) *lock.Status {
	if s == nil {
		return nil
	}
	out := &lock.Status{
		Bolt: one(s.Bolt, "unknown", "locked", "unlocked", "notFullyLocked", "jammed"),
		Door: one(s.Door, "unknown", "open", "closed"), Online: s.Online, Firmware: printable(s.Firmware, 64),
		OfflineCause:      one(s.OfflineCause, "", slot.BrokerUnreachable, slot.GatewayOffline),
		BatteryObservedAt: maybeWhen(s.BatteryObservedAt), LastSeenAt: maybeWhen(s.LastSeenAt),
		ClockOffsetMS: s.ClockOffsetMs, ClockObservedAt: maybeWhen(s.ClockObservedAt),
		LockoutAttempts: int(min(s.LockoutAttempts, 1<<16)), LockoutSeconds: int(min(s.LockoutSeconds, 1<<16)),
		KeypadPausedUntil: maybeWhen(s.KeypadPausedUntil),
	}
	if s.BatteryPercent != nil {
		percent := int(min(*s.BatteryPercent, 100))
		out.BatteryPercent = &percent
	}
	if s.Rssi != nil {
		rssi := int(*s.Rssi)
		out.RSSI = &rssi
	}
	return out
}
