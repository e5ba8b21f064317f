package slot

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFilterPatterns(t *testing.T) {
	many := make([]string, MaxPatterns+2)
	for i := range many {
		many[i] = fmt.Sprintf("%d", i)
	}
	triples := "000|111|222|333|444|555|666|777|888|999"
	for name, c := range map[string]struct{ said, want []string }{
		"usual rules":             {[]string{"^12", triples, `^(19|20)\d\d`, `\d{4}$`}, []string{"^12", triples, `^(19|20)\d\d`, `\d{4}$`}},
		"invalid":                 {[]string{"(", "777"}, []string{"777"}},
		"more than a lock has":    {many, many[:MaxPatterns]},
		"large repeats":           {[]string{strings.Repeat(`.{0,999}`, 16), "7{33}", "7{32}"}, []string{"7{32}"}},
		"nested repeats":          {[]string{"(((7{9}){9}){9})"}, nil},
		"too large together":      {[]string{"1{0,32}", "(?:12345678){14}", "(?:23456789){14}", "2{0,8}"}, []string{"1{0,32}", "(?:12345678){14}", "2{0,8}"}},
		"too long":                {[]string{strings.Repeat("1", MaxPatternLength+1)}, nil},
		"flags cost while parsed": {[]string{`(?i)[\x{100}-\x{1E942}]`, `(?P<a>1)`, `(?:(?i)1)`}, nil},
		"other characters":        {[]string{"é", "1\x00", "\xff", "1\n"}, nil},
		"more than are checked":   {append(slices.Repeat([]string{"("}, 4*MaxPatterns), "777"), nil},
		"classes of Unicode":      {[]string{`\pL`, `[^\PN]`}, nil},
	} {
		accepted, refused := FilterPatterns(c.said)
		if !slices.Equal(accepted, c.want) {
			t.Errorf("%s: accepted %q, want %q", name, accepted, c.want)
		}
		if len(accepted)+refused != len(c.said) {
			t.Errorf("%s: %d accepted and %d refused of %d", name, len(accepted), refused, len(c.said))
		}
	}
}

func TestCompilePatternRefusesWhatIsNotAccepted(t *testing.T) {
	for _, p := range []string{"(", `.{0,999}`, "7{33}", `\pL`, "(?i)1", "\x00"} {
		if _, err := CompilePattern(p); err == nil {
			t.Errorf("%q compiles", p)
		}
	}
}

// The estimate decides before anything is compiled, so it must never be below the truth.
func TestPatternSizeIsAnUpperBound(t *testing.T) {
	piece := rapid.SampledFrom([]string{"1", "23", ".", `\d`, "[0-4]", "^", "$", `\b`, "(?:", "(", ")", "|", "*", "+", "?", "{3}", "{0,5}", "{2,}", "{32}", "*?"})
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(piece, 0, 14).Draw(t, "pieces"), "")
		size, err := PatternSize(source)
		if err != nil {
			return
		}
		re, err := syntax.Parse(source, syntax.Perl)
		if err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		prog, err := syntax.Compile(re.Simplify())
		if err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		if len(prog.Inst) > size {
			t.Fatalf("%q has %d instructions, estimated %d", source, len(prog.Inst), size)
		}
		if _, err := CompilePattern(source); err != nil {
			t.Fatalf("%q does not compile: %v", source, err)
		}
	})
}

func TestCompilePatternCacheIsBounded(t *testing.T) {
	for i := range 3 * maxCompiledPatterns {
		p, err := CompilePattern(fmt.Sprintf("^%d$", i))
		if err != nil || !p.Matches(fmt.Sprint(i)) || p.Matches("x") {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if n := len(compiledPatterns.by); n > maxCompiledPatterns {
		t.Errorf("%d patterns are cached", n)
	}
}

func BenchmarkWorstPattern(b *testing.B) {
	worst := "(?:.?.?.?.?.?){6}"
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			_, _ = PatternSize(worst)
		}
	})
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			clear(compiledPatterns.by)
			if _, err := CompilePattern(worst); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("match", func(b *testing.B) {
		p, err := CompilePattern(worst + "x")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			p.Matches("73916205")
		}
	})
}
