package schema

import "time"

// LockStatus is what was last reported about a lock.
type LockStatus struct {
	Bolt              string     `json:"bolt,omitempty"`
	Door              string     `json:"door,omitempty"`
	BatteryPercent    *int       `json:"batteryPercent,omitempty"`
	BatteryObservedAt *time.Time `json:"batteryObservedAt,omitempty"`
	Online            bool       `json:"online"`
	OfflineCause      string     `json:"offlineCause,omitempty"`      // why its bridge reaches no lock; empty: the lock itself is offline
	OfflineCauseSince *time.Time `json:"offlineCauseSince,omitempty"` // when the server first received this cause
	RSSI              *int       `json:"rssi,omitempty"`
	LastSeenAt        *time.Time `json:"lastSeenAt,omitempty"`
	ClockOffsetMS     *int64     `json:"clockOffsetMs,omitempty"`
	ClockObservedAt   *time.Time `json:"clockObservedAt,omitempty"`
	Firmware          string     `json:"firmware,omitempty"`
	LockoutAttempts   int        `json:"lockoutAttempts,omitempty"` // as last read back from the lock; 0: it was not
	LockoutSeconds    int        `json:"lockoutSeconds,omitempty"`
	KeypadPausedUntil *time.Time `json:"keypadPausedUntil,omitempty"`
}
