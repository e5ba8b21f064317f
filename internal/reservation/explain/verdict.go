package explain

import (
	"cmp"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock/slot"
)

// Word is what a door does now.
type Word string

// The words.
const (
	Opens       Word = "opens"
	OpensAt     Word = "opensAt"     // the code is where it must be, and its time comes
	Uncertain   Word = "uncertain"   // nobody can vouch for it
	DoesNotOpen Word = "doesNotOpen" // not with the code of this stay
)

// Reasons of a verdict that are no reasons of a plan.
const (
	OnItsWay    = "onItsWay"    // the code has not reached the lock yet
	Unconfirmed = "unconfirmed" // the code was sent to the lock, and nothing came back
	NotReadBack = "notReadBack" // the lock took the code, and it has not been seen there yet
	LockJammed  = string(fault.LockJammed)
)

// Verdict is one door now.
type Verdict struct {
	DoorID, Name string
	Kind         access.Kind
	Word         Word
	At           time.Time // of OpensAt
	Evidence     slot.Evidence
	Reason       string
	Sentence     string // for the guest
	Advice       string // for staff
}

// judge says what a door does now.
func (f Facts) judge(d access.PlannedDoor) Verdict {
	v := Verdict{DoorID: d.ID, Name: d.Name, Kind: d.Kind, Evidence: d.PIN}
	v.Word, v.Reason = f.word(d)
	if v.Word == OpensAt {
		v.At = f.Plan.Window.From
	}
	w := words[v.Reason]
	v.Advice = w.staff
	switch v.Word {
	case Opens:
		v.Sentence = about("% opens with your code.", d.Name)
	case OpensAt:
		v.Sentence = about("% will open with your code when your stay begins.", d.Name)
	case Uncertain:
		v.Sentence = about("% may not open with your code.", d.Name) + after(w.guest)
	case DoesNotOpen:
		v.Sentence = about("% does not open with your code.", d.Name) + after(w.guest)
	}
	return v
}

func after(sentence string) string {
	if sentence == "" {
		return ""
	}
	return " " + sentence
}

// word is the verdict and its reason.
func (f Facts) word(d access.PlannedDoor) (Word, string) {
	switch {
	case f.Plan.Window == nil || d.PIN == slot.Removing || d.PIN == slot.Removed:
		return f.leaving(d)
	case d.Reason == fault.NoLock, d.Reason == fault.SpaceInactive:
		return DoesNotOpen, string(d.Reason)
	case !f.Plan.Window.To.After(f.Now):
		return DoesNotOpen, string(fault.WindowPast)
	}
	word, reason := f.coming(d)
	if word != DoesNotOpen && f.Doors[d.ID].Jammed {
		return Uncertain, LockJammed
	}
	if word == Opens && f.Plan.Window.From.After(f.Now) {
		return OpensAt, string(fault.WindowInFuture)
	}
	return word, reason
}

// leaving is the verdict on a door that the stay has no right to. A code that is not known to be gone may still open it.
func (f Facts) leaving(d access.PlannedDoor) (Word, string) {
	reason := cmp.Or(d.Reason, f.first())
	if f.Plan.Window != nil {
		reason = cmp.Or(d.Reason, fault.MovingOut)
	}
	switch d.PIN {
	case access.None, slot.Planned, slot.Removed, "":
		return DoesNotOpen, string(reason)
	}
	return Uncertain, string(reason)
}

func (f Facts) first() fault.Reason {
	if len(f.Plan.Reasons) == 0 {
		return ""
	}
	return f.Plan.Reasons[0]
}

// coming is the verdict on a door that the stay has a right to, by the evidence for its code alone.
func (f Facts) coming(d access.PlannedDoor) (Word, string) {
	door := f.Doors[d.ID]
	switch d.PIN {
	case slot.Verified, slot.Used:
		return settled(d)
	case slot.Accepted:
		if !door.ReadBack {
			return settled(d)
		}
		return Uncertain, NotReadBack
	case slot.Unconfirmed:
		return Uncertain, Unconfirmed
	case slot.Sent:
		// A bridge that keeps the schedule of a lock puts the code there when its time comes.
		if f.Plan.Window.From.After(f.Now) {
			if door.Online {
				return Opens, ""
			}
			return Uncertain, string(fault.LockOffline)
		}
	}
	word := DoesNotOpen
	if d.MayBeInstalled { // a bridge that is not heard may have put it there, or hold what was there before
		word = Uncertain
	}
	switch d.Reason {
	case "", fault.WindowInFuture, fault.OwnPIN:
		return word, OnItsWay
	}
	return word, string(d.Reason)
}

// settled is the verdict on a code that is known to be on its lock.
func settled(d access.PlannedDoor) (Word, string) {
	switch d.Reason {
	case fault.ClockUntrusted, fault.SlotsFull: // on the lock that the door had before
		return Uncertain, string(d.Reason)
	case fault.MovingOut, fault.OwnPIN:
		return Opens, string(d.Reason)
	}
	return Opens, ""
}
