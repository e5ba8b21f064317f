package z2mtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Lock is a virtual lock behind Zigbee2MQTT.
type Lock struct {
	Address string // 0x and 16 hex digits
	Name    string // friendly name
	Users   int    // pinCodeCount: users 0 to Users-1
	// ReportsSuccessTimes makes it publish last_successful_pincode_save and last_successful_pincode_clear.
	ReportsSuccessTimes bool
	// ReportsCodeChanges makes it report codes that were stored or cleared over the radio as actions.
	ReportsCodeChanges bool
	// Unreadable means that slots cannot be read, and that Zigbee2MQTT exposes this.
	Unreadable bool
	// ExposePIN is Zigbee2MQTT's option of that name.
	ExposePIN bool
	// Lockout makes the lock support the attributes of a lockout after wrong PINs.
	Lockout bool
	// NoCodes is a lock without pin_code.
	NoCodes bool
	// Retain is Zigbee2MQTT's option of that name.
	Retain bool
}

// code is the code in a user slot of a lock.
type code struct {
	pin    string
	status string // status is what the lock shows; only with codeEnabled does the code open
}

const (
	codeEnabled  = "enabled"
	codeDisabled = "disabled"
)

// fault is a fault of the next command to a lock.
type fault struct {
	lost   bool   // never reaches the lock; nothing is published
	mute   bool   // takes effect; nothing is published
	logged string // fails with this error in Zigbee2MQTT's log
}

// virtualLock is the state of a virtual lock and its last published values.
type virtualLock struct {
	Lock
	codes        map[int]code
	bolt         string
	state        map[string]any // what every message repeats
	faults       []fault
	ignoresReads bool // the lock does not answer "get" requests
	unlocks      int  // over the radio
	limit        lockout
}

// lockout is the lockout of a lock after wrong PINs.
type lockout struct {
	Limit       int `json:"wrongCodeEntryLimit"`
	Seconds     int `json:"userCodeTemporaryDisableTime"`
	wrong       int
	closedUntil time.Time
	fixed       bool // fixed means that the lock ignores writes
}

// recordPIN counts wrong PINs in a row, and closes the keypad at the limit.
func (l *lockout) recordPIN(opened bool, now time.Time) {
	l.wrong++
	if opened {
		l.wrong = 0
	}
	if l.Limit > 0 && l.wrong >= l.Limit {
		l.wrong, l.closedUntil = 0, now.Add(time.Duration(l.Seconds)*time.Second)
	}
}

// accessLockout executes Zigbee2MQTT's command "read" or "write", which is verb, for the attributes of the lockout. It returns what the
// lock reports.
func (v *virtualLock) accessLockout(verb string, raw json.RawMessage) (reported map[string]any, err error) {
	var c struct {
		Cluster    string   `json:"cluster"`
		Attributes []string `json:"attributes"`
		Property   string   `json:"state_property"`
		Payload    lockout  `json:"payload"`
	}
	if err := json.Unmarshal(raw, &c); err != nil || c.Cluster != "closuresDoorLock" {
		//lint:ignore ST1005 Zigbee2MQTT sends these words
		return nil, fmt.Errorf("Error: unknown cluster")
	}
	if !v.Lockout {
		//lint:ignore ST1005 Zigbee2MQTT sends these words
		return nil, fmt.Errorf("Error: ZCL command %s closuresDoorLock failed (Status 'UNSUPPORTED_ATTRIBUTE')", verb)
	}
	if verb == "write" && v.limit.fixed {
		return nil, nil
	}
	if verb == "write" {
		v.limit.Limit, v.limit.Seconds = c.Payload.Limit, c.Payload.Seconds
		return nil, nil
	}
	shown := map[string]any{}
	for _, name := range c.Attributes {
		switch name {
		case "wrongCodeEntryLimit":
			shown[name] = v.limit.Limit
		case "userCodeTemporaryDisableTime":
			shown[name] = v.limit.Seconds
		}
	}
	return map[string]any{c.Property: shown}, nil
}

// newVirtual returns a lock with factory settings.
func newVirtual(l Lock) *virtualLock {
	return &virtualLock{Lock: l, codes: map[int]code{}, bolt: "locked", limit: factoryLockout(l), state: map[string]any{"state": "LOCK", "lock_state": "locked", "battery": 80}}
}

// factoryLockout returns the lockout with which a lock is delivered.
func factoryLockout(l Lock) lockout {
	if !l.Lockout {
		return lockout{}
	}
	return lockout{Limit: 10, Seconds: 20}
}

// description returns the lock's entry in bridge/devices.
func (v *virtualLock) description() map[string]any {
	exposes := []any{
		map[string]any{"type": "lock", "features": []any{
			map[string]any{"type": "binary", "name": "state", "property": "state", "access": 7},
			map[string]any{"type": "enum", "name": "lock_state", "property": "lock_state", "access": 1},
		}},
		map[string]any{"type": "numeric", "name": "battery", "property": "battery", "access": 1},
		map[string]any{"type": "enum", "name": "action", "property": "action", "access": 1},
	}
	if !v.NoCodes {
		access := 7
		if v.Unreadable {
			access = 3
		}
		exposes = append(exposes, map[string]any{"type": "composite", "name": "pin_code", "property": "pin_code", "access": access, "features": []any{
			map[string]any{"type": "numeric", "name": "user", "property": "user", "access": 2},
			map[string]any{"type": "enum", "name": "user_type", "property": "user_type", "access": 2},
			map[string]any{"type": "binary", "name": "user_enabled", "property": "user_enabled", "access": 2},
			map[string]any{"type": "numeric", "name": "pin_code", "property": "pin_code", "access": 2},
		}})
	}
	return map[string]any{
		"ieee_address": v.Address, "friendly_name": v.Name, "type": "EndDevice", "software_build_id": "1.2",
		"definition": map[string]any{"vendor": "Maker", "model": "M1", "exposes": exposes},
	}
}

// pinCode is Zigbee2MQTT's command pin_code.
type pinCode struct {
	User    *int            `json:"user"`
	Enabled *bool           `json:"user_enabled"`
	PIN     json.RawMessage `json:"pin_code"`
}

// setPINCode executes the command pin_code. It returns what the lock reports, or the error that Zigbee2MQTT logs.
func (v *virtualLock) setPINCode(raw json.RawMessage, now time.Time) (reported map[string]any, err error) {
	var c pinCode
	if err := json.Unmarshal(raw, &c); err != nil || c.User == nil || *c.User < 0 || *c.User >= v.Users {
		//lint:ignore ST1005 Zigbee2MQTT sends these words
		return nil, fmt.Errorf("Error: user must be in range for device")
	}
	if len(c.PIN) == 0 || string(c.PIN) == "null" {
		delete(v.codes, *c.User)
		return v.confirmation("last_successful_pincode_clear", "pin_code_deleted", *c.User, now), nil
	}
	// Zigbee2MQTT accepts numbers too, which have lost their leading zeros.
	digits, err := strconv.Unquote(string(c.PIN))
	if err != nil {
		digits = string(c.PIN)
	}
	if len(digits) < 4 || len(digits) > 8 {
		return nil, nil // the lock refuses, and reports nothing
	}
	status := codeEnabled
	if c.Enabled != nil && !*c.Enabled {
		status = codeDisabled
	}
	v.codes[*c.User] = code{digits, status}
	return v.confirmation("last_successful_pincode_save", "pin_code_added", *c.User, now), nil
}

// confirmation returns what the lock reports after a change of a code, as far as it reports changes. stamp and action are the names in
// the message.
func (v *virtualLock) confirmation(stamp, action string, user int, now time.Time) map[string]any {
	out := map[string]any{}
	if v.ReportsSuccessTimes {
		out[stamp] = now.UnixNano() / 1e3
	}
	if v.ReportsCodeChanges {
		out["action"], out["action_user"], out["action_source_name"] = action, user, "rf"
	}
	return out
}

// readUser reads a user slot, as a "get" request does, and returns the values that the lock reports, with all slots read before.
func (v *virtualLock) readUser(user int) map[string]any {
	held, used := v.codes[user]
	shown := map[string]any{"status": "available"}
	if used {
		shown["status"] = held.status
	}
	if used && v.ExposePIN {
		shown["pin_code"] = held.pin
	}
	users, _ := v.state["users"].(map[string]any)
	if users == nil {
		users = map[string]any{}
		v.state["users"] = users
	}
	users[strconv.Itoa(user)] = shown
	return map[string]any{}
}
