package property

import (
	"strings"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/optional"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
)

// healthMessage converts the last status report of a lock and its current state.
func healthMessage(row *lock.Row, state lock.State, now time.Time) *propertyv1.LockStatus {
	s := row.Status
	m := &propertyv1.LockStatus{
		Online: state.Online, Bolt: s.Bolt, Door: s.Door, BatteryObservedAt: optional.At(s.BatteryObservedAt), LastSeenAt: optional.At(s.LastSeenAt),
		ClockOffsetMs: s.ClockOffsetMS, ClockObservedAt: optional.At(s.ClockObservedAt), Firmware: s.Firmware, KeypadPausedUntil: optional.At(lock.KeypadPausedUntil(s, now)),
		OfflineSince: optional.At(row.UnreachedAt), BatteryLow: row.BatteryToldAt != nil, ClockUntrusted: row.ClockToldAt != nil, SlotsFree: int32(state.FreeSlots), // at most 1000
	}
	if !state.Online {
		m.OfflineReason = optional.Text(state.OfflineReason)
	}
	if s.BatteryPercent != nil {
		v := int32(*s.BatteryPercent) // 0 to 100
		m.BatteryPercent = &v
	}
	if s.RSSI != nil {
		v := int32(*s.RSSI) // dBm
		m.Rssi = &v
	}
	return m
}

// slotMessage converts a slot. owner is the reservation that its code belongs to, or empty.
func slotMessage(s *lock.SlotRow, owner string, now time.Time) *propertyv1.LockSlot {
	window := lock.WindowAt(s, now)
	m := &propertyv1.LockSlot{
		Number: int32(s.Number), Present: s.Present, Evidence: s.Evidence, Result: s.Result, ReservationId: optional.Text(owner),
		NotBefore: optional.Time(window.From), NotAfter: optional.Time(window.To), SeenAt: optional.At(s.SeenAt), UsedAt: optional.At(s.UsedAt), Unmanaged: s.Foreign,
	}
	if strings.HasPrefix(s.GrantID, id.Code+"_") {
		m.CodeId = &s.GrantID
	}
	return m
}
