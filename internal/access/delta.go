package access

import (
	"slices"

	"latchkey.dev/internal/access/pin"
)

// Snapshot is the access of a holder at one moment of a run. Diff compares two snapshots.
type Snapshot struct {
	ID       string // ID is the grant's id; empty if there is none
	Live     bool   // Live means that the grant has not ended; its window may be over, or not have begun
	SpaceID  string
	Window   Window
	Redraws  int  // Redraws counts the PINs that were replaced because a lock refused them
	Released bool // Released means that no lock holds a code
	PINs     []PIN
	Codes    []SlotCode
}

// PIN describes a PIN without its digits.
type PIN struct {
	ID     string
	Length int // Length is 0 if the PIN was not decrypted
}

// Report is the report of a lock that caused a run; zero if none did.
type Report struct {
	Refused   bool // Refused means that the lock refused a code
	Confirmed bool // Confirmed means that the lock confirmed a code, or that the codes of an earlier grant are removed
}

// Delta is what one run changed. Events, notices and notifications follow from it, from the plan and from what the run loaded, such as the
// codes of earlier grants.
type Delta struct {
	Report
	Opened   bool     // Opened means that access began, or began again after its end
	Moved    bool     // Moved means that a reservation with access got another space, or lost its space
	Redated  bool     // Redated means that a reservation with access got another time window
	Redrawn  bool     // Redrawn means that a PIN was replaced because a lock refused it as a duplicate
	Released bool     // Released means that it is proven now, and was not before, that no lock holds a code
	HadCode  bool     // HadCode means that a code was desired on a lock before the run
	NewPINs  []PIN    // NewPINs are the PINs that the run generated and stored
	Added    []string // Added are the ids of the doors that get a code
	Updated  []string // Updated are the ids of the doors whose code gets another PIN or window
	Removed  []string // Removed are the ids of the doors that lose a code
}

// Diff returns what changed between two moments of a run. It lists no change of codes and PINs that only before has. r is the report of a
// lock that caused the run, if one did.
func Diff(before, after Snapshot, r Report) Delta {
	stays := before.Live && after.Live && before.ID == after.ID
	d := Delta{
		Report:   r,
		Opened:   after.Live && !stays,
		Moved:    stays && before.SpaceID != after.SpaceID,
		Redated:  stays && !before.Window.Same(after.Window),
		Redrawn:  before.ID == after.ID && after.Redraws > before.Redraws,
		Released: before.ID == after.ID && !before.Released && after.Released,
	}
	for _, p := range after.PINs {
		if !slices.ContainsFunc(before.PINs, func(b PIN) bool { return b.ID == p.ID }) {
			d.NewPINs = append(d.NewPINs, p)
		}
	}
	for _, h := range after.Codes {
		was := codeBySlot(before.Codes, h.SlotID)
		switch {
		case h.Generation == was.Generation:
		case h.Present && was.Present:
			d.Updated = append(d.Updated, h.DoorID)
		case h.Present:
			d.Added = append(d.Added, h.DoorID)
		default:
			d.Removed = append(d.Removed, h.DoorID)
		}
	}
	d.HadCode = slices.ContainsFunc(before.Codes, func(h SlotCode) bool { return h.Present })
	return d
}

// codeBySlot returns the code in the slot with an id, or the zero value.
func codeBySlot(codes []SlotCode, slotID string) SlotCode {
	for _, h := range codes {
		if h.SlotID == slotID {
			return h
		}
	}
	return SlotCode{}
}

// changesSlots reports whether the run changed the desired state of a slot.
func (d Delta) changesSlots() bool { return len(d.Added)+len(d.Updated)+len(d.Removed) > 0 }

// changesGrant reports whether the space or the window of a grant that was open before the run changed, or a PIN was replaced because a
// lock refused it. A PIN that is replaced on request does not count.
func (d Delta) changesGrant() bool { return d.Moved || d.Redated || d.Redrawn }

// hasShortPIN reports whether the run generated a PIN with fewer digits than pin.Shortest.
func (d Delta) hasShortPIN() bool {
	return slices.ContainsFunc(d.NewPINs, func(p PIN) bool { return p.Length < pin.Shortest })
}
