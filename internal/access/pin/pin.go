// Package pin draws the codes that guests type at doors. It is pure but for the source of randomness it is given.
package pin

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// Lengths a property may choose from. Six digits resist a day's guessing at a door, four do not (docs/security.md).
const (
	Shortest = 6
	Longest  = 8
)

// Digits is the alphabet of a lock that names none.
const Digits = "0123456789"

// Rules is what one lock accepts as a PIN.
type Rules struct {
	Min, Max          int    // length in characters; 0: no limit of the lock's
	Alphabet          string // "": Digits
	ForbiddenPrefixes []string
	ForbiddenPatterns []string // RE2; one that does not compile forbids every PIN
}

// ErrImpossible says that no PIN satisfies all rules at once.
var ErrImpossible = errors.New("no PIN satisfies the rules of all these locks")

// ErrTaken says that every PIN drawn was taken: the property has too many live codes of this length.
var ErrTaken = errors.New("no free PIN was found")

// attempts bounds the search; with 10,000 live codes of six digits a single draw fails in about one of five cases.
const attempts = 400

// Draw draws a PIN of the wanted length, or of the nearest length the rules allow, that is not weak and not taken.
// A nil source is crypto/rand.
func Draw(source io.Reader, length int, rules []Rules, taken func(string) (bool, error)) (string, error) {
	if source == nil {
		source = rand.Reader
	}
	r, err := combine(rules)
	if err != nil {
		return "", err
	}
	n, ok := r.fit(length)
	if !ok {
		return "", ErrImpossible
	}
	seen := false
	for range attempts {
		p, err := draw(source, n, r.alphabet)
		if err != nil {
			return "", err
		}
		if Weak(p) || !r.allows(p) {
			continue
		}
		seen = true
		used, err := taken(p)
		if err != nil {
			return "", err
		}
		if !used {
			return p, nil
		}
	}
	if !seen {
		return "", ErrImpossible
	}
	return "", ErrTaken
}

// Satisfies says whether a lock with these rules takes the PIN.
func Satisfies(p string, rules Rules) bool {
	r, err := combine([]Rules{rules})
	return err == nil && len(p) >= r.min && len(p) <= r.max && r.allows(p) && strings.Trim(p, r.alphabet) == ""
}

// combined is what all locks of a set accept.
type combined struct {
	min, max int
	alphabet string
	prefixes []string
	patterns []*regexp.Regexp
}

func combine(rules []Rules) (combined, error) {
	c := combined{min: 1, max: 32, alphabet: Digits}
	for _, r := range rules {
		if r.Min > 0 {
			c.min = max(c.min, r.Min)
		}
		if r.Max > 0 {
			c.max = min(c.max, r.Max)
		}
		if r.Alphabet != "" {
			c.alphabet = intersect(c.alphabet, r.Alphabet)
		}
		c.prefixes = append(c.prefixes, r.ForbiddenPrefixes...)
		for _, p := range r.ForbiddenPatterns {
			re, err := regexp.Compile(p)
			if err != nil { // what a lock forbids and we cannot read forbids everything
				return c, ErrImpossible
			}
			c.patterns = append(c.patterns, re)
		}
	}
	if c.alphabet == "" || c.min > c.max || slices.Contains(c.prefixes, "") {
		return c, ErrImpossible
	}
	return c, nil
}

func intersect(a, b string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(b, r) {
			return r
		}
		return -1
	}, a)
}

// fit moves the wanted length into what the locks allow.
func (c combined) fit(length int) (int, bool) {
	n := min(max(length, c.min), c.max)
	return n, n >= 1
}

func (c combined) allows(p string) bool {
	for _, f := range c.prefixes {
		if strings.HasPrefix(p, f) {
			return false
		}
	}
	for _, re := range c.patterns {
		if re.MatchString(p) {
			return false
		}
	}
	return true
}

func draw(source io.Reader, n int, alphabet string) (string, error) {
	size := big.NewInt(int64(len(alphabet)))
	b := make([]byte, n)
	for i := range b {
		k, err := rand.Int(source, size)
		if err != nil {
			return "", fmt.Errorf("draw a PIN: %w", err)
		}
		b[i] = alphabet[k.Int64()]
	}
	return string(b), nil
}
