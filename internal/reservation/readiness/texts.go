package readiness

import (
	"fmt"
	"strings"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// fixTexts say what is wrong and what to do, for staff.
var fixTexts = map[string]string{
	space.RoomNotAssigned:  "The PMS has not assigned a room. Assign one there.",
	space.SpaceUnknown:     "The PMS named the room %s, which its listing does not have. Read getSpaces again, or correct the room in the PMS.",
	space.SpaceNotMapped:   "The PMS's room %s is not mapped to a space. Map it.",
	space.SpacesDisagree:   "The PMS named a bed, and a room that is not the bed's. The doors are those of the bed. Correct the reservation in the PMS.",
	space.BedNotAssigned:   "The PMS named a dorm without a bed: only the dorm's door opens. Assign a bed in the PMS.",
	space.SpaceInactive:    "The space is switched off. Switch it on, or assign another room in the PMS.",
	access.SpaceShared:     "Another stay is checked in to the same private space. Check whether one is a mistake.",
	access.FormerCode:      "A former code of this stay may still open a door, because a lock does not answer or refused the new code. The plan of the stay lists the doors.",
	access.NoLock:          "No electronic lock is on the door. Hand out a key, or put a lock on it.",
	lock.NoBridge:          "The lock has no bridge. Enrol one, or hand out a key.",
	lock.BridgeRevoked:     "The bridge of the lock was revoked. Enrol one, or hand out a key.",
	lock.LockOffline:       "The bridge cannot reach the lock. Check its battery and the distance, or hand out a key.",
	lock.SlotsFull:         "The lock has no free slot. Remove a code at the lock, or wait until one is cleared.",
	access.PINNotPossible:  "The lock takes no PIN that the property's rules allow. Change the PIN length, or hand out a key.",
	access.DuplicateOnLock: "The lock refuses every PIN as a duplicate. Check which codes it holds, then reset the PIN.",
	access.LockRefused:     "The lock refused the code: its slots say why. Reset the PIN, or hand out a key.",
	access.ClockUntrusted:  "The clock of the lock cannot be trusted. Set it, or wait until its bridge has.",
	slot.BrokerUnreachable: "The bridge has no connection to its MQTT broker and reaches none of the locks behind it. Start the broker, or hand out a key.",
	slot.GatewayOffline:    "Zigbee2MQTT does not run, so the bridge reaches none of the locks behind it. Start it, or hand out a key.",
	BridgeOffline:          "The bridge of the lock is not connected. Check its power and its network.",
	BatteryLow:             "The battery of the lock is low. Change it before the guest comes.",
	LockClockOff:           "The clock of the lock is off by more than two minutes. Its bridge corrects for it; set it when you are there.",
	BridgeClockOff:         "The clock of the bridge is off by more than two minutes: codes open early or late. Check its time service.",
	Guessable:              "Nothing slows the guessing of PINs at this lock: it has no verified lockout, and its keypad cannot be paused. Use PINs of 8 digits, or another lock.",
	LockJammed:             "The lock reports that it is jammed. Send a person to free its bolt.",
	CodeNotVerified:        "The lock has not confirmed the code yet. If that takes minutes, check the lock.",
	EndpointFailing:        "The PMS does not answer %s as agreed: rooms and guests may be out of date. Ask its vendor, then test the endpoint.",
	MappingConflict:        "The mapping of this room is in conflict with the PMS's listing. Resolve the conflict.",
}

func fixText(f Fix) string {
	t := fixTexts[f.Reason]
	switch f.Reason {
	case EndpointFailing:
		return fmt.Sprintf(t, f.subject)
	case space.SpaceUnknown, space.SpaceNotMapped:
		return fmt.Sprintf(t, fmt.Sprintf("%.64q", f.subject))
	}
	return t
}

// maxFixesInNotice bounds the fixes that a notice lists.
const maxFixesInNotice = 4

// noticeText is the notice of an arrival that became bad; number is its reservation number.
func noticeText(number string, from time.Time, zone *time.Location, v Verdict) string {
	var b strings.Builder
	what := "may not open to its guest"
	if v.Status == NotReady {
		what = "is not ready for its guest"
	}
	fmt.Fprintf(&b, "Stay %.64s, which begins %s, %s.", number, from.In(zone).Format("2006-01-02 15:04"), what)
	listed := 0
	for _, f := range v.Fixes {
		if f.Severity == Note {
			continue
		}
		if listed == maxFixesInNotice {
			b.WriteString(" There is more: see the arrivals.")
			break
		}
		listed++
		b.WriteByte(' ')
		if f.Door != "" {
			fmt.Fprintf(&b, "%.64s: ", f.Door)
		}
		b.WriteString(f.Text)
	}
	return b.String()
}
