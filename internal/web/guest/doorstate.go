package guest

import (
	"slices"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// tone is how a guest should take what is said about a door.
type tone string

const (
	toneOK      tone = "ok"      // the code works
	toneInfo    tone = "info"    // the code is on its way
	toneUnknown tone = "unknown" // the code may work
	toneWarn    tone = "warn"    // there is no code
	toneBad     tone = "bad"     // the code does not open the door
)

// doorState is what a guest reads about a door.
type doorState struct {
	*guestv1.StayDoor
	Text string // the kind of the text
	Tone tone
	Mark string // a sign with the same meaning as the tone
}

// doorTexts are the texts for reasons why a door does not open, or may not.
var doorTexts = map[string]string{
	"noLock": "web.door.noLock", "noBridge": "web.door.noBridge", "bridgeRevoked": "web.door.bridgeRevoked", "spaceInactive": "web.door.noLock",
	"lockOffline": "web.door.lockOffline", "lockJammed": "web.door.lockJammed",
}

// stateOf decides what a guest reads about a door. begun means that the codes of the stay may open doors by now.
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
	return says("web.pin.unconfirmed", toneUnknown, "?") // the code is on the door, and something else may keep it shut
}

// doors returns the doors of the stay, without gates that have neither a code nor a problem.
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

func (d doorState) isSure() bool { return d.Tone == toneOK }

// Unsure returns the doors that the code may not open. They are shown before the code.
func (v keyView) Unsure() []doorState {
	return slices.DeleteFunc(slices.Clone(v.Doors), doorState.isSure)
}

// Sure returns the other doors.
func (v keyView) Sure() []doorState {
	return slices.DeleteFunc(slices.Clone(v.Doors), func(d doorState) bool { return !d.isSure() })
}

// Doubtful reports whether the code may not open the room. The page then shows it smaller than this state.
func (v keyView) Doubtful() bool {
	return slices.ContainsFunc(v.Unsure(), func(d doorState) bool { return d.GetKind() != "gate" })
}

// Call reports whether the guest should call the property if a door stays shut.
func (v keyView) Call() bool {
	return slices.ContainsFunc(v.Unsure(), func(d doorState) bool { return d.Tone != toneInfo })
}
