package sim

import (
	"time"

	"latchkey.dev/internal/lock/slot"
)

// Profile describes a type of lock: its capabilities and its answers.
type Profile struct {
	Name         string
	Model        string
	Capabilities slot.Capabilities
	// Silent locks answer NotConfirmed when they refuse a code, without a reason. Zigbee2MQTT behaves like this, because it publishes
	// successes only.
	Silent bool
	// RefusesDuplicates means that the lock refuses a PIN that another slot holds.
	RefusesDuplicates bool
	// RefusesOccupied means that the lock refuses to overwrite an occupied slot without Setting.Replace.
	RefusesOccupied bool
	// Lockout is the factory setting of the lock's lockout; zero: the lock has none.
	Lockout slot.Lockout
}

// Names of the profiles. Each simulates the rules of a real protocol.
const (
	ZWave       = "zwave"       // Z-Wave User Code: PINs can be read, no validity windows
	ZWaveUser   = "zwaveUser"   // Z-Wave User Credential: reports duplicate and occupied, PINs can be read
	Matter      = "matter"      // Matter Door Lock: PINs cannot be read, year-day schedules
	Zigbee2MQTT = "zigbee2mqtt" // Zigbee2MQTT: no schedules, no reading, failures are not reported
	Nuki        = "nuki"        // Nuki keypad: six digits 1-9 that do not begin with 12, windows, PINs can be read
	TTLock      = "ttlock"      // TTLock: windows in minutes, PINs cannot be read
	Pausable    = "pausable"    // a keypad that the bridge can pause; the lock has no lockout
)

const lifetime = 2 * time.Second // operation lifetime of all profiles

// Profiles returns all lock profiles by name.
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
