package zigbee2mqtt

import (
	"strings"

	"latchkey.dev/internal/agent/driver"
)

// codeChange is a lock's report that a code was stored or cleared. user is nil if the lock does not report the slot.
type codeChange struct {
	user    *uint32
	cleared bool // the code was cleared; otherwise stored
	atLock  bool // the code was changed at the lock itself, not over the radio, or the lock does not report how
}

// codeChangeOf returns the stored or cleared code that a lock reports. The second result is false if the report is about something else.
func codeChangeOf(r report) (codeChange, bool) {
	p := codeChange{user: r.user, atLock: r.source != "rf"}
	switch r.action {
	case "pin_code_added", "pin_code_changed":
		return p, true
	case "pin_code_deleted":
		p.cleared = true
		return p, true
	}
	return codeChange{}, false
}

// eventOf converts the action in a lock's report to an event. slots is the lock's number of slots; user 0 and a user number above slots
// count as unknown. ok is false for a report without an event: it has no action or an unknown one, or the action is the bridge's own
// command or something that the lock does automatically.
func eventOf(r report, slots int) (e driver.Event, ok bool) {
	number := uint32(0)
	if r.user != nil && *r.user >= 1 && int(*r.user) <= slots {
		number = *r.user
	}
	if p, yes := codeChangeOf(r); yes {
		return driver.Event{Kind: driver.SlotChanged, Slot: number}, p.atLock
	}
	what, source := r.action, r.source
	// Some manufacturers put the source into the action: keypad_unlock, zigbee_lock.
	for _, verb := range []string{"unlock", "lock"} {
		if before, found := strings.CutSuffix(what, "_"+verb); found {
			what, source = verb, before
		}
	}
	switch what {
	case "unlock":
		return unlockEvent(source, number)
	case "lock":
		return driver.Event{Kind: driver.LockedByHand}, byHand(source) || source == "keypad"
	case "unlock_failure_invalid_pin_or_id":
		return driver.Event{Kind: driver.Denied, Reason: driver.WrongPIN}, true
	case "unlock_failure_invalid_schedule":
		return driver.Event{Kind: driver.Denied, Slot: number, Reason: "outsideWindow"}, true
	case "non_access_user_operational_event":
		return driver.Event{Kind: driver.Denied, Slot: number, Reason: "notAllowed"}, true
	case "master_code_changed", "rfid_code_added", "rfid_code_deleted":
		return driver.Event{Kind: driver.Tampered, Reason: what}, true
	}
	return driver.Event{}, false
}

// unlockEvent returns the event of an unlocked lock. source is the means, such as keypad or manual; number is the slot of the PIN. The
// second result is false for a remote or automatic unlock.
func unlockEvent(source string, number uint32) (driver.Event, bool) {
	switch source {
	case "keypad":
		return driver.Event{Kind: driver.Opened, Slot: number}, true
	case "rfid", "fingerprint", "bluetooth": // these users are numbered separately from the slots of PINs
		return driver.Event{Kind: driver.Opened}, true
	}
	return driver.Event{Kind: driver.UnlockedByHand}, byHand(source)
}

// byHand reports whether an action has its source at the door: the thumb turn, a key or a button.
func byHand(source string) bool {
	return source == "manual" || source == "key" || source == "one_touch"
}
