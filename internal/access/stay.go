// Package access decides which doors a stay opens, and reconciles the codes on the locks with that decision. It does not import
// reservations: it takes a stay as a value, so that one transaction stores a reservation and plans its access.
package access

import (
	"time"

	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// State is the state of a reservation in the PMS.
type State string

// The states.
const (
	Enquired  State = "enquired"
	Requested State = "requested"
	Optional  State = "optional"
	Confirmed State = "confirmed"
	Started   State = "started"
	Processed State = "processed"
	Canceled  State = "canceled"
)

// Known reports whether s is one of the states.
func (s State) Known() bool {
	switch s {
	case Enquired, Requested, Optional, Confirmed, Started, Processed, Canceled:
		return true
	}
	return false
}

// Stay is the part of a reservation that access depends on.
type Stay struct {
	ReservationID string
	State         State
	From, To      time.Time
	Space         space.Request // the space that the reservation names; PropertyID and IntegrationID are set
	Fresh         bool          // it never had access, so there is no grant to load
}

// Rules are the settings of the property that access depends on.
type Rules struct {
	Zone       *time.Location
	EarlyIn    time.Duration
	LateOut    time.Duration
	PINLength  int
	GatesAlone bool
}

// Window is the time in which a code opens a door.
type Window struct {
	From, To time.Time
}

// Same reports whether two windows have the same instants.
func (w Window) Same(o Window) bool { return w.From.Equal(o.From) && w.To.Equal(o.To) }

// Right is what the state and the dates of a stay allow, independent of any door.
type Right struct {
	Open   bool
	Window Window
	// Later are the windows after Window, of a code with weekly hours.
	Later slot.Windows
	// HeldBack reports that codes open only from Window.From, which is after now.
	HeldBack bool
	// Reason says why the right is not open, or is held back.
	Reason string
}
