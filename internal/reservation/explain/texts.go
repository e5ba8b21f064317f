package explain

import (
	"strings"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// about puts the name of a door into a sentence.
func about(sentence, door string) string {
	if door == "" {
		door = "a door"
		if strings.HasPrefix(sentence, "%") {
			door = "A door"
		}
	}
	return strings.Replace(sentence, "%", door, 1)
}

// reasonText says a reason to the guest and to staff.
type reasonText struct {
	guest string // a sentence of its own
	staff string // what to do
	whole bool   // it is about the whole stay, not one door
}

var desk = "Please ask at the reception."

// reasonTexts are the texts of the reasons of plans and verdicts.
var reasonTexts = map[string]reasonText{
	access.NoLock:              {guest: "It has no electronic lock. " + desk, staff: "Hand out a key, or put a lock on this door."},
	space.SpaceInactive:        {guest: desk, staff: "Switch the space on, or have the PMS assign another room.", whole: true},
	space.SpacesDisagree:       {staff: "The PMS named a bed, and a room that is not the bed's: correct the reservation in the PMS."},
	space.BedNotAssigned:       {staff: "The PMS named a dorm without a bed: assign a bed in the PMS."},
	space.SpaceUnknown:         {guest: "Your room is not known to the lock system yet. " + desk, staff: "Read getSpaces again and map the room of the PMS.", whole: true},
	space.SpaceNotMapped:       {guest: "Your room is not known to the lock system yet. " + desk, staff: "Map the room of the PMS to a space.", whole: true},
	space.RoomNotAssigned:      {guest: "No room has been assigned to you yet.", staff: "Assign a room in the PMS.", whole: true},
	access.NotCheckedIn:        {guest: "You are not checked in yet.", staff: "Check the guest in at the PMS; codes open from then on.", whole: true},
	access.NotFirm:             {guest: "Your booking is not confirmed yet.", staff: "Confirm the booking in the PMS.", whole: true},
	access.CheckedOut:          {guest: "You are checked out.", staff: "If that is wrong, undo the check-out in the PMS; the guest gets a new code.", whole: true},
	access.ReservationCanceled: {guest: "The booking was cancelled.", staff: "If that is wrong, restore the booking in the PMS.", whole: true},
	access.WindowPast:          {guest: "Your stay has ended.", staff: "If the guest stays on, send the new departure from the PMS.", whole: true},
	access.WindowInFuture:      {guest: "Your stay has not begun yet.", staff: "To let the guest in now, send today as the arrival from the PMS.", whole: true},
	access.SpaceShared:         {staff: "Another stay is checked in to the same private space: check whether one is a mistake."},
	lock.LockOffline:           {guest: "The lock cannot be reached right now. " + desk, staff: "Check the lock and its bridge; until then hand out a key."},
	lock.NoBridge:              {guest: desk, staff: "The lock has no bridge: enrol one, or hand out a key."},
	lock.BridgeRevoked:         {guest: desk, staff: "The bridge of the lock was revoked: enrol one, or hand out a key."},
	lock.SlotsFull:             {guest: desk, staff: "The lock has no free slot: remove a code at the lock, or wait until one is cleared."},
	access.PINNotPossible:      {guest: desk, staff: "The lock takes no PIN that the property's rules allow: change the PIN length, or hand out a key."},
	access.DuplicateOnLock:     {guest: desk, staff: "The lock refuses every PIN as a duplicate: check which codes it holds, then reset the PIN."},
	access.LockRefused:         {guest: desk, staff: "The lock refused the code: its slots say why. Reset the PIN, or hand out a key."},
	access.ClockUntrusted:      {guest: "The clock of the lock may be wrong. " + desk, staff: "Set the clock of the lock, or wait until its bridge has."},
	access.MovingOut:           {guest: "You are moving to another room.", staff: "No action: this door closes once the new one is proven to open."},
	OnItsWay:                   {guest: "Your code is on its way to the lock: please try again in a moment.", staff: "Wait a moment. If it takes minutes, check the lock and its bridge."},
	Unconfirmed:                {guest: "Whether the lock has your code is not known: please try it.", staff: "Have the guest try. If it does not open, unlock remotely or reset the PIN."},
	NotReadBack:                {guest: "The lock has taken your code, which has not been checked yet: please try it.", staff: "Wait a moment, or have the guest try."},
	LockJammed:                 {guest: "The lock reports that it is jammed. " + desk, staff: "Free the bolt of the lock: it is jammed."},
}

// stateSteps maps a new state of the stay to the kind and sentence of its step.
var stateSteps = map[access.State][2]string{
	access.Started:   {"checkedIn", "You were checked in."},
	access.Confirmed: {"confirmed", "Your booking was confirmed."},
	access.Processed: {"checkedOut", "You were checked out."},
	access.Canceled:  {"canceled", "Your booking was cancelled."},
}

// planSteps maps an event about the stay's access to the kind and sentence of its step.
var planSteps = map[event.Kind][2]string{
	event.AccessIssued:  {"accessIssued", "Your code was sent on its way to your doors."},
	event.AccessUpdated: {"accessUpdated", "Your access was changed, and your doors are being updated."},
	event.AccessRemoved: {"accessRemoved", "Your code is gone from all doors."},
	event.AccessFailed:  {"accessFailed", "Your access could not be set up. " + desk},
}

// evidenceStep has the actor, kind and sentence of a step about new evidence.
type evidenceStep struct {
	actor    Actor
	kind     string
	sentence string
}

// evidenceSteps maps new evidence for a code on a lock to its step. slot.Used has none: the step of the opening shows the use.
var evidenceSteps = map[slot.Evidence]evidenceStep{
	slot.Sent:        {Bridge, "codeSent", "The hotel's bridge has your code for the lock of %."},
	slot.Accepted:    {Lock, "codeAccepted", "The lock of % took your code."},
	slot.Verified:    {Lock, "codeVerified", "Your code was seen in the lock of %."},
	slot.Unconfirmed: {Bridge, "codeUnconfirmed", "Whether the lock of % has your code is not known."},
	slot.Failed:      {Lock, "codeRefused", "The lock of % refused your code."},
	slot.Removing:    {Bridge, "codeRemoving", "Your code is being taken off the lock of %."},
	slot.Removed:     {Lock, "codeRemoved", "Your code is gone from the lock of %."},
}

// former returns the step for a lock that has left the door, or a code of a replaced grant. It has another kind, because it does
// not concern the door.
func (r evidenceStep) former(lock, code bool) evidenceStep {
	r.kind = "former" + strings.ToUpper(r.kind[:1]) + r.kind[1:]
	if code {
		r.sentence = strings.NewReplacer("Your code", "Your earlier code", "your code", "your earlier code").Replace(r.sentence)
	}
	if lock {
		r.sentence = strings.Replace(r.sentence, "lock of %", "lock that % had before", 1)
	}
	return r
}
