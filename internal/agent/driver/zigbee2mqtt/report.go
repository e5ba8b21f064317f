package zigbee2mqtt

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"latchkey.dev/internal/lock/slot"
)

const maxReport = 256 << 10 // maximum size of a state message in bytes

// report is a decoded state message. Zigbee2MQTT repeats all known values of a device in every message, so a value is new only if it
// differs from the previous message.
type report struct {
	bolt     string // bolt as in driver.Status; "" if missing
	door     string // door state as Zigbee2MQTT writes it; "" if missing
	battery  *uint32
	low      *bool
	tamper   *bool
	action   string
	source   string          // source of the action, such as keypad; "" if missing
	user     *uint32         // user of the action; nil: not reported
	users    map[uint32]user // slots that the lock shows, by number; nil: none
	saved    string          // time of the last successful storing of a PIN, as text; "" if missing
	cleared  string          // time of the last successful clearing of a PIN, as text; "" if missing
	lastSeen time.Time
	lockout  *slot.Lockout // lockout as last read; nil: the message has none
}

// user is one code slot as a lock shows it.
type user struct {
	status string
	pin    slot.PIN // PIN; empty if the lock does not show it
}

// isPresent reports whether the slot is in use. A disabled user is present, but its code does not open the door.
func (u user) isPresent() bool { return u.status == "enabled" || u.status == "disabled" }

// isEmpty reports whether the lock says that the slot holds no code.
func (u user) isEmpty() bool { return u.status == "available" }

// isKnown reports whether the status is one of the known values.
func (u user) isKnown() bool { return u.isPresent() || u.isEmpty() }

// parseState decodes a lock's state message. It skips fields of an unexpected type, because devices differ. The second result is false if
// the message is no JSON object or is larger than maxReport.
func parseState(payload []byte) (report, bool) {
	if len(payload) > maxReport {
		return report{}, false
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(payload, &raw) != nil || raw == nil {
		return report{}, false
	}
	r := report{
		bolt: parseBolt(fieldOrZero[string](raw, "lock_state"), fieldOrZero[string](raw, "state")), door: fieldOrZero[string](raw, "door_state"),
		low: optionalField[bool](raw, "battery_low"), tamper: optionalField[bool](raw, "tamper"),
		action: fieldOrZero[string](raw, "action"), source: fieldOrZero[string](raw, "action_source_name"),
		saved: timestampText(raw["last_successful_pincode_save"]), cleared: timestampText(raw["last_successful_pincode_clear"]),
		lastSeen: parseLastSeen(raw["last_seen"]), lockout: parseLockout(raw[lockoutProperty]),
	}
	if b := optionalField[float64](raw, "battery"); b != nil && *b >= 0 && *b <= 100 {
		percent := uint32(*b)
		r.battery = &percent
	}
	if n := optionalField[float64](raw, "action_user"); n != nil && *n >= 0 && *n < 1<<31 {
		number := uint32(*n)
		r.user = &number
	}
	r.users = parseUsers(raw["users"])
	return r, true
}

// optionalField decodes a field of a JSON object; nil if it is missing, null or of another type.
func optionalField[T any](raw map[string]json.RawMessage, name string) *T {
	var v *T
	if json.Unmarshal(raw[name], &v) != nil {
		return nil
	}
	return v
}

// fieldOrZero decodes a field of a JSON object; the zero value if it is missing or of another type.
func fieldOrZero[T any](raw map[string]json.RawMessage, name string) (out T) {
	if v := optionalField[T](raw, name); v != nil {
		return *v
	}
	return out
}

// parseBolt returns the state of the bolt as in driver.Status, or "" if it is unknown. lock_state is more exact than state, but not every
// lock has it.
func parseBolt(lockState, state string) string {
	switch lockState {
	case "locked", "unlocked":
		return lockState
	case "not_fully_locked":
		return "notFullyLocked"
	}
	switch state {
	case "LOCK":
		return "locked"
	case "UNLOCK":
		return "unlocked"
	}
	return ""
}

// timestampText returns a timestamp of any JSON type as text, for comparison only; "" for null or a missing one.
func timestampText(raw json.RawMessage) string {
	s := strings.Trim(string(raw), `"`)
	if s == "null" {
		return ""
	}
	return s
}

// parseLastSeen decodes last_seen in any format that Zigbee2MQTT can be set to; zero if it is missing or malformed.
func parseLastSeen(raw json.RawMessage) time.Time {
	s := timestampText(raw)
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil && ms > 0 {
		return time.UnixMilli(ms)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05-0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	return time.Time{}
}

// parseUsers decodes the slots that a lock shows, by slot number, at most maxSlots; nil if it shows none.
func parseUsers(raw json.RawMessage) map[uint32]user {
	var in map[string]struct {
		Status string          `json:"status"`
		PIN    json.RawMessage `json:"pin_code"`
	}
	if json.Unmarshal(raw, &in) != nil || len(in) == 0 {
		return nil
	}
	out := make(map[uint32]user, min(len(in), maxSlots))
	for key, u := range in {
		n, err := strconv.ParseUint(key, 10, 32)
		if err != nil || len(out) >= maxSlots {
			continue
		}
		out[uint32(n)] = user{u.Status, parsePIN(u.PIN)}
	}
	return out
}

// parsePIN decodes a PIN, which is text or, in some releases, a list of bytes. It returns "" for a number, whose leading zeros are lost,
// and for any other form.
func parsePIN(raw json.RawMessage) slot.PIN {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return slot.PIN(text)
	}
	var buffer struct {
		Data []int `json:"data"`
	}
	var bytes []int
	if json.Unmarshal(raw, &bytes) != nil {
		if json.Unmarshal(raw, &buffer) != nil {
			return ""
		}
		bytes = buffer.Data
	}
	digits := make([]byte, 0, len(bytes))
	for _, b := range bytes {
		if b < '0' || b > '9' {
			return ""
		}
		digits = append(digits, byte(b))
	}
	return slot.PIN(digits)
}
