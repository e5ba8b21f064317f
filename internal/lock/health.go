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
	case !BridgeOnline(br, now) && br.OfflineReason != "":
		return br.OfflineReason
	case !BridgeOnline(br, now):
		return string(NodeLost) // its row says online, and nobody has heard it of late
	case !lk.Status.Online:
		return cmp.Or(lk.Status.OfflineCause, string(fault.LockOffline))
	}
	return ""
}

// Hysteresis: what comes and goes is told once, not each time.
const (
	calm      = 5 * time.Minute // after which a return counts as good
	lasting   = time.Minute     // a change within a series of them is told when it has lasted so long
	lowUntil  = 25              // percent: a battery that was low is well again
	clockBad  = time.Minute     // a lock's clock that is further off keeps no windows
	clockGood = 30 * time.Second
)

// Telling is what is to be told of something that is well or is not.
type Telling int

// The tellings.
const (
	Nothing Telling = iota
	Trouble         // offline, low, untrusted
	Well            // online, charged, right
)

// Link is what is known and what was told of whether something can be reached. The zero Link was never lost.
type Link struct {
	LostAt time.Time // the last loss; zero: none of late
	BackAt time.Time // the return from it; zero: there was none yet
	ToldAt time.Time // when the loss was told that was not taken back since
}

// Lost takes in a loss. The first after a calm time is told at once.
func (l Link) Lost(now time.Time) (Link, Telling) {
	if !l.LostAt.IsZero() && l.BackAt.IsZero() {
		return l, Nothing
	}
	quiet := l.LostAt.IsZero() || now.Sub(l.BackAt) >= calm
	l.LostAt, l.BackAt = now, time.Time{}
	if !quiet || !l.ToldAt.IsZero() {
		return l, Nothing
	}
	l.ToldAt = now
	return l, Trouble
}

// Back takes in a return. The one from a loss that was told at once is told at once, too: a short cut is a pair, and what
// flaps on is silent until something lasts.
func (l Link) Back(now time.Time) (Link, Telling) {
	if l.LostAt.IsZero() || !l.BackAt.IsZero() {
		return l, Nothing
	}
	l.BackAt = now
	if l.ToldAt.IsZero() || !l.ToldAt.Equal(l.LostAt) {
		return l, Nothing
	}
	l.ToldAt = time.Time{}
	return l, Well
}

// Look tells what has lasted and was not told.
func (l Link) Look(now time.Time) (Link, Telling) {
	lost := !l.LostAt.IsZero() && l.BackAt.IsZero()
	switch {
	case l.LostAt.IsZero():
	case lost && l.ToldAt.IsZero() && now.Sub(l.LostAt) >= lasting:
		l.ToldAt = now
		return l, Trouble
	case !lost && !l.ToldAt.IsZero() && now.Sub(l.BackAt) >= lasting:
		l.ToldAt = time.Time{}
		return l, Well
	case !lost && l.ToldAt.IsZero() && now.Sub(l.BackAt) >= calm:
		return Link{}, Nothing
	}
	return l, Nothing
}

// Battery says what to tell of a battery, of which told says whether it was told that it is low.
func Battery(told bool, percent int) Telling {
	switch {
	case !told && percent <= lowBattery:
		return Trouble
	case told && percent >= lowUntil:
		return Well
	}
	return Nothing
}

// ClockTelling is Battery for a lock's clock, which is so far from the bridge's.
func ClockTelling(told bool, off time.Duration) Telling {
	switch off = off.Abs(); {
	case !told && off > clockBad:
		return Trouble
	case told && off <= clockGood:
		return Well
	}
	return Nothing
}
