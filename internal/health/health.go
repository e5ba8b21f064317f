// Package health decides when a change in the health of a lock or a bridge is notified: its connection, its battery and its clock. A state
// that changes often causes few notifications.
package health

import "time"

// Thresholds of the notifications about health: when a connection, battery or clock counts as failed and when as good again. The gap
// between the two keeps a state that changes often (flaps) from causing a notification for each change: while a connection flaps, only
// changes that last notifyAfter are notified.
const (
	stableAfter       = 5 * time.Minute  // a restored connection counts as stable after this time
	notifyAfter       = time.Minute      // a change during flapping is notified if it lasts this long
	LowBatteryPercent = 20               // a battery at or below this percentage is low
	ChargedPercent    = 25               // a low battery counts as charged again from this percentage
	maxClockOffset    = time.Minute      // a lock whose clock has a larger offset cannot enforce time windows
	goodClockOffset   = 30 * time.Second // a wrong clock counts as correct again at this offset or less
)

// Notification is the notification that a change of health needs: none, a failure or a recovery.
type Notification int

const (
	NoChange Notification = iota
	Down                  // notify a failure: offline, low battery or wrong clock
	Up                    // notify a recovery: online, charged or correct clock
)

// Link is the connection state of a lock or bridge, with its last notification. The zero value means that it was
// always connected.
type Link struct {
	LostAt     time.Time // LostAt is the time of the last disconnection; zero if there was none recently
	RestoredAt time.Time // RestoredAt is the end of the last disconnection; zero while disconnected
	NotifiedAt time.Time // NotifiedAt is when a disconnection was notified; zero after its end is notified too
}

// Move is a change of a [Link], such as its methods Lost, Restored and Check. It returns the new state, with the notification to send.
type Move func(Link, time.Time) (Link, Notification)

// Lost records a disconnection and returns the new state, with the notification to send. The disconnection is notified at once if the
// connection was stable (never lost, or restored at least stableAfter, five minutes, ago) and no notified disconnection waits for its
// recovery. Otherwise [Link.Check] may notify it later. Lost changes nothing while the connection is lost already.
func (l Link) Lost(now time.Time) (Link, Notification) {
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

// Restored records a reconnection and returns the new state, with the notification to send. The reconnection is notified at once if
// [Link.Lost] notified the disconnection. If [Link.Check] notified it later, Check also notifies the reconnection. So a short interruption
// causes one pair of notifications, and a flapping connection causes no more until it is stable. Restored changes nothing while the
// connection is not lost.
func (l Link) Restored(now time.Time) (Link, Notification) {
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

// Check returns the new state, with the notification for a connection that has been lost or restored for at least notifyAfter (a minute)
// and was not notified yet. It returns the zero Link for a connection that is stable again. A sweep calls it regularly.
func (l Link) Check(now time.Time) (Link, Notification) {
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
		return Link{}, NoChange
	}
	return l, NoChange
}

// Battery decides what to notify about a battery with a reported charge: a failure at LowBatteryPercent (20) or less, a recovery from
// ChargedPercent (25) on, else nothing. notified is true while a notified low battery has not recovered.
func Battery(notified bool, percent int) Notification {
	switch {
	case !notified && percent <= LowBatteryPercent:
		return Down
	case notified && percent >= ChargedPercent:
		return Up
	}
	return NoChange
}

// Clock decides what to notify about a lock's clock, given its offset from the bridge's clock: a failure above maxClockOffset (a minute), a
// recovery at goodClockOffset (30 s) or less, else nothing. The sign of offset does not matter. notified is true while a notified wrong
// clock has not recovered.
func Clock(notified bool, offset time.Duration) Notification {
	switch offset = offset.Abs(); {
	case !notified && offset > maxClockOffset:
		return Down
	case notified && offset <= goodClockOffset:
		return Up
	}
	return NoChange
}
