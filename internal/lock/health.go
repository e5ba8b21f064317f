package lock

import (
	"cmp"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/bridge"
)

// Reasons why a lock cannot be reached, or takes no code.
const (
	NoBridge      = "noBridge"
	BridgeRevoked = "bridgeRevoked"
	LockOffline   = "lockOffline"
	SlotsFull     = "slotsFull"
)

// offlineReason returns why a lock cannot be reached: it has no bridge, its bridge is offline, with the bridge's reason, or the bridge
// does not reach it. It returns "" if the lock can be reached.
func offlineReason(lk *ent.Lock, br *ent.Bridge, now time.Time) string {
	switch {
	case br == nil:
		return NoBridge
	case br.RevokedAt != nil:
		return BridgeRevoked
	case !bridge.IsOnline(br, now) && br.OfflineReason != "":
		return br.OfflineReason
	case !bridge.IsOnline(br, now):
		return string(bridge.NodeLost) // its row says online, but the heartbeat is too old
	case !lk.Status.Online:
		return cmp.Or(lk.Status.OfflineCause, LockOffline)
	}
	return ""
}

// Hysteresis: a state that changes again and again is notified once.
const (
	stableAfter      = 5 * time.Minute // from then on a restored connection counts as stable
	notifyAfter      = time.Minute     // a change within a series is notified when it has lasted so long
	batteryOKPercent = 25              // percent, from which on a battery that was low counts as charged
	maxClockOffset   = time.Minute     // a clock with a larger offset cannot keep windows
	goodClockOffset  = 30 * time.Second
)

// Notification says what to notify about a change of health.
type Notification int

// The notifications.
const (
	NoChange Notification = iota
	Down                  // offline, low, untrusted
	Up                    // online, charged, right
)

// LinkState is the connection of a lock or bridge, with what was notified about it. The zero value was never lost.
type LinkState struct {
	LostAt     time.Time // the last loss; zero: there was none lately
	RestoredAt time.Time // the end of the last loss; zero: it goes on
	NotifiedAt time.Time // when a loss was notified whose end was not notified yet; zero: none
}

// Lost records a loss. The first one after a stable time is notified at once.
func (l LinkState) Lost(now time.Time) (LinkState, Notification) {
	if !l.LostAt.IsZero() && l.RestoredAt.IsZero() {
		return l, NoChange
	}
	quiet := l.LostAt.IsZero() || now.Sub(l.RestoredAt) >= stableAfter
	l.LostAt, l.RestoredAt = now, time.Time{}
	if !quiet || !l.NotifiedAt.IsZero() {
		return l, NoChange
	}
	l.NotifiedAt = now
	return l, Down
}

// Restored records the end of a loss. It is notified at once if the loss was notified at once: a short interruption gives a pair of
// notifications, and a connection that goes on flapping gives no more until one state lasts.
func (l LinkState) Restored(now time.Time) (LinkState, Notification) {
	if l.LostAt.IsZero() || !l.RestoredAt.IsZero() {
		return l, NoChange
	}
	l.RestoredAt = now
	if l.NotifiedAt.IsZero() || !l.NotifiedAt.Equal(l.LostAt) {
		return l, NoChange
	}
	l.NotifiedAt = time.Time{}
	return l, Up
}

// Check notifies a state that has lasted and was not notified.
func (l LinkState) Check(now time.Time) (LinkState, Notification) {
	lost := !l.LostAt.IsZero() && l.RestoredAt.IsZero()
	switch {
	case l.LostAt.IsZero():
	case lost && l.NotifiedAt.IsZero() && now.Sub(l.LostAt) >= notifyAfter:
		l.NotifiedAt = now
		return l, Down
	case !lost && !l.NotifiedAt.IsZero() && now.Sub(l.RestoredAt) >= notifyAfter:
		l.NotifiedAt = time.Time{}
		return l, Up
	case !lost && l.NotifiedAt.IsZero() && now.Sub(l.RestoredAt) >= stableAfter:
		return LinkState{}, NoChange
	}
	return l, NoChange
}

// BatteryNotification decides what to notify about a battery. notified says that the low battery was notified and not yet resolved.
func BatteryNotification(notified bool, percent int) Notification {
	switch {
	case !notified && percent <= lowBatteryPercent:
		return Down
	case notified && percent >= batteryOKPercent:
		return Up
	}
	return NoChange
}

// ClockNotification decides what to notify about a lock's clock by its offset from the bridge's clock. notified says that the wrong clock
// was notified and not yet resolved.
func ClockNotification(notified bool, offset time.Duration) Notification {
	switch offset = offset.Abs(); {
	case !notified && offset > maxClockOffset:
		return Down
	case notified && offset <= goodClockOffset:
		return Up
	}
	return NoChange
}
