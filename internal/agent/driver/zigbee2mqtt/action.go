package zigbee2mqtt

import (
	"strings"

	"latchkey.dev/internal/agent/driver"
)

// programming is what the lock says about its own codes. User is nil if it does not say whose.
type programming struct {
	user    *uint32
	gone    bool // cleared; else stored
	foreign bool // not over the radio: somebody did it at the lock
}

// programmed reads an action that tells of a PIN stored or cleared.
func programmed(r report) (programming, bool) {
	p := programming{user: r.user, foreign: r.source != "rf"}
	switch r.action {
	case "pin_code_added", "pin_code_changed":
		return p, true
	case "pin_code_deleted":
		p.gone = true
		return p, true
	}
	return programming{}, false
}

// happened turns an action into an event of ours; ok is false for actions that tell nothing of use:
// what we did ourselves over the radio, and what the lock did by itself.
func happened(r report, slots int) (e driver.Event, ok bool) {
	number := uint32(0)
	if r.user != nil && *r.user >= 1 && int(*r.user) <= slots {
		number = *r.user
	}
	if p, yes := programmed(r); yes {
		return driver.Event{Kind: driver.SlotChanged, Slot: number}, p.foreign
	}
	what, source := r.action, r.source
	// Some makers name the source in the action: keypad_unlock, zigbee_lock.
	for _, verb := range []string{"unlock", "lock"} {
		if before, found := strings.CutSuffix(what, "_"+verb); found {
			what, source = verb, before
		}
	}
	switch what {
	case "unlock":
		return unlocked(source, number)
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

func unlocked(source string, number uint32) (driver.Event, bool) {
	switch source {
	case "keypad":
		return driver.Event{Kind: driver.Opened, Slot: number}, true
	case "rfid", "fingerprint", "bluetooth": // their users are counted apart from those of PINs
		return driver.Event{Kind: driver.Opened}, true
	}
	return driver.Event{Kind: driver.UnlockedByHand}, byHand(source)
}

func byHand(source string) bool {
	return source == "manual" || source == "key" || source == "one_touch"
}
