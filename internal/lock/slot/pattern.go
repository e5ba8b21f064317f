package slot

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// Limits of the patterns of one lock. Bridges report them, and the server matches them inside a write transaction
// that blocks every property, so their cost is bounded before they are stored.
const (
	MaxPatterns      = 8
	MaxPatternLength = 128 // the longest pattern in bytes
	MaxRepeat        = 32  // the largest n or m of a repetition {n,m}
	MaxPatternSize   = 256 // the most instructions of all compiled patterns of a lock together
)

// Pattern is a compiled regular expression that a PIN must not match.
type Pattern struct {
	re   *regexp.Regexp
	size int
}

// Matches reports whether the pattern occurs in a PIN.
func (p Pattern) Matches(pin string) bool { return p.re.MatchString(pin) }

// Size returns an upper bound of the number of instructions of the compiled pattern.
func (p Pattern) Size() int { return p.size }

// String returns the source of the pattern.
func (p Pattern) String() string { return p.re.String() }

// maxCompiledPatterns bounds the memory of the cache: a pattern takes a few kilobytes.
const maxCompiledPatterns = 512

// compiledPatterns caches up to maxCompiledPatterns patterns by their source. A property has few lock models, so few patterns are in use.
var compiledPatterns = struct {
	sync.Mutex
	by map[string]Pattern
}{by: map[string]Pattern{}}

// CompilePattern compiles a pattern or takes it from a cache. It returns an error for the patterns that [PatternSize] rejects. It is safe
// for concurrent use.
func CompilePattern(source string) (Pattern, error) {
	compiledPatterns.Lock()
	p, ok := compiledPatterns.by[source]
	compiledPatterns.Unlock()
	if ok {
		return p, nil
	}
	size, err := PatternSize(source)
	if err != nil {
		return Pattern{}, err
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return Pattern{}, err
	}
	p = Pattern{re: re, size: size}
	compiledPatterns.Lock()
	defer compiledPatterns.Unlock()
	if len(compiledPatterns.by) >= maxCompiledPatterns {
		clear(compiledPatterns.by)
	}
	compiledPatterns.by[source] = p
	return p, nil
}

// FilterPatterns selects the reported patterns that the server checks. refused counts the others: they are invalid, or
// exceed the limits together. Patterns after the first 4*MaxPatterns are not examined and count as refused.
func FilterPatterns(reported []string) (accepted []string, refused int) {
	total := 0
	for _, source := range reported[:min(len(reported), 4*MaxPatterns)] {
		size, err := PatternSize(source)
		if err != nil || len(accepted) == MaxPatterns || total+size > MaxPatternSize {
			continue
		}
		total += size
		accepted = append(accepted, source)
	}
	return accepted, len(reported) - len(accepted)
}

var (
	errPatternLong    = fmt.Errorf("the pattern is longer than %d bytes", MaxPatternLength)
	errPatternText    = errors.New("the pattern has a character that is not printable ASCII")
	errPatternGroup   = errors.New("the pattern has a flag or a named group: only (...) and (?:...) are supported")
	errPatternRepeats = fmt.Errorf("the pattern repeats a part more than %d times", MaxRepeat)
	errPatternSize    = fmt.Errorf("the pattern is larger than %d instructions", MaxPatternSize)
)

// PatternSize returns an upper bound of the size of the compiled pattern, without compiling it. It returns an error for a pattern that is
// invalid or exceeds a limit of one pattern, and for flags and Unicode classes: even parsing them is expensive, and PINs do not need them.
func PatternSize(source string) (int, error) {
	if len(source) > MaxPatternLength {
		return 0, errPatternLong
	}
	if strings.ContainsFunc(source, func(r rune) bool { return r < ' ' || r > '~' }) {
		return 0, errPatternText
	}
	if strings.Contains(strings.ReplaceAll(source, "(?:", ""), "(?") {
		return 0, errPatternGroup
	}
	re, err := syntax.Parse(source, syntax.Perl&^syntax.UnicodeGroups)
	if err != nil {
		return 0, err
	}
	n, err := programSize(re)
	if err != nil {
		return 0, err
	}
	return n + 2, nil // 2 are the first and the last instruction of the program
}

// programSize returns an upper bound of the instructions that a parsed expression compiles to, or an error if it exceeds MaxRepeat or
// MaxPatternSize.
func programSize(re *syntax.Regexp) (int, error) {
	n := 0
	for _, sub := range re.Sub {
		m, err := programSize(sub)
		if err != nil {
			return 0, err
		}
		n += m + 1
	}
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpRepeat:
		if re.Min > MaxRepeat || re.Max > MaxRepeat {
			return 0, errPatternRepeats
		}
		n *= max(re.Min, re.Max) + 1
	default:
		n += 2
	}
	if n > MaxPatternSize {
		return 0, errPatternSize
	}
	return n, nil
}
