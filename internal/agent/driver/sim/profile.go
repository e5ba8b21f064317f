package sim

import (
	"time"

	"latchkey.dev/internal/lock/slot"
)

// Profile is a kind of lock: what it can do and how it answers.
type Profile struct {
	Name         string
	Model        string
	Capabilities slot.Capabilities
	// Silent locks never report why they refused, as behind Zigbee2MQTT, which publishes successes only.
	Silent bool
	// RefusesDuplicates means that the lock refuses a PIN that another slot holds.
	RefusesDuplicates bool
	// RefusesOccupied means that the lock refuses to overwrite a slot that is in use.
	RefusesOccupied bool
	// Lockout is the lockout of a new lock.
	Lockout slot.Lockout
}

// The names of the profiles. Each follows the rules of a protocol.
const (
	ZWave       = "zwave"       // User Code CC: PINs readable in clear, no schedule per user
	ZWaveUser   = "zwaveUser"   // User Credential CC: says duplicate and occupied, PINs readable in clear
	Matter      = "matter"      // Door Lock cluster: PINs write-only, year-day schedules
	Zigbee2MQTT = "zigbee2mqtt" // no schedule, no reading, failures are silent
	Nuki        = "nuki"        // keypad: exactly six digits 1-9, not beginning with 12, windows, readable
	TTLock      = "ttlock"      // custom passcodes: windows by the minute, not readable
	Pausable    = "pausable"    // a keypad that can be paused; no lockout of its own
)

const lifetime = 2 * time.Second

// Profiles returns all profiles by name.
func Profiles() map[string]Profile {
	pin := []slot.CredentialKind{slot.KindPIN}
	all := []Profile{
		{Name: ZWave, Model: "Simulated Z-Wave lock", RefusesDuplicates: true, Capabilities: slot.Capabilities{
			PINMin: 4, PINMax: 10, Slots: 30, Readable: slot.ReadableClear, Schedule: slot.ScheduleNone,
			RemoteUnlock: true, DoorSensor: true, EventLog: true, ReadBack: true, Kinds: pin, OpLifetime: lifetime,
		}},
		{Name: ZWaveUser, Model: "Simulated Z-Wave lock with user credentials", RefusesDuplicates: true, RefusesOccupied: true, Lockout: slot.Lockout{Attempts: 3, Pause: 10 * time.Second}, Capabilities: slot.Capabilities{
			Lockout: slot.LockoutSettable,
			PINMin:  4, PINMax: 10, Slots: 50, Readable: slot.ReadableClear, Schedule: slot.ScheduleNone,
			RemoteUnlock: true, DoorSensor: true, EventLog: true, ReadBack: true, Kinds: pin, OpLifetime: lifetime,
		}},
		{Name: Matter, Model: "Simulated Matter lock", RefusesDuplicates: true, RefusesOccupied: true, Lockout: slot.Lockout{Attempts: 3, Pause: 10 * time.Second}, Capabilities: slot.Capabilities{
			Lockout: slot.LockoutSettable,
			PINMin:  4, PINMax: 8, Slots: 20, Readable: slot.ReadableMasked, Schedule: slot.ScheduleWindow, Granularity: time.Second,
			TimeBase: slot.TimeLocal, RemoteUnlock: true, DoorSensor: true, ReadBack: true, Kinds: pin, OpLifetime: lifetime,
		}},
		{Name: Zigbee2MQTT, Model: "Simulated Zigbee lock", Silent: true, Capabilities: slot.Capabilities{
			PINMin: 4, PINMax: 8, Slots: 20, Readable: slot.ReadableNone, Schedule: slot.ScheduleNone,
			RemoteUnlock: true, Kinds: pin, OpLifetime: lifetime,
		}},
		{Name: Nuki, Model: "Simulated Nuki keypad", RefusesDuplicates: true, RefusesOccupied: true, Lockout: slot.Lockout{Attempts: 5, Pause: time.Minute}, Capabilities: slot.Capabilities{
			Lockout: slot.LockoutFixed,
			PINMin:  6, PINMax: 6, Alphabet: "123456789", ForbiddenPrefixes: []string{"12"}, Slots: 100,
			Readable: slot.ReadableClear, Schedule: slot.ScheduleWindow, Granularity: time.Minute, TimeBase: slot.TimeUTC,
			RemoteUnlock: true, EventLog: true, ReadBack: true, Kinds: pin, OpLifetime: lifetime,
		}},
		{Name: TTLock, Model: "Simulated TTLock", RefusesDuplicates: true, Capabilities: slot.Capabilities{
			PINMin: 4, PINMax: 9, Slots: 150, Readable: slot.ReadableNone, Schedule: slot.ScheduleWindow, Granularity: time.Minute,
			TimeBase: slot.TimeUTC, RemoteUnlock: true, EventLog: true, Kinds: pin, OpLifetime: lifetime,
		}},
		{Name: Pausable, Model: "Simulated keypad that can be paused", RefusesDuplicates: true, Capabilities: slot.Capabilities{
			PINMin: 4, PINMax: 10, Slots: 30, Readable: slot.ReadableClear, Schedule: slot.ScheduleNone, KeypadPause: true,
			RemoteUnlock: true, DoorSensor: true, EventLog: true, ReadBack: true, Kinds: pin, OpLifetime: lifetime,
		}},
	}
	out := make(map[string]Profile, len(all))
	for _, p := range all {
		out[p.Name] = p
	}
	return out
}
