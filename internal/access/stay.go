// Package access decides which doors a stay opens and sees to it that the locks come to hold exactly that. It knows no
// reservation: it takes a stay as a value, so that storing a reservation and planning its access are one transaction.
package access

import (
	"time"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// State is the state of a reservation, as the PMS says it.
type State string

// The states of the wire.
const (
	Enquired  State = "enquired"
	Requested State = "requested"
	Optional  State = "optional"
	Confirmed State = "confirmed"
	Started   State = "started"
	Processed State = "processed"
	Canceled  State = "canceled"
)

// Known says whether the wire has this state.
func (s State) Known() bool {
	switch s {
	case Enquired, Requested, Optional, Confirmed, Started, Processed, Canceled:
		return true
	}
	return false
}

// Stay is what access needs to know of a reservation.
type Stay struct {
	ReservationID string
	State         State
	From, To      time.Time
	Space         space.Request // what it names; PropertyID and IntegrationID are set
	Fresh         bool          // it never had access, so none needs to be looked for
}

// Rules are the property's.
type Rules struct {
	Zone       *time.Location
	EarlyIn    time.Duration
	LateOut    time.Duration
	PINLength  int
	GatesAlone bool
}

// Window is when the codes of a stay open.
type Window struct {
	From, To time.Time
}

// Same says whether two windows are the same instants.
func (w Window) Same(o Window) bool { return w.From.Equal(o.From) && w.To.Equal(o.To) }

// Right is what the state and the dates of a stay give, before any door is looked at.
type Right struct {
	Open   bool
	Window Window
	// Later are the windows that follow, of weekly hours.
	Later slot.Windows
	// Held back until Window.From, a later local date than now.
	HeldBack bool
	// Why not open, or why held back.
	Reason fault.Reason
}

// Decide says whether a stay has access now, and from when to when. A check-in opens at once, also before the booked
// hour, because the desk let the guest in; only a booked day that has not come yet holds access back, until the booked
// hour less the minutes that the property lets people in early. opened is when the present access began, zero if there is
// none: it does not begin anew with each change.
func Decide(s Stay, r Rules, now, opened time.Time) Right {
	switch s.State {
	case Started:
	case Confirmed:
		return Right{Reason: fault.NotCheckedIn}
	case Processed:
		return Right{Reason: fault.CheckedOut}
	case Canceled:
		return Right{Reason: fault.ReservationCanceled}
	default:
		return Right{Reason: fault.NotFirm}
	}
	w := Window{From: now, To: s.To.Add(r.LateOut)}
	if !w.To.After(now) {
		return Right{Reason: fault.WindowPast}
	}
	if early := s.From.Add(-r.EarlyIn); early.After(now) && laterDate(s.From, now, r.Zone) {
		w.From = early
		return Right{Open: true, Window: w, HeldBack: true, Reason: fault.WindowInFuture}
	}
	if !opened.IsZero() && opened.Before(now) {
		w.From = opened
	}
	return Right{Open: true, Window: w}
}

func laterDate(a, b time.Time, zone *time.Location) bool {
	ay, am, ad := a.In(zone).Date()
	by, bm, bd := b.In(zone).Date()
	return time.Date(ay, am, ad, 0, 0, 0, 0, time.UTC).After(time.Date(by, bm, bd, 0, 0, 0, 0, time.UTC))
}
