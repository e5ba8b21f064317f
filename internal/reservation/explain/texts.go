package explain

import (
	"strings"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/space"
)

// ForStaff returns the variant for staff of a text of this package for the guest. An empty message stays empty.
func ForStaff(m message.Message) message.Message {
	if m.Kind != "" {
		m.Kind += ".staff"
	}
	return m
}

// wholeStay are the reasons that concern the whole stay, not one door.
var wholeStay = []access.Reason{
	space.SpaceInactive, space.SpaceUnknown, space.SpaceNotMapped, space.RoomNotAssigned, access.NotCheckedIn, access.NotFirm,
	access.CheckedOut, access.ReservationCanceled, access.WindowPast, access.WindowInFuture,
}

// textOf returns the guest's text for a reason, or an empty message if the reason has none.
func textOf(reason access.Reason) message.Message {
	m := message.Message{Kind: "reason." + string(reason)}
	if m.Check() != nil {
		return message.Message{}
	}
	return m
}

// adviceOn returns what staff can do about a reason, or an empty message if there is no advice.
func adviceOn(reason access.Reason) message.Message {
	m := message.Message{Kind: "reason." + string(reason) + ".staff"}
	if m.Check() != nil {
		return message.Message{}
	}
	return m
}

// stateSteps maps a new state of the reservation to the kind of step that shows it. Any other state is shown as "stateChanged".
var stateSteps = map[access.State]string{
	access.Started: "checkedIn", access.Confirmed: "confirmed", access.Processed: "checkedOut", access.Canceled: "canceled",
}

// planSteps maps an event about the stay's access to the kind of step that shows it.
var planSteps = map[event.Kind]string{
	event.AccessIssued: "accessIssued", event.AccessUpdated: "accessUpdated", event.AccessRemoved: "accessRemoved", event.AccessFailed: "accessFailed",
}

// evidenceStep is the actor and the kind of the step that shows an evidence.
type evidenceStep struct {
	actor Actor
	kind  string
}

// evidenceSteps maps new evidence for a code on a lock to the step that shows it. slot.Used has none, because the
// step of the opened door shows the use.
var evidenceSteps = map[slot.Evidence]evidenceStep{
	slot.Sent:        {Bridge, "codeSent"},
	slot.Accepted:    {Lock, "codeAccepted"},
	slot.Verified:    {Lock, "codeVerified"},
	slot.Unconfirmed: {Bridge, "codeUnconfirmed"},
	slot.Failed:      {Lock, "codeRefused"},
	slot.Removing:    {Bridge, "codeRemoving"},
	slot.Removed:     {Lock, "codeRemoved"},
}

// stepText returns the text of a kind of step that has no parameters.
func stepText(kind string) message.Message { return message.Message{Kind: "step." + kind} }

// doorParam returns the parameter of a text for a door: its name, or a text for a door without a name.
func doorParam(name string) any {
	if name == "" {
		return message.Message{Kind: "door.unnamed"}
	}
	return name
}

// evidenceText returns the text of a step about new evidence. formerLock means that the lock has left the door since,
// formerCode that the code belongs to a replaced grant.
func evidenceText(kind, door string, formerLock, formerCode bool) message.Message {
	which := message.Message{Kind: "lock.of", Params: message.Params{"door": doorParam(door)}}
	if formerLock {
		which.Kind = "lock.before"
	}
	if formerCode {
		kind = "earlierCode" + strings.TrimPrefix(kind, "code")
	}
	return message.Message{Kind: "step." + kind, Params: message.Params{"lock": which}}
}
