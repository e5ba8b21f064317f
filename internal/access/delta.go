package access

import (
	"slices"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access/pin"
)

// Snapshot is the access of a holder at one moment of a run.
type Snapshot struct {
	ID       string // of the grant; empty: none
	Live     bool   // the grant has not ended
	SpaceID  string
	Window   Window
	Redraws  int
	Released bool // no lock holds a code any more
	PINs     []PIN
	Held     []Held
}

// PIN is a PIN in use, without its digits.
type PIN struct {
	ID     string
	Length int // 0: not decrypted
}

// Report is the news from a lock that caused a run.
type Report struct {
	Refused   bool // the lock refused a code
	Confirmed bool // the lock confirmed a code, or the codes of an earlier grant of the stay are removed
}

// Delta is what one run changed. Events, notices and wake-ups depend on it and on the plan, and on nothing else.
type Delta struct {
	Report
	Opened   bool     // access began, or began again
	Moved    bool     // a stay with access has another space
	Redated  bool     // a stay with access has another window
	Redrawn  bool     // a PIN was replaced because a lock refused it as a duplicate
	Released bool     // the last lock confirmed that it holds no code
	HadCode  bool     // a lock had a desired code before
	NewPINs  []PIN    // generated PINs
	Added    []string // doors that get a code
	Updated  []string // doors whose code gets another PIN or window
	Removed  []string // doors that lose a code
}

// Diff returns what changed between two moments of a run.
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
	for _, h := range after.Held {
		was := heldBySlot(before.Held, h.SlotID)
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
	d.HadCode = slices.ContainsFunc(before.Held, func(h Held) bool { return h.Present })
	return d
}

// heldBySlot returns the code of a slot, or zero.
func heldBySlot(held []Held, slotID string) Held {
	for _, h := range held {
		if h.SlotID == slotID {
			return h
		}
	}
	return Held{}
}

// changesSlots reports whether a slot has another desired state.
func (d Delta) changesSlots() bool { return len(d.Added)+len(d.Updated)+len(d.Removed) > 0 }

// changesGrant reports whether an existing grant has another window, space or PIN.
func (d Delta) changesGrant() bool { return d.Moved || d.Redated || d.Redrawn }

// hasShortPIN reports whether a generated PIN has fewer digits than is safe.
func (d Delta) hasShortPIN() bool {
	return slices.ContainsFunc(d.NewPINs, func(p PIN) bool { return p.Length < pin.Shortest })
}

// snapshotOf returns the part of a snapshot that a grant stores.
func snapshotOf(g *ent.Grant) Snapshot {
	if g == nil {
		return Snapshot{}
	}
	return Snapshot{
		ID: g.ID, Live: isLive(g), SpaceID: g.SpaceID, Window: Window{g.NotBefore, g.NotAfter}, Redraws: g.Redraws, Released: g.ReleasedAt != nil,
	}
}
