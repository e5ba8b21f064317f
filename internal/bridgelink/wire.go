package bridgelink

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/text"
)

// maxLockName is the maximum length of a lock's name in bytes. A longer name is cut.
const maxLockName = 64

// printable removes unprintable characters and invalid UTF-8 from a text that a bridge sent, and truncates it to limit bytes, between two
// characters.
func printable(s string, limit int) string {
	return text.Truncate(strings.Map(func(r rune) rune {
		if text.Unprintable(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, s), limit)
}

// timeOf is [clock.TimeOf] in the precision of the database: zero if the timestamp is missing or invalid.
func timeOf(t *timestamppb.Timestamp) time.Time { return clock.TimeOf(t).Truncate(time.Microsecond) }

// optionalTime converts a protobuf timestamp to a time; nil if it is missing or invalid.
func optionalTime(t *timestamppb.Timestamp) *time.Time {
	at := timeOf(t)
	if at.IsZero() {
		return nil
	}
	return &at
}

// isAddress reports whether a lock address or an id is well-formed: not empty, printable, at most 255 bytes.
func isAddress(s string) bool { return s != "" && len(s) <= 255 && s == printable(s, 255) }

// enumOr returns s if it is one of words, otherwise fallback. It replaces values of a newer bridge that this program does not know.
func enumOr[T ~string](s string, fallback T, words ...T) T {
	if slices.Contains(words, T(s)) {
		return T(s)
	}
	return fallback
}

// observations converts a slot report to observations. It skips those with an unknown kind of evidence, or with a slot or window number out
// of range, and all after the first 4*maxBatch.
func observations(r *lockv1.SlotReport) []lock.Observation {
	out := make([]lock.Observation, 0, len(r.Slots))
	for _, o := range r.Slots {
		evidence := enumOr[slot.Evidence](o.Evidence, "", slot.Sent, slot.Accepted, slot.Verified, slot.Unconfirmed, slot.Failed)
		if evidence == "" || o.Slot > math.MaxInt32 || len(out) == maxBatch*4 {
			continue
		}
		if o.Window > slot.MaxLaterWindows {
			continue
		}
		out = append(out, lock.Observation{Number: int(o.Slot), Observed: slot.Observed{
			Generation: o.Generation, Present: o.Present, Evidence: evidence, Result: parseResult(o.Result), Rule: printable(o.Rule, 255), At: timeOf(o.ObservedAt),
			Window: int(o.Window), Used: o.Used, Cleared: o.Cleared,
		}})
	}
	return out
}

// unmanagedSlots converts a report on slots that the service does not use. The result has, by slot number, whether the slot holds a code.
// It takes the first maxBatch occupied and the first maxBatch empty slots. A slot in both lists counts as occupied.
func unmanagedSlots(m *lockv1.UnmanagedSlots) map[int]bool {
	out := map[int]bool{}
	add := func(slots []uint32, occupied bool) {
		for _, n := range slots[:min(len(slots), maxBatch)] {
			out[int(min(n, math.MaxInt32))] = occupied
		}
	}
	add(m.Empty, false)
	add(m.Occupied, true)
	return out
}

// parseResult converts the result of a lock operation. "ok" becomes the empty string, which the database stores and which both sides use
// for the digest. A result of a newer bridge that is unknown here is kept, so that the digests agree; it counts as a temporary failure. A
// text other than a word of at most 32 letters becomes the empty string.
func parseResult(s string) slot.Result {
	if s == string(slot.OK) || !resultWord.MatchString(s) {
		return ""
	}
	return slot.Result(s)
}

var resultWord = regexp.MustCompile(`^[a-zA-Z]{1,32}$`)

// decodeEvents converts a batch of events from a bridge. It skips an event whose sequence or generation is too large to store.
func decodeEvents(b *lockv1.EventBatch) []lock.LockEvent {
	out := make([]lock.LockEvent, 0, len(b.Events))
	for _, e := range b.Events {
		if e.Sequence > math.MaxInt64 || e.Generation > math.MaxInt64 {
			continue
		}
		out = append(out, lock.LockEvent{
			Sequence: int64(e.Sequence), Address: printable(e.Address, 255), Kind: printable(e.Kind, 64), Slot: int(min(e.Slot, math.MaxInt32)),
			Generation: int64(e.Generation), Reason: printable(e.Reason, 64), OccurredAt: timeOf(e.OccurredAt),
			ClockQuality: enumOr(e.ClockQuality, "", "synchronized", "drifting", "untrusted"), Phone: printable(e.SmartkeyPhone, 16),
			Until: timeOf(e.Until),
		})
	}
	return out
}

// helloReports converts the reports on locks in Hello. It returns false if there are too many locks, or if an address is malformed or
// repeated.
func helloReports(h *lockv1.Hello) ([]lock.LockReport, bool) {
	if len(h.Locks) > lock.MaxLocksPerBridge {
		return nil, false
	}
	out := make([]lock.LockReport, 0, len(h.Locks))
	seen := make(map[string]bool, len(h.Locks))
	for _, lk := range h.Locks {
		if !isAddress(lk.Address) || seen[lk.Address] {
			return nil, false
		}
		seen[lk.Address] = true
		report := lock.LockReport{Address: lk.Address, Capabilities: decodeCapabilities(lk.Capabilities), Status: decodeStatus(lk.Status), Model: printable(lk.Model, 255), Name: lockName(lk.Status)}
		copy(report.Digest[:], lk.Digest)
		out = append(out, report)
	}
	return out, true
}

// decodeLockReport converts a bridge's report on a lock.
func decodeLockReport(r *lockv1.LockReport) lock.LockReport {
	return lock.LockReport{
		Address: r.Address, Capabilities: decodeCapabilities(r.Capabilities), Status: decodeStatus(r.Status), Model: printable(r.Model, 255), Name: lockName(r.Status),
	}
}

// lockName returns the name that the driver reports for a lock, made safe for display, or "".
func lockName(s *lockv1.LockStatus) string {
	return strings.TrimSpace(printable(s.GetName(), maxLockName))
}

// decodeCapabilities converts the capabilities of a lock; nil if the bridge did not report them. An unknown word becomes none (for the time
// base: UTC), and too large a number becomes 65536.
func decodeCapabilities(c *lockv1.LockCapabilities) *slot.Capabilities {
	if c == nil {
		return nil
	}
	small := func(n uint32) int { return int(min(n, 1<<16)) }
	out := &slot.Capabilities{
		PINMin: small(c.PinMinLength), PINMax: small(c.PinMaxLength), Alphabet: printable(c.PinAlphabet, 128),
		Slots:    small(c.SlotsTotal),
		Readable: enumOr(c.PinReadable, slot.ReadableNone, slot.ReadableMasked, slot.ReadableClear),
		Schedule: enumOr(c.NativeSchedule, slot.ScheduleNone, slot.ScheduleWindow, slot.ScheduleWeekly),
		TimeBase: enumOr(c.ScheduleTimeBase, slot.TimeUTC, slot.TimeLocal),
		OneTime:  c.OneTimeCodes, RemoteUnlock: c.RemoteUnlock, DoorSensor: c.DoorSensor, EventLog: c.EventLog, ReadBack: c.ReadBack,
		Lockout: enumOr(c.Lockout, slot.LockoutNone, slot.LockoutFixed, slot.LockoutSettable), KeypadPause: c.KeypadPause,
		ForbiddenPatterns: c.PinForbiddenPatterns, // package lock validates each pattern
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

// decodeStatus converts the status of a lock; nil if the bridge did not report it. An unknown word becomes unknown, and an unknown cause of
// being offline is dropped.
func decodeStatus(s *lockv1.LockStatus) *lock.Status {
	if s == nil {
		return nil
	}
	out := &lock.Status{
		Bolt: enumOr(s.Bolt, "unknown", "locked", "unlocked", "notFullyLocked", "jammed"),
		Door: enumOr(s.Door, "unknown", "open", "closed"), Online: s.Online, Firmware: printable(s.Firmware, 64),
		OfflineCause:      enumOr(s.OfflineCause, "", slot.BrokerUnreachable, slot.GatewayOffline),
		BatteryObservedAt: optionalTime(s.BatteryObservedAt), LastSeenAt: optionalTime(s.LastSeenAt),
		ClockOffsetMS: s.ClockOffsetMs, ClockObservedAt: optionalTime(s.ClockObservedAt),
		LockoutAttempts: int(min(s.LockoutAttempts, 1<<16)), LockoutSeconds: int(min(s.LockoutSeconds, 1<<16)),
		KeypadPausedUntil: optionalTime(s.KeypadPausedUntil),
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
