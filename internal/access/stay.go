// Package access decides which doors a reservation opens, and reconciles the codes on the locks with that decision. It does not import
// package reservation: it takes a [Stay] value, so that one transaction stores a reservation and plans its access.
package access

import (
	"time"

	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// State is the state of a reservation in the PMS.
type State string

const (
	Enquired  State = "enquired"
	Requested State = "requested"
	Optional  State = "optional"
	Confirmed State = "confirmed"
	Started   State = "started"
	Processed State = "processed"
	Canceled  State = "canceled"
)

// Valid reports whether a text is one of the states.
func (s State) Valid() bool {
	switch s {
	case Enquired, Requested, Optional, Confirmed, Started, Processed, Canceled:
		return true
	}
	return false
}

// Stay is the part of a reservation on which access depends.
type Stay struct {
	ReservationID string
	State         State
	From, To      time.Time
	ExtendedTo    time.Time     // ExtendedTo is until when staff extended the access; zero if they did not
	Space         space.Request // Space is the space that the reservation names, if any; PropertyID and IntegrationID are always set
	Fresh         bool          // Fresh means that the reservation never had access, so that there is no grant to load
}

// Rules are the property's settings on which access depends.
type Rules struct {
	Zone       *time.Location
	EarlyIn    time.Duration // EarlyIn is how long before the booked arrival codes open after a check-in on an earlier day; 0: at the arrival
	LateOut    time.Duration // LateOut is how long after the booked departure codes open
	PINLength  int           // PINLength is the number of digits; 0: the locks decide, see pinLength
	GatesAlone bool          // GatesAlone means that gates open even if neither the room or bed nor its dorm takes a code
}

// Window is the time in which a code opens a door. A zero From means no start, a zero To no end.
type Window struct {
	From, To time.Time
}

func (w Window) Same(o Window) bool { return w.From.Equal(o.From) && w.To.Equal(o.To) }

// Right is what the state and dates of a reservation allow, independent of doors.
type Right struct {
	Open   bool // Open is true also if HeldBack is
	Window Window
	// Later are the windows after Window, for a code with weekly hours.
	Later slot.Windows
	// HeldBack means that codes open only from Window.From, which is after now.
	HeldBack bool
	// Reason is why doors do not open, or open later; empty if they open now, and always for a code that belongs to no reservation.
	Reason Reason
}
