package explain

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock/slot"
)

// codeLocation is one code of the stay, named by its grant, on one lock at one door.
type codeLocation struct{ grantID, lockID, doorID string }

// locationOf returns which code, on which lock and door, an event is about.
func locationOf(h Event) codeLocation { return codeLocation{h.GrantID, h.LockID, h.DoorID} }

// isTyped reports whether the event is the typing of a code of the stay at a door, which opened or refused the code.
func (h Event) isTyped() bool { return h.OfStay && !h.SmartKey && h.isOpening() }

// isOpening reports whether the event is an opened door or a refused attempt.
func (h Event) isOpening() bool { return h.Kind == event.DoorOpened || h.Kind == event.DoorDenied }

// clocks corrects event times that come from wrong clocks on site. An event cannot happen after the server stored it. Evidence for one code
// on one lock keeps the order in which it was stored. A door cannot open with a grant before the server created the grant: such an opening
// gets the time of that creation or, if it is later, of the first evidence for its code so far. Later evidence does not change it.
type clocks struct {
	granted     map[string]time.Time       // granted has the creation time of each grant, by id
	first, last map[codeLocation]time.Time // first and last are the times of the first and last evidence for each code
}

// newClocks returns a corrector for the events of one stay. granted has the creation time of each grant, by id.
func newClocks(granted map[string]time.Time) clocks {
	return clocks{granted, map[codeLocation]time.Time{}, map[codeLocation]time.Time{}}
}

// correct returns the corrected time of an event. Call it once for each event, in stored order.
func (c clocks) correct(h Event) time.Time {
	if !h.Stored.IsZero() && h.At.After(h.Stored) {
		h.At = h.Stored
	}
	made, at := c.granted[h.GrantID], locationOf(h)
	switch {
	case h.OfStay && h.Kind == event.CredentialChanged:
		h.At = clock.Later(h.At, c.last[at])
		c.last[at] = h.At
		if c.first[at].IsZero() {
			c.first[at] = h.At
		}
	case h.OfStay && h.isOpening() && h.At.Before(made):
		h.At = clock.Later(made, c.first[at])
	}
	return h.At
}

// provenCodes are the codes that are proven to be on their lock, up to the current event in stored order.
type provenCodes map[codeLocation]bool

// firstProvenByUse applies the next event in stored order. It reports whether a typed code of the stay opened the door while no earlier
// event since the code's last removal had proven that the lock has it.
func (k provenCodes) firstProvenByUse(h Event) bool {
	at := locationOf(h)
	switch {
	case h.OfStay && h.Kind == event.CredentialChanged:
		switch h.Evidence {
		case slot.Accepted, slot.Verified, slot.Used:
			k[at] = true
		case slot.Removed:
			delete(k, at)
		}
	case h.isTyped() && h.Kind == event.DoorOpened && !k[at]:
		k[at] = true
		return true
	}
	return false
}

// withoutRepeats removes each step with the door, text and time of an earlier one, except openings, which may really occur twice. It
// changes the slice.
func withoutRepeats(steps []Step) []Step {
	type words struct {
		at         time.Time
		door, text string
	}
	seen := map[words]bool{}
	out := steps[:0]
	for _, s := range steps {
		w := words{s.At.UTC().Round(0), s.DoorID, fmt.Sprint(s.Text)}
		if seen[w] && !s.isOpening {
			continue
		}
		seen[w] = true
		out = append(out, s)
	}
	return out
}

// period is the time in which a code of the stay was on a lock at a door. Its field open says whether it continues.
type period struct {
	from, to time.Time
	open     bool // open means that the period has not ended; to is then the time of its last event so far
}

// includes reports whether a time lies in the period, whose ends count as part of it.
func (s period) includes(at time.Time) bool {
	return !s.from.IsZero() && !at.Before(s.from) && (s.open || !at.After(s.to))
}

// overlaps reports whether a period overlaps the time [from, end).
func (s period) overlaps(from, end time.Time) bool {
	return !s.from.IsZero() && s.from.Before(end) && (s.open || !from.After(s.to))
}

// periods are the times in which a code of the stay was on a lock at a door, up to the current event. An access plan
// names no lock, so any lock at the door counts until there is evidence for the code.
type periods map[lockAtDoor]period

// lockAtDoor is a lock on a door. An empty lockID means any lock on the door.
type lockAtDoor struct{ lockID, doorID string }

// include reports whether a code of the stay was on the event's lock and door at the event's time.
func (all periods) include(h Event) bool {
	return all[lockAtDoor{h.LockID, h.DoorID}].includes(h.At) || all[lockAtDoor{"", h.DoorID}].includes(h.At)
}

// overlap reports whether a code of the stay was on the event's lock and door at some time between the event and end.
func (all periods) overlap(h Event, end time.Time) bool {
	return all[lockAtDoor{h.LockID, h.DoorID}].overlaps(h.At, end) || all[lockAtDoor{"", h.DoorID}].overlaps(h.At, end)
}

// add applies the next event in stored order, and reports whether it is the first about a code of the stay on this lock at this door, or
// puts one there again after a removal. It returns false for a lock that had left the door by then.
func (all periods) add(h Event) (begins bool) {
	for at, s := range all {
		over := h.endsStay() || h.isPlan() && !slices.Contains(h.Expected, at.doorID) || h.isOfCode() && !h.FormerLock && h.DoorID == at.doorID
		if at.lockID == "" && s.open && over {
			all[at] = period{from: s.from, to: h.At}
		}
	}
	for _, doorID := range h.Expected {
		if !all.open(doorID) {
			all[lockAtDoor{"", doorID}] = period{from: h.At, to: h.At, open: true}
		}
	}
	if !h.isOfCode() {
		return false
	}
	at := lockAtDoor{h.LockID, h.DoorID}
	s, known := all[at]
	begins = !h.FormerLock && (!known || !s.open && h.Kind == event.CredentialChanged && h.Evidence != slot.Removed)
	if !known || h.At.Before(s.from) {
		s.from = h.At
	}
	if h.At.After(s.to) {
		s.to = h.At
	}
	if h.Kind == event.CredentialChanged {
		s.open = h.Evidence != slot.Removed
	}
	all[at] = s
	return begins
}

// open reports whether a code of the stay is on a lock at a door after the last event, or is planned to be.
func (all periods) open(doorID string) bool {
	for at, s := range all {
		if at.doorID == doorID && s.open {
			return true
		}
	}
	return false
}

// isPlan reports whether the event is about an access plan.
func (h Event) isPlan() bool {
	return slices.Contains([]event.Kind{event.AccessIssued, event.AccessUpdated, event.AccessRemoved, event.AccessFailed}, h.Kind)
}

// endsStay reports whether the event ends the guest's access to all doors: a change by the PMS, after which the stay is not checked in.
func (h Event) endsStay() bool {
	return h.Kind == event.ReservationChanged && h.State != access.Started
}

// isOfCode reports whether the event is about the stay's current code for a door, on any lock.
func (h Event) isOfCode() bool {
	return h.OfStay && !h.SmartKey && h.DoorID != "" && !h.FormerCode
}
