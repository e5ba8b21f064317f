// Package pin generates the PINs that guests type at doors. It is pure, except for its source of randomness.
package pin

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
)

// Shortest and Longest bound the number of digits that a property may choose for its PINs, both inclusive. Six digits suffice if the lock
// or its bridge slows guessing; other locks need eight.
const (
	Shortest = 6
	Longest  = 8
)

const Digits = "0123456789"

// Rules is what one lock accepts as a PIN.
type Rules struct {
	Min, Max  int      // Min and Max are lengths in characters; 0 means no limit
	Alphabet  string   // an empty Alphabet means Digits
	Prefixes  []string // no PIN may begin with one of Prefixes
	Forbidden []Pattern
	Unusable  bool // Unusable means that a rule of the lock is invalid, so that no PIN is known to be accepted
}

// Pattern is a pattern that no PIN may match. Patterns with equal String are equal.
type Pattern interface {
	Matches(pin string) bool
	Size() int // Size is an upper bound of the steps to match one character
	String() string
}

// ErrImpossible means that a random search found no PIN that the rules of a lock allow and that is not weak.
var ErrImpossible = errors.New("no PIN satisfies the rules of the locks")

// ErrTaken means that every generated PIN is in use: the property has too many active codes of this length.
var ErrTaken = errors.New("no free PIN was found")

const (
	// attempts bounds the search. With 10,000 active codes of six digits, a random PIN is weak or in use in about one of six cases.
	attempts = 400
	// samples is how many random PINs a lock is tried with, in place of all PINs that the locks before it accept.
	samples = 32
	// maxCommon is the largest combined.size. Locks whose rules together are larger count as locks that no PIN satisfies.
	maxCommon = 2048
	// maxEffort bounds the steps of all PINs that one Generator generates, about 30 ms. One attempt against 50 locks of
	// different models, with patterns of 40 instructions each, takes 15,000 steps.
	maxEffort = 4_000_000
	// characterCost is the cost of generating one random character, in steps of matching.
	characterCost = 64
)

// Generator generates the PINs for the doors of one reservation or code. These PINs share one limit of computation, because they are
// generated inside a transaction. The zero value is ready to use.
type Generator struct {
	Source io.Reader // Source is crypto/rand if nil
	effort int       // effort is the steps for all PINs so far; at maxEffort the search ends
}

// Generate returns a random PIN of the desired length, or of the nearest length that the rules allow, that is not weak and for which taken
// returns false; taken may reserve the PIN. If no PIN satisfies all locks, it satisfies as many as possible, the first locks first. If all
// PINs that satisfy all locks are taken, it satisfies only the first lock. It returns ErrImpossible or ErrTaken if it finds none within its
// limits, and an error of taken unchanged.
func (d *Generator) Generate(length int, locks []Rules, taken func(string) (bool, error)) (string, error) {
	all := anyPIN()
	for _, r := range locks {
		if next, ok := all.and(r); ok {
			all = next
		} else {
			all = combined{}
			break
		}
	}
	p, err := "", ErrImpossible
	if all.alphabet != "" {
		p, err = d.generateFrom(all, length, taken)
	}
	switch {
	case len(locks) < 2:
		return p, err
	case errors.Is(err, ErrTaken):
		locks = locks[:1]
	case !errors.Is(err, ErrImpossible):
		return p, err
	}
	most, err := d.satisfiable(length, locks)
	if err != nil {
		return "", err
	}
	return d.generateFrom(most, length, taken)
}

// generateFrom returns a random PIN that satisfies c, is not weak and is not taken. It returns ErrImpossible if it
// finds no PIN that satisfies c, and ErrTaken if all those that it finds are in use.
func (d *Generator) generateFrom(c combined, length int, taken func(string) (bool, error)) (string, error) {
	fits := false
	for n := 0; n < attempts && d.effort < maxEffort; n++ {
		p, err := d.random(c, length)
		if err != nil {
			return "", err
		}
		if !d.allows(c, p) {
			continue
		}
		fits = true
		if used, err := taken(p); err != nil || !used {
			return p, err
		}
	}
	if !fits {
		return "", ErrImpossible
	}
	return "", ErrTaken
}

// satisfiable combines the rules of as many locks as possible. It tries each lock once, against sample PINs that satisfy the locks before
// it, and omits a lock that accepts none of them. It returns ErrImpossible if all are omitted.
func (d *Generator) satisfiable(length int, locks []Rules) (combined, error) {
	set, possible := anyPIN(), []string(nil)
	for _, r := range locks {
		next, ok := set.and(r)
		if !ok {
			continue
		}
		left := possible
		if possible == nil || next.alphabet != set.alphabet || next.length(length) != set.length(length) {
			var err error
			if left, err = d.sample(next, length); err != nil {
				return combined{}, err
			}
		} else {
			own, _ := anyPIN().and(r)
			left = slices.DeleteFunc(slices.Clone(possible), func(p string) bool { return !d.allows(own, p) })
		}
		if len(left) > 0 {
			set, possible = next, left
		}
	}
	if possible == nil {
		return combined{}, ErrImpossible
	}
	return set, nil
}

// sample returns up to samples random PINs that satisfy c. There are none if it finds none within its attempts. It fails only if the random
// source fails.
func (d *Generator) sample(c combined, length int) ([]string, error) {
	var out []string
	for n := 0; n < attempts && len(out) < samples && d.effort < maxEffort; n++ {
		p, err := d.random(c, length)
		if err != nil {
			return nil, err
		}
		if d.allows(c, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// Satisfies reports whether a lock with these rules accepts the PIN, even a weak one.
func Satisfies(p string, rules Rules) bool {
	c, ok := anyPIN().and(rules)
	return ok && len(p) >= c.min && len(p) <= c.max && strings.Trim(p, c.alphabet) == "" && c.permits(p)
}

// combined are the rules of several locks together: a PIN that satisfies them is accepted by each lock.
type combined struct {
	min, max int
	alphabet string
	prefixes []string
	patterns []Pattern
	size     int // size is the sum of the Size of all patterns plus the number of prefixes: the steps to match one character
}

// anyPIN returns the rules that every PIN satisfies, before those of a lock are added: 1 to 32 digits.
func anyPIN() combined { return combined{min: 1, max: 32, alphabet: Digits} }

// and adds the rules of a lock to the rules. It returns false if no PIN can satisfy both, or if finding one would take
// too long.
func (c combined) and(r Rules) (combined, bool) {
	if r.Unusable || slices.Contains(r.Prefixes, "") {
		return c, false
	}
	if r.Min > 0 {
		c.min = max(c.min, r.Min)
	}
	if r.Max > 0 {
		c.max = min(c.max, r.Max)
	}
	if r.Alphabet != "" {
		c.alphabet = intersect(c.alphabet, r.Alphabet)
	}
	c.prefixes, c.patterns = slices.Clip(c.prefixes), slices.Clip(c.patterns)
	for _, p := range r.Prefixes {
		if !slices.Contains(c.prefixes, p) {
			c.prefixes = append(c.prefixes, p)
			c.size++
		}
	}
	for _, p := range r.Forbidden {
		if !slices.ContainsFunc(c.patterns, func(known Pattern) bool { return known.String() == p.String() }) {
			c.patterns = append(c.patterns, p)
			c.size += p.Size()
		}
	}
	return c, c.alphabet != "" && c.min <= c.max && c.size <= maxCommon
}

// intersect returns the characters that both texts contain.
func intersect(a, b string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(b, r) {
			return r
		}
		return -1
	}, a)
}

// length returns the length of a PIN that the locks allow and that is closest to wanted.
func (c combined) length(wanted int) int { return min(max(wanted, c.min), c.max) }

// allows reports whether a PIN is not weak, and permits it. It counts the effort.
func (d *Generator) allows(c combined, p string) bool {
	d.effort += c.size * (len(p) + 1)
	return !Weak(p) && c.permits(p)
}

// permits reports whether a PIN has no forbidden prefix and matches no forbidden pattern of the locks. It does not check length and
// alphabet.
func (c combined) permits(p string) bool {
	return !slices.ContainsFunc(c.prefixes, func(f string) bool { return strings.HasPrefix(p, f) }) &&
		!slices.ContainsFunc(c.patterns, func(f Pattern) bool { return f.Matches(p) })
}

// random returns a random PIN with the alphabet of c and the length that c allows closest to length. It does not check prefixes and
// patterns.
func (d *Generator) random(c combined, length int) (string, error) {
	source := d.Source
	if source == nil {
		source = rand.Reader
	}
	size := big.NewInt(int64(len(c.alphabet)))
	b := make([]byte, c.length(length))
	d.effort += characterCost * len(b)
	for i := range b {
		k, err := rand.Int(source, size)
		if err != nil {
			return "", fmt.Errorf("generate a PIN: %w", err)
		}
		b[i] = c.alphabet[k.Int64()]
	}
	return string(b), nil
}
