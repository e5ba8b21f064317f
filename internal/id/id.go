// Package id generates identifiers: a short prefix for the kind and a lower-case ULID, such as
// "rsv_01jd3k5x9v2m8q4w6z7c1b0nfe".
package id

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Prefixes of identifiers. Three more are written where the id is generated: nod (node), pin (PIN) and end (endpoint).
const (
	Property    = "prp"
	App         = "app"
	Integration = "int"
	Token       = "tok"
	Space       = "spc"
	Gate        = "gat"
	Bridge      = "brg"
	Lock        = "lck"
	Reservation = "rsv"
	Grant       = "grt"
	Code        = "cod"
	Slot        = "slt"
	Act         = "act"
	Event       = "evt"
	Notice      = "ntc"
	Conflict    = "cfl"
	Request     = "req"
	Phone       = "phn"
	PhoneLink   = "plk"
	IssuerKey   = "isk"
	KeySet      = "kys"
	KeyStatus   = "kst"
	Stay        = "sty"
	Guest       = "gst"
	GuestLink   = "glk"
	Session     = "ses"
	Kiosk       = "ksk"
	Mail        = "mai"
	Disclosure  = "dis"
	Register    = "reg"
	Message     = "msg"
	Erasure     = "ers"
	Person      = "prs"
	Membership  = "mbr"
	PersonLink  = "pln"
	PersonSess  = "pss"
	Recovery    = "rcd"
	Passkey     = "psk"
	AuditEntry  = "aud"
	Webhook     = "whk"

	MappingChange = "mch"
)

// length is the length of a ULID as text.
const length = ulid.EncodedSize

// entropy is shared by all callers so that identifiers from the same millisecond still sort in the order of creation.
var entropy = &source{monotonic: ulid.Monotonic(rand.Reader, 0)}

// source makes ULIDs. Each is greater than all that the source made before.
type source struct {
	mu        sync.Mutex
	monotonic *ulid.MonotonicEntropy
	last      uint64 // time of the latest ULID, in Unix milliseconds; no later ULID has an earlier time
}

// New generates an identifier with a prefix. Identifiers from one process sort in the order of creation, even if the wall
// clock steps back.
func New(prefix string) string { return prefix + "_" + entropy.next(time.Now()) }

// next returns the next ULID in lower case. It is greater than all before, even if now is earlier.
func (s *source) next(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := max(ulid.Timestamp(now), s.last)
	u, err := ulid.New(ms, s.monotonic)
	if err != nil {
		// The random part overflowed within this millisecond: use the next one.
		ms++
		u = ulid.MustNew(ms, s.monotonic)
	}
	s.last = ms
	return strings.ToLower(u.String())
}

// IsID reports whether s has the format of an identifier with any prefix of three bytes, also one that is no constant of this package.
func IsID(s string) bool {
	prefix, _, ok := strings.Cut(s, "_")
	return ok && len(prefix) == 3 && Valid(prefix, s)
}

// Valid reports whether s has the format of an identifier with this prefix. It does not check that the object exists.
func Valid(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix+"_")
	if !ok || len(rest) != length || rest != strings.ToLower(rest) {
		return false
	}
	_, err := ulid.ParseStrict(rest)
	return err == nil
}

// Time returns when an identifier was generated. It returns false if s does not have the format of an identifier.
func Time(s string) (time.Time, bool) {
	if !IsID(s) {
		return time.Time{}, false
	}
	u, err := ulid.ParseStrict(s[len(s)-length:])
	return u.Timestamp(), err == nil
}
