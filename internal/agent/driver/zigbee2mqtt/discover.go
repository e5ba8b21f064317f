package zigbee2mqtt

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"latchkey.dev/internal/lock/slot"
)

const (
	maxLocks = 256 // maximum number of locks of a bridge that the server accepts
	maxSlots = 1000

	// Defaults for what Zigbee2MQTT does not report for most locks: the number of slots and the length of PINs. The lock's Tuning overrides
	// them.
	defaultSlots  = 20
	defaultPINMin = 4
	defaultPINMax = 8
)

// Bits of a feature's access in Zigbee2MQTT's device list.
const (
	accessSet = 2
	accessGet = 4
)

// device is a device in Zigbee2MQTT's device list, bridge/devices.
type device struct {
	Address    string      `json:"ieee_address"`
	Name       string      `json:"friendly_name"`
	Disabled   bool        `json:"disabled"`
	Firmware   string      `json:"software_build_id"`
	Definition *definition `json:"definition"` // nil for a device that Zigbee2MQTT does not support
}

// definition is what Zigbee2MQTT knows about a model of device. Exposes are the features of the model.
type definition struct {
	Model   string    `json:"model"`
	Vendor  string    `json:"vendor"`
	Exposes []feature `json:"exposes"`
}

// feature is something that a device can report or be commanded to do, such as its state or pin_code.
type feature struct {
	Type     string    `json:"type"`
	Name     string    `json:"name"`
	Property string    `json:"property"`
	Access   int       `json:"access"`    // bits such as accessSet
	Max      *float64  `json:"value_max"` // largest value of a number; nil: not reported
	Features []feature `json:"features"`
}

// findFeature returns the first feature with a property name among some features and those nested in them, or nil. A feature without a
// property is found by its name.
func findFeature(in []feature, property string) *feature {
	for i := range in {
		if in[i].Property == property || (in[i].Property == "" && in[i].Name == property) {
			return &in[i]
		}
		if f := findFeature(in[i].Features, property); f != nil {
			return f
		}
	}
	return nil
}

// isLock reports whether a device is enabled and has a lock feature.
func (d device) isLock() bool {
	if d.Definition == nil || d.Disabled {
		return false
	}
	for _, f := range d.Definition.Exposes {
		if f.Type == "lock" {
			return true
		}
	}
	return false
}

// model returns the manufacturer and model of a device, for display. The device must have a definition, as each lock has.
func (d device) model() string {
	m := strings.TrimSpace(d.Definition.Vendor + " " + d.Definition.Model)
	if m == "" {
		return "Zigbee lock"
	}
	return m
}

// foundLock is a lock from Zigbee2MQTT's device list.
type foundLock struct {
	address, name, model, firmware string
	caps                           slot.Capabilities
}

// Tuning sets properties of a lock that Zigbee2MQTT does not know. Zero fields keep the defaults.
type Tuning struct {
	Slots          int // Slots means that users 1 to Slots can hold a code; 0: the default
	PINMin, PINMax int
	NoRead         bool // NoRead means that the lock never answers when a slot is read
}

// ParseTuning parses the settings of one lock, such as 0x00158d0001a2b3c4:slots=30,pin=4-8,read=no. At least one setting is required; those
// that are missing stay zero, which keeps the defaults.
func ParseTuning(s string) (address string, t Tuning, err error) {
	address, rest, ok := strings.Cut(s, ":")
	if !ok || !ieeeAddress.MatchString(address) {
		return "", t, fmt.Errorf("%q: want the lock's address as Zigbee2MQTT shows it (0x and 16 hex digits), a colon, and settings", s)
	}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "slots":
			if t.Slots, err = strconv.Atoi(value); err != nil || t.Slots < 1 || t.Slots > maxSlots {
				return "", t, fmt.Errorf("%q: slots are 1 to %d", part, maxSlots)
			}
		case "pin":
			shortest, longest, _ := strings.Cut(value, "-")
			t.PINMin, _ = strconv.Atoi(shortest)
			t.PINMax, _ = strconv.Atoi(longest)
			if t.PINMin < 1 || t.PINMax < t.PINMin || t.PINMax > 16 {
				return "", t, fmt.Errorf("%q: want the shortest and the longest PIN as 4-8", part)
			}
		case "read":
			if value != "yes" && value != "no" {
				return "", t, fmt.Errorf("%q: read is yes or no", part)
			}
			t.NoRead = value == "no"
		default:
			return "", t, fmt.Errorf("%q: settings are slots, pin and read", part)
		}
	}
	return address, t, nil
}

// discovery is the decoded device list of Zigbee2MQTT.
type discovery struct {
	locks   map[string]foundLock // locks by address
	refused []string             // reasons why devices with a lock were left out
}

// discover finds the locks in payload, Zigbee2MQTT's device list. It leaves out, with a reason, locks with an unusable name or address,
// duplicates, and those above maxLocks. showsPINs reports whether Zigbee2MQTT publishes the PINs of the lock at an address when they are
// read. lifetime is how long after its start an operation on any of the locks may still take effect.
func discover(payload []byte, tunings map[string]Tuning, showsPINs func(address string) bool, lifetime time.Duration) (discovery, error) {
	var devices []device
	if err := json.Unmarshal(payload, &devices); err != nil {
		return discovery{}, errors.New("bridge/devices is not a list of devices")
	}
	out := discovery{locks: map[string]foundLock{}}
	names := map[string]bool{}
	for _, d := range devices {
		if !d.isLock() {
			continue
		}
		why := checkName(d.Name)
		switch {
		case !ieeeAddress.MatchString(d.Address):
			why = errors.New("its address is not an IEEE address")
		case names[d.Name] || out.locks[d.Address].address != "":
			why = errors.New("another lock has its name or address")
		case len(out.locks) >= maxLocks:
			why = fmt.Errorf("one bridge drives %d locks at most", maxLocks)
		}
		if why != nil {
			out.refused = append(out.refused, fmt.Sprintf("lock %.80q (%.32q): %v", d.Name, d.Address, why))
			continue
		}
		names[d.Name] = true
		out.locks[d.Address] = foundLock{
			address: d.Address, name: d.Name, model: d.model(), firmware: d.Firmware,
			caps: d.capabilities(tunings[d.Address], showsPINs(d.Address), lifetime),
		}
	}
	return out, nil
}

// capabilities derives what a lock can do from its exposed features and the tuning t. showsPINs means that Zigbee2MQTT publishes the PINs
// of this lock when they are read. A lock without the feature pin_code holds no codes: its Kinds are empty. Zigbee2MQTT has no command for
// schedules, so the bridge enforces all validity windows. lifetime is how long after its start an operation may still take effect:
// OpLifetime.
func (d device) capabilities(t Tuning, showsPINs bool, lifetime time.Duration) slot.Capabilities {
	exposes := d.Definition.Exposes
	c := slot.Capabilities{Readable: slot.ReadableNone, Schedule: slot.ScheduleNone, OpLifetime: lifetime}
	if state := findFeature(exposes, "state"); state != nil {
		c.RemoteUnlock = state.Access&accessSet != 0
	}
	c.DoorSensor = findFeature(exposes, "door_state") != nil
	c.EventLog = findFeature(exposes, "action") != nil
	code := findFeature(exposes, "pin_code")
	if code == nil {
		return c // the lock cannot hold codes; perhaps it can be opened remotely
	}
	c.Kinds = []slot.CredentialKind{slot.KindPIN}
	c.Lockout = slot.LockoutSettable // not certain: SetLockout answers Unsupported if the lock lacks the lockout attributes
	c.PINMin, c.PINMax, c.Slots = defaultPINMin, defaultPINMax, defaultSlots
	if user := findFeature(code.Features, "user"); user != nil && user.Max != nil && *user.Max >= 1 {
		c.Slots = int(math.Min(*user.Max, maxSlots))
	}
	if t.Slots > 0 {
		c.Slots = t.Slots
	}
	if t.PINMax > 0 {
		c.PINMin, c.PINMax = t.PINMin, t.PINMax
	}
	// The pin_code feature itself reports whether it can be read. Older releases of Zigbee2MQTT do not report it: slots then count as
	// unreadable.
	if code.Access&accessGet != 0 && !t.NoRead {
		c.ReadBack, c.Readable = true, slot.ReadableMasked
		if showsPINs {
			c.Readable = slot.ReadableClear
		}
	}
	return c
}

// shownPINs decodes the message bridge/info. The returned function reports whether Zigbee2MQTT publishes the PINs of a device when they are
// read.
func shownPINs(payload []byte) (func(address string) bool, error) {
	type options struct {
		ExposePIN *bool `json:"expose_pin"`
	}
	var info struct {
		Config struct {
			Devices map[string]options `json:"devices"`
			All     options            `json:"device_options"`
		} `json:"config"`
	}
	if err := json.Unmarshal(payload, &info); err != nil {
		return nil, errors.New("bridge/info is malformed")
	}
	return func(address string) bool {
		own, all := info.Config.Devices[address].ExposePIN, info.Config.All.ExposePIN
		if own == nil {
			own = all
		}
		return own != nil && *own
	}, nil
}
