// Package id makes the identifiers of stored things: a short prefix that names
// the kind and a lower-case ULID, such as "rsv_01jd3k5x9v2m8q4w6z7c1b0nfe".
package id

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Prefixes of every kind of identifier.
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
)

// length of a ULID in its text form.
const length = ulid.EncodedSize

// entropy is shared by every caller so that identifiers made within one
// millisecond still sort in the order they were made.
var entropy = &source{monotonic: ulid.Monotonic(rand.Reader, 0)}

type source struct {
	mu        sync.Mutex
	monotonic *ulid.MonotonicEntropy
	last      uint64
}

// New makes an identifier with the given prefix. Identifiers made by one process
// sort in the order they were made, also when the wall clock steps back.
func New(prefix string) string { return prefix + "_" + entropy.next(time.Now()) }

func (s *source) next(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := max(ulid.Timestamp(now), s.last)
	u, err := ulid.New(ms, s.monotonic)
	if err != nil {
		// The random part overflowed within this millisecond: the next one has room again.
		ms++
		u = ulid.MustNew(ms, s.monotonic)
	}
	s.last = ms
	return strings.ToLower(u.String())
}

// Valid reports whether s has the shape of an identifier with the given prefix.
// It says nothing about whether such a thing exists.
func Valid(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix+"_")
	if !ok || len(rest) != length || rest != strings.ToLower(rest) {
		return false
	}
	_, err := ulid.ParseStrict(rest)
	return err == nil
}
