package lock

import (
	"cmp"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/fault"
)

// offlineReason says why a lock cannot be reached: it has no bridge, its bridge is offline (for its own reason), or the bridge
// does not reach it. Empty: it can be reached.
func offlineReason(lk *ent.Lock, br *ent.Bridge, now time.Time) string {
	switch {
	case br == nil:
		return string(fault.NoBridge)
	case br.RevokedAt != nil:
		return string(fault.BridgeRevoked)
	case !IsBridgeOnline(br, now) && br.OfflineReason != "":
		return br.OfflineReason
	case !IsBridgeOnline(br, now):
		return string(NodeLost) // its row says online, and nobody has heard it of late
	case !lk.Status.Online:
		return cmp.Or(lk.Status.OfflineCause, string(fault.LockOffline))
	}
	return ""
}

// Hysteresis: what comes and goes is told once, not each time.
const (
	stableAfter      = 5 * time.Minute // after which a return counts as good
	notifyAfter      = time.Minute     // a change within a series of them is told when it has lasted so long
	batteryOKPercent = 25              // percent: a battery that was low is well again
	maxClockOffset   = time.Minute     // a lock's clock that is further off keeps no windows
	goodClockOffset  = 30 * time.Second
)

// Telling is what is to be told of something that is well or is not.
type Notification int

// The tellings.
const (
	NoChange Notification = iota
	Down                  // offline, low, untrusted
	Up                    // online, charged, right
)

// Link is what is known and what was told of whether something can be reached. The zero Link was never lost.
type LinkState struct {
	LostAt     time.Time // the last loss; zero: none of late
	RestoredAt time.Time // the return from it; zero: there was none yet
	NotifiedAt time.Time // when the loss was told that was not taken back since
}

// Lost takes in a loss. The first after a calm time is told at once.
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

// Back takes in a return. The one from a loss that was told at once is told at once, too: a short cut is a pair, and what
// flaps on is silent until something lasts.
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

// Look tells what has lasted and was not told.
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

// Battery says what to tell of a battery, of which told says whether it was told that it is low.
func BatteryNotification(told bool, percent int) Notification {
	switch {
	case !told && percent <= lowBatteryPercent:
		return Down
	case told && percent >= batteryOKPercent:
		return Up
	}
	return NoChange
}

// ClockTelling is Battery for a lock's clock, which is so far from the bridge's.
func ClockNotification(told bool, off time.Duration) Notification {
	switch off = off.Abs(); {
	case !told && off > maxClockOffset:
		return Down
	case told && off <= goodClockOffset:
		return Up
	}
	return NoChange
}
