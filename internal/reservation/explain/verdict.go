package explain

import (
	"cmp"
	"slices"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/text"
)

// Outcome is whether a door opens now with the code of the stay.
type Outcome string

const (
	Opens       Outcome = "opens"
	OpensAt     Outcome = "opensAt"     // the window has not begun; the code is installed, or will be by then
	Uncertain   Outcome = "uncertain"   // there is no proof whether the door opens
	DoesNotOpen Outcome = "doesNotOpen" // the door does not open with the code of this stay
)

// Reasons of a verdict that an access plan does not have.
const (
	OnItsWay    access.Reason = "onItsWay"    // the code has not reached the lock yet, as far as is known
	Unconfirmed access.Reason = "unconfirmed" // the code was sent to the lock, and the lock did not answer
	NotReadBack access.Reason = "notReadBack" // the lock accepted the code, and the bridge has not read the code back yet
)

// Reasons are all reasons of verdicts and steps.
var Reasons = slices.Concat(access.Reasons, []access.Reason{OnItsWay, Unconfirmed, NotReadBack})

// Verdict is the answer for one door of the stay.
type Verdict struct {
	DoorID, Name string
	Parent       string // Parent is the name of the dorm of a bed, or ""
	Kind         access.Kind
	Outcome      Outcome
	At           time.Time // At is when the door opens, if the outcome is OpensAt
	Evidence     slot.Evidence
	Reason       access.Reason
	Text         message.Message // Text is for the guest; for staff see [ForStaff]
	Advice       message.Message // Advice is for staff
}

// judge returns the verdict for one planned door, with its texts for the guest and for staff.
func (f Facts) judge(d access.PlannedDoor) Verdict {
	v := Verdict{DoorID: d.ID, Name: d.Name, Parent: d.Parent, Kind: d.Kind, Evidence: d.PIN}
	v.Outcome, v.Reason = f.outcome(d)
	if v.Outcome == OpensAt {
		v.At = f.Plan.Window.From
	}
	v.Advice = adviceOn(v.Reason)
	v.Text = message.Message{Kind: "verdict." + string(v.Outcome), Params: message.Params{"door": doorParam(text.FullName(v.Parent, d.Name))}}
	if v.Outcome == Uncertain || v.Outcome == DoesNotOpen {
		v.Text.Params["why"] = textOf(v.Reason)
	}
	return v
}

// outcome returns whether a planned door opens now, and the reason, which a door that opens may also have, or "".
func (f Facts) outcome(d access.PlannedDoor) (Outcome, access.Reason) {
	switch {
	case f.Plan.Window == nil || d.PIN == slot.Removing || d.PIN == slot.Removed:
		return f.withoutRight(d)
	case d.Reason == access.NoLock, d.Reason == space.SpaceInactive:
		return DoesNotOpen, d.Reason
	case !f.Plan.Window.To.After(f.Now):
		return DoesNotOpen, access.WindowPast
	}
	word, reason := f.byEvidence(d)
	if word != DoesNotOpen && f.Doors[d.ID].Jammed {
		return Uncertain, access.LockJammed
	}
	if word == Opens && f.Plan.Window.From.After(f.Now) {
		return OpensAt, access.WindowInFuture
	}
	return word, reason
}

// withoutRight returns the outcome of a door that the stay has no right to open, and the reason, or "". A code that is not removed yet may
// still open the door.
func (f Facts) withoutRight(d access.PlannedDoor) (Outcome, access.Reason) {
	reason := cmp.Or(d.Reason, f.firstReason())
	if f.Plan.Window != nil {
		reason = cmp.Or(d.Reason, access.MovingOut)
	}
	switch d.PIN {
	case access.None, slot.Planned, slot.Removed, "":
		return DoesNotOpen, reason
	}
	return Uncertain, reason
}

// firstReason returns the first reason of the access plan, or "".
func (f Facts) firstReason() access.Reason {
	if len(f.Plan.Reasons) == 0 {
		return ""
	}
	return f.Plan.Reasons[0]
}

// byEvidence returns the outcome of a door that the stay may open, and the reason, from the evidence for its code and the reason in the
// plan, which must have a window. It leaves a jammed lock and a window that has not begun to [Facts.outcome]: a code that is ready for its
// window counts as Opens.
func (f Facts) byEvidence(d access.PlannedDoor) (Outcome, access.Reason) {
	door := f.Doors[d.ID]
	switch d.PIN {
	case slot.Verified, slot.Used:
		return installed(d)
	case slot.Accepted:
		if !door.ReadBack {
			return installed(d)
		}
		return Uncertain, NotReadBack
	case slot.Unconfirmed:
		return Uncertain, Unconfirmed
	case slot.Sent:
		// A bridge that sets and removes the codes of a lock on time sends the code when its window begins.
		if f.Plan.Window.From.After(f.Now) {
			if door.Online {
				return Opens, ""
			}
			return Uncertain, lock.LockOffline
		}
	}
	word := DoesNotOpen
	if d.MayBeInstalled { // an offline bridge may have installed the code before it lost the connection
		word = Uncertain
	}
	switch d.Reason {
	case "", access.WindowInFuture, access.OwnPIN:
		return word, OnItsWay
	}
	return word, d.Reason
}

// installed returns the outcome of a code that is proven to be on its lock, and the reason or "". It is Opens, unless the plan has a reason
// that makes it uncertain.
func installed(d access.PlannedDoor) (Outcome, access.Reason) {
	switch d.Reason {
	case access.ClockUntrusted, lock.SlotsFull: // despite the proof, these make it uncertain that the code opens the door
		return Uncertain, d.Reason
	case access.MovingOut, access.OwnPIN:
		return Opens, d.Reason
	}
	return Opens, ""
}
