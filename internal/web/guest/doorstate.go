package guest

import (
	"slices"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// tone is the severity with which a page shows the state of a door.
type tone string

const (
	toneOK      tone = "ok"      // the code works
	toneInfo    tone = "info"    // the code is being put on the lock
	toneUnknown tone = "unknown" // it is not known whether the code works
	toneWarn    tone = "warn"    // there is no code
	toneBad     tone = "bad"     // the code does not open the door
)

// doorState is the state of a door as the guest reads it.
type doorState struct {
	*guestv1.StayDoor
	Text string // kind of the message about the state
	Tone tone
	Mark string // symbol with the meaning of Tone, for readers who do not see colors
}

// doorTexts maps reasons why a door does not open, or possibly does not open, to their message kinds. For another reason, the page shows
// the state of the code: see stateOf.
var doorTexts = map[string]string{
	"noLock": "web.door.noLock", "noBridge": "web.door.noBridge", "bridgeRevoked": "web.door.bridgeRevoked", "spaceInactive": "web.door.noLock",
	"lockOffline": "web.door.lockOffline", "lockJammed": "web.door.lockJammed",
}

// stateOf returns the state of a door as the guest reads it. Without a code on the lock, a reason in doorTexts makes the state a warning or
// bad. With one, only lockJammed does, and other reasons that may keep the door shut make the state unknown. begun means that the window
// has begun in which the stay's codes open doors.
func stateOf(d *guestv1.StayDoor, begun bool) doorState {
	pin, reason := d.GetPin(), d.GetReason()
	onDoor := slices.Contains([]string{"accepted", "verified", "used"}, pin)
	says := func(text string, t tone, mark string) doorState {
		return doorState{StayDoor: d, Text: text, Tone: t, Mark: mark}
	}
	text, known := doorTexts[reason]
	if !known {
		text = "web.pin." + pin
	}
	switch {
	case pin == "" && !known:
		return says("web.door.noLock", toneWarn, "○")
	case pin == "":
		return says(text, toneWarn, "○")
	case pin == "failed" || reason == "lockJammed" || known && !onDoor:
		return says(text, toneBad, "✕")
	case pin == "unconfirmed":
		return says(text, toneUnknown, "?")
	case !onDoor:
		return says(text, toneInfo, "○")
	case reason == "movingOut":
		return says("web.door.movingOut", toneOK, "●")
	case slices.Contains([]string{"", "ownPin", "windowInFuture"}, reason) && pin == "verified" && !begun:
		return says("web.pin.from", toneOK, "●")
	case slices.Contains([]string{"", "ownPin", "windowInFuture"}, reason) && pin == "accepted":
		return says(text, toneOK, "◐")
	case reason == "" || reason == "ownPin":
		return says(text, toneOK, "●")
	}
	return says("web.pin.unconfirmed", toneUnknown, "?") // the lock has the code, but another reason may keep the door shut
}

// doors returns the states of the stay's doors. Gates, the doors that several rooms share, are left out if they have neither a code nor a
// problem. Without OpensAt, the window of the codes counts as begun.
func (x *exchange) doors() []doorState {
	begun := !x.flow.Stay.GetOpensAt().AsTime().After(x.site.Now())
	var out []doorState
	for _, d := range x.flow.Stay.GetDoors() {
		if d.GetKind() != "gate" || d.GetPin() != "" || d.GetReason() != "" {
			out = append(out, stateOf(d, begun))
		}
	}
	return out
}

// isSure reports whether the code certainly opens the door, now or as soon as its time begins.
func (d doorState) isSure() bool { return d.Tone == toneOK }

// Unsure returns the doors that the code does not open, or possibly not. The page shows them before the code.
func (v pinView) Unsure() []doorState {
	return slices.DeleteFunc(slices.Clone(v.Doors), doorState.isSure)
}

// Sure returns the doors that the code certainly opens, see isSure.
func (v pinView) Sure() []doorState {
	return slices.DeleteFunc(slices.Clone(v.Doors), func(d doorState) bool { return !d.isSure() })
}

// Doubtful reports whether the code does not open a door of the room, or possibly not. The page then shows the code smaller than the state
// of the door.
func (v pinView) Doubtful() bool {
	return slices.ContainsFunc(v.Unsure(), func(d doorState) bool { return d.GetKind() != "gate" })
}

// Call reports whether the page advises the guest to phone the property: if the code possibly does not open a door, for another reason than
// that it is still being put on the lock.
func (v pinView) Call() bool {
	return slices.ContainsFunc(v.Unsure(), func(d doorState) bool { return d.Tone != toneInfo })
}
