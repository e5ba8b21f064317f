package slot

import (
	"strings"
	"time"
)

// Readable is what the bridge learns when it reads a slot of the lock.
type Readable string

const (
	ReadableNone   Readable = "none"   // slots cannot be read
	ReadableMasked Readable = "masked" // a reading shows only whether the slot is used
	ReadableClear  Readable = "clear"  // a reading shows the PIN
)

// Schedule is which time windows a lock enforces by itself.
type Schedule string

const (
	ScheduleNone   Schedule = "none"   // the lock enforces no windows: the bridge sets and removes codes on time
	ScheduleWindow Schedule = "window" // the lock enforces one window with a start and an end
	ScheduleWeekly Schedule = "weekly" // the lock enforces hours by weekday only, which the bridge does not use: like ScheduleNone
)

// TimeBase is the time zone of the windows that a lock enforces.
type TimeBase string

const (
	TimeUTC   TimeBase = "utc"
	TimeLocal TimeBase = "local" // the lock uses local time, and its driver converts
)

// CredentialKind is a kind of credential that a lock accepts.
type CredentialKind string

const (
	KindPIN         CredentialKind = "pin"
	KindCard        CredentialKind = "card"
	KindFingerprint CredentialKind = "fingerprint"
	KindFace        CredentialKind = "face"
	KindSmartKey    CredentialKind = "smartKey"
)

// LockoutControl is whether a bridge can set the lock's own lockout after wrong PINs.
type LockoutControl string

const (
	LockoutNone     LockoutControl = "none"     // the lock has no lockout
	LockoutFixed    LockoutControl = "fixed"    // the lock has a lockout that can neither be set nor read, and that counts as strong enough
	LockoutSettable LockoutControl = "settable" // the lock has a lockout that can be set and read back
)

// Lockout is the lock's own limit on wrong PINs: after Attempts wrong PINs in a row its keypad refuses all PINs for
// Pause. The zero value is no limit.
type Lockout struct {
	Attempts int
	Pause    time.Duration
}

// DesiredLockout is the lockout that bridges set. Matter and Zigbee allow a pause of at most 254 s.
var DesiredLockout = Lockout{Attempts: 5, Pause: 4 * time.Minute}

// A lockout that is weaker than these limits counts as none.
const (
	mostLockoutAttempts = 10
	leastLockoutPause   = 30 * time.Second
)

// Effective reports whether a lockout is strong enough to slow the guessing of PINs.
func (l Lockout) Effective() bool {
	return l.Attempts >= 1 && l.Attempts <= mostLockoutAttempts && l.Pause >= leastLockoutPause
}

// DefaultOpLifetime is the lifetime of an operation on a lock if the driver does not name one.
const DefaultOpLifetime = 30 * time.Second

// Capabilities describe what a lock can do, as its driver reports. The server stores them as JSON under the field
// names.
type Capabilities struct {
	PINMin, PINMax    int    // PINMin and PINMax are the shortest and longest PIN, in characters; a PINMax of 0 is no limit
	Alphabet          string // Alphabet has the characters of a PIN; empty means 0123456789
	ForbiddenPrefixes []string
	ForbiddenPatterns []string // ForbiddenPatterns are unanchored RE2 expressions that no PIN may match, limited by FilterPatterns
	RefusedPatterns   int      // RefusedPatterns counts the reported patterns that FilterPatterns refused
	Slots             int      // Slots is the number of slots, which are numbered from 1
	Readable          Readable
	Schedule          Schedule
	Granularity       time.Duration // Granularity is the time step of the windows that the lock enforces; 0 means exact
	TimeBase          TimeBase
	OneTime           bool // OneTime means that the lock supports one-time codes; the bridge ends them by itself in any case
	RemoteUnlock      bool
	DoorSensor        bool
	EventLog          bool
	ReadBack          bool // ReadBack means that a slot can be read after it is written
	Lockout           LockoutControl
	KeypadPause       bool // KeypadPause means that the bridge can pause the keypad and that the lock ends the pause itself
	Kinds             []CredentialKind
	// OpLifetime is how long after its start an operation may still take effect on the lock; 0: DefaultOpLifetime.
	OpLifetime time.Duration
}

// Lifetime returns how long after its start an operation may still take effect: OpLifetime, or DefaultOpLifetime if
// the driver reports none.
func (c Capabilities) Lifetime() time.Duration {
	if c.OpLifetime <= 0 {
		return DefaultOpLifetime
	}
	return c.OpLifetime
}

// CheckPIN returns the first rule of the lock that p breaks: "length", "alphabet", "prefix" or "pattern". It returns
// "" if the lock accepts p. A pattern that does not compile refuses every PIN.
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
