package slot

import (
	"strings"
	"time"
)

// Readable says what a lock shows when a slot is read.
type Readable string

// What reading a slot shows.
const (
	ReadableNone   Readable = "none"   // slots cannot be read
	ReadableMasked Readable = "masked" // only whether the slot is used
	ReadableClear  Readable = "clear"  // the PIN itself
)

// Schedule says which time windows a lock keeps by itself.
type Schedule string

// The schedules.
const (
	ScheduleNone   Schedule = "none"   // the bridge sets and removes on time
	ScheduleWindow Schedule = "window" // one window from an instant to an instant
	ScheduleWeekly Schedule = "weekly" // hours by weekday only, which a stay cannot use
)

// TimeBase says in which time zone a lock keeps its native schedule.
type TimeBase string

// The time bases.
const (
	TimeUTC   TimeBase = "utc"
	TimeLocal TimeBase = "local" // local time at the lock; the driver converts
)

// CredentialKind is a kind of credential that a slot can hold.
type CredentialKind string

// The credential kinds.
const (
	KindPIN         CredentialKind = "pin"
	KindCard        CredentialKind = "card"
	KindFingerprint CredentialKind = "fingerprint"
	KindFace        CredentialKind = "face"
	KindSmartKey    CredentialKind = "smartKey"
)

// LockoutControl says whether a bridge can set a lock's own lockout after wrong PINs.
type LockoutControl string

// The values of LockoutControl.
const (
	LockoutNone     LockoutControl = "none"     // the lock has no lockout
	LockoutFixed    LockoutControl = "fixed"    // it has one, which can neither be set nor read
	LockoutSettable LockoutControl = "settable" // it has one, which can be set and read back
)

// Lockout is a lock's own limit on wrong PINs: after Attempts of them in a row the keypad refuses every PIN for Pause. The zero
// value means that there is none.
type Lockout struct {
	Attempts int
	Pause    time.Duration
}

// DesiredLockout is the lockout that bridges set. Matter and Zigbee allow at most 254 s.
var DesiredLockout = Lockout{Attempts: 5, Pause: 4 * time.Minute}

// The weakest lockout that counts as one.
const (
	mostLockoutAttempts = 10
	leastLockoutPause   = 30 * time.Second
)

// Effective reports whether a lockout slows guessing enough to count.
func (l Lockout) Effective() bool {
	return l.Attempts >= 1 && l.Attempts <= mostLockoutAttempts && l.Pause >= leastLockoutPause
}

// DefaultOpLifetime is the lifetime of operations if the driver names none.
const DefaultOpLifetime = 30 * time.Second

// Capabilities describe what a lock can do, as its driver reports. The server stores them in JSON by the names of the fields.
type Capabilities struct {
	PINMin, PINMax    int    // characters
	Alphabet          string // allowed characters; empty means 0123456789
	ForbiddenPrefixes []string
	ForbiddenPatterns []string // RE2, unanchored; within the limits of FilterPatterns
	RefusedPatterns   int      // reported patterns that are not used, because they exceed those limits
	Slots             int      // total, numbered from 1
	Readable          Readable
	Schedule          Schedule
	Granularity       time.Duration // of the native schedule; 0: exact
	TimeBase          TimeBase
	OneTime           bool // the lock has one-time codes
	RemoteUnlock      bool
	DoorSensor        bool
	EventLog          bool
	ReadBack          bool           // a slot can be read after writing
	Lockout           LockoutControl // empty: none
	KeypadPause       bool           // the keypad can be paused for a time that the lock itself ends
	Kinds             []CredentialKind
	// OpLifetime is how long after its start an operation can still take effect on the lock.
	OpLifetime time.Duration
}

// Lifetime returns OpLifetime, or DefaultOpLifetime if the driver reports none.
func (c Capabilities) Lifetime() time.Duration {
	if c.OpLifetime <= 0 {
		return DefaultOpLifetime
	}
	return c.OpLifetime
}

// CheckPIN returns the first rule of the lock that p breaks: "length", "alphabet", "prefix" or "pattern", or "" if the lock accepts p.
// A pattern that does not compile refuses every PIN.
func (c Capabilities) CheckPIN(p PIN) string {
	s := string(p)
	if len(s) < c.PINMin || (c.PINMax > 0 && len(s) > c.PINMax) || s == "" {
		return "length"
	}
	alphabet := c.Alphabet
	if alphabet == "" {
		alphabet = "0123456789"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(alphabet, r) }) {
		return "alphabet"
	}
	for _, prefix := range c.ForbiddenPrefixes {
		if strings.HasPrefix(s, prefix) {
			return "prefix"
		}
	}
	for _, pattern := range c.ForbiddenPatterns {
		forbidden, err := CompilePattern(pattern)
		if err != nil || forbidden.Matches(s) {
			return "pattern"
		}
	}
	return ""
}
