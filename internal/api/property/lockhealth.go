package property

import (
	"strings"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
)

// healthMessage converts the last status report of a lock and its current state.
func healthMessage(row *lock.Row, state lock.State, now time.Time) *propertyv1.LockStatus {
	s := row.Status
	m := &propertyv1.LockStatus{
		Online: state.Online, Bolt: s.Bolt, Door: s.Door, BatteryObservedAt: convert.OptionalTime(s.BatteryObservedAt), LastSeenAt: convert.OptionalTime(s.LastSeenAt),
		ClockOffsetMs: s.ClockOffsetMS, ClockObservedAt: convert.OptionalTime(s.ClockObservedAt), Firmware: s.Firmware, KeypadPausedUntil: convert.OptionalTime(lock.KeypadPausedUntil(s, now)),
		OfflineSince: convert.OptionalTime(row.UnreachedAt), BatteryLow: row.BatteryNotifiedAt != nil, ClockUntrusted: row.ClockNotifiedAt != nil, SlotsFree: int32(state.FreeSlots), // a lock has at most 1000 slots
	}
	if !state.Online {
		m.OfflineReason = convert.TextOrNil(state.OfflineReason)
	}
	if s.BatteryPercent != nil {
		v := int32(*s.BatteryPercent) // percentages are 0 to 100
		m.BatteryPercent = &v
	}
	if s.RSSI != nil {
		v := int32(*s.RSSI) // no overflow: RSSI is in dBm
		m.Rssi = &v
	}
	return m
}

// slotMessage converts a slot of a lock. owner is the id of the reservation whose code the slot holds, or "". The id of another code, such
// as a staff code, is read from s.
func slotMessage(s *lock.SlotRow, owner string, now time.Time) *propertyv1.LockSlot {
	window := lock.WindowAt(s, now)
	m := &propertyv1.LockSlot{
		Number: int32(s.Number), Present: s.Present, Evidence: s.Evidence, Result: s.Result, ReservationId: convert.TextOrNil(owner),
		NotBefore: clock.Timestamp(window.From), NotAfter: clock.Timestamp(window.To), SeenAt: convert.OptionalTime(s.SeenAt), UsedAt: convert.OptionalTime(s.UsedAt), Unmanaged: s.Foreign,
	}
	if strings.HasPrefix(s.GrantID, id.Code+"_") {
		m.CodeId = &s.GrantID
	}
	return m
}
