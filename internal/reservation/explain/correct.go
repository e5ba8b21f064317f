package explain

import (
	"slices"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock/slot"
)

// place is where a code of the stay is: a lock, and the access that put it there.
type codeLocation struct{ grantID, lockID, doorID string }

func locationOf(h Event) codeLocation { return codeLocation{h.GrantID, h.LockID, h.DoorID} }

// typed says that a code of the stay was typed at a door.
func (h Event) isTyped() bool { return h.OfStay && !h.SmartKey && h.isOpening() }

// opening says that somebody opened a door, or tried to.
func (h Event) isOpening() bool { return h.Kind == event.DoorOpened || h.Kind == event.DoorDenied }

// clocks corrects the times that cannot be right, whatever the clocks on site show, and no others:
//   - nothing happened after the server stored it;
//   - what is known of one code on one lock came in the order in which it was stored;
//   - no door opened to an access of the stay before the server had made that access. Such a clock is wrong, so the opening
//     goes after the first that was known of its code by then.
//
// An opening that is reported late keeps its own time: what became known after it, by it or since, moves it nowhere.
type clocks struct {
	granted     map[string]time.Time       // when each access was made, by id
	first, last map[codeLocation]time.Time // what was known of each code
}

func newClocks(granted map[string]time.Time) clocks {
	return clocks{granted, map[codeLocation]time.Time{}, map[codeLocation]time.Time{}}
}

// correct is the time of the next happening in stored order.
func (c clocks) correct(h Event) time.Time {
	if !h.Stored.IsZero() && h.At.After(h.Stored) {
		h.At = h.Stored
	}
	made, at := c.granted[h.GrantID], locationOf(h)
	switch {
	case h.OfStay && h.Kind == event.CredentialChanged:
		h.At = latest(h.At, c.last[at])
		c.last[at] = h.At
		if c.first[at].IsZero() {
			c.first[at] = h.At
		}
	case h.OfStay && h.isOpening() && h.At.Before(made):
		h.At = latest(made, c.first[at])
	}
	return h.At
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// knownCodes are the codes that are known to be on their lock, as happenings pass in stored order.
type provenCodes map[codeLocation]bool

// learnedByUse says whether the use of a code is the first proof that its lock has it.
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

// withoutRepeats keeps the first of the steps that say the same at the same time. Two openings at one time are two openings.
func withoutRepeats(steps []Step) []Step {
	type words struct {
		at             time.Time
		door, sentence string
	}
	seen := map[words]bool{}
	out := steps[:0]
	for _, s := range steps {
		w := words{s.At.UTC().Round(0), s.DoorID, s.Sentence}
		if seen[w] && !s.isOpening {
			continue
		}
		seen[w] = true
		out = append(out, s)
	}
	return out
}

// span is from when to when a code of the stay was at a door.
type period struct {
	from, to time.Time
	open     bool // it is there still
}

func (s period) includes(at time.Time) bool {
	return !s.from.IsZero() && !at.Before(s.from) && (s.open || !at.After(s.to))
}

// overlaps reports whether a span has an instant in common with the time [from, end).
func (s period) overlaps(from, end time.Time) bool {
	return !s.from.IsZero() && s.from.Before(end) && (s.open || !from.After(s.to))
}

// spans are from when to when a code of the stay was on a lock at a door, as far as it is known from the happenings so far. A plan
// names no lock: until something is known of the code that it plans, any lock at the door counts.
type periods map[lockAtDoor]period

// spot is a lock at a door.
type lockAtDoor struct{ lockID, doorID string }

// has reports whether a code of the stay was where something happened, when it happened.
func (all periods) include(h Event) bool {
	return all[lockAtDoor{h.LockID, h.DoorID}].includes(h.At) || all[lockAtDoor{"", h.DoorID}].includes(h.At)
}

// overlap reports whether a code of the stay was where something happened, at some time from its beginning until an end.
func (all periods) overlap(h Event, end time.Time) bool {
	return all[lockAtDoor{h.LockID, h.DoorID}].overlaps(h.At, end) || all[lockAtDoor{"", h.DoorID}].overlaps(h.At, end)
}

// learn takes in the next happening in stored order. It reports whether a code of the stay is new at a door.
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

// open reports whether a code of the stay is at a door, or comes to it.
func (all periods) open(doorID string) bool {
	for at, s := range all {
		if at.doorID == doorID && s.open {
			return true
		}
	}
	return false
}

// ofPlan reports whether a happening is an access plan.
func (h Event) isPlan() bool {
	return slices.Contains([]event.Kind{event.AccessIssued, event.AccessUpdated, event.AccessRemoved, event.AccessFailed}, h.Kind)
}

// endsStay reports whether a happening takes the right to all doors.
func (h Event) endsStay() bool {
	return h.Kind == event.ReservationChanged && h.State != access.Started
}

// ofCode reports whether a happening says something of the stay's present code for a door, on any lock.
func (h Event) isOfCode() bool {
	return h.OfStay && !h.SmartKey && h.DoorID != "" && !h.FormerCode
}
