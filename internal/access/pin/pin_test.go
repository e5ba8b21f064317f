package pin

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pattern is a Pattern of the tests.
type pattern struct{ *regexp.Regexp }

func (p pattern) Matches(pin string) bool { return p.MatchString(pin) }
func (p pattern) Size() int               { return len(p.String()) }

func forbid(sources ...string) []Pattern {
	var out []Pattern
	for _, s := range sources {
		out = append(out, pattern{regexp.MustCompile(s)})
	}
	return out
}

func free(string) (bool, error) { return false, nil }

func TestWeak(t *testing.T) {
	for p, want := range map[string]bool{
		"111384": true, "384111": true, "123497": true, "974321": true, "121212": true, "738738": true,
		"198473": true, "731984": true, "241286": true, "122486": true, "861224": true, "24121986": true,
		"0000": true, "2512": true,
		"739162": false, "904718": false, "0639": false, "583046": false,
	} {
		if got := Weak(p); got != want {
			t.Errorf("Weak(%q) = %v, want %v", p, got, want)
		}
	}
}

func TestDrawSatisfiesEveryLock(t *testing.T) {
	nuki := Rules{Min: 6, Max: 6, Alphabet: "123456789", Prefixes: []string{"12"}}
	zwave := Rules{Min: 4, Max: 10}
	odd := Rules{Min: 4, Max: 8, Forbidden: forbid(`^[0-4]`)}
	rapid.Check(t, func(t *rapid.T) {
		p, err := new(Generator).Generate(rapid.IntRange(4, 8).Draw(t, "length"), []Rules{nuki, zwave, odd}, free)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []Rules{nuki, zwave, odd} {
			if !Satisfies(p, r) {
				t.Fatalf("%q breaks %+v", p, r)
			}
		}
		if Weak(p) {
			t.Fatalf("%q is weak", p)
		}
	})
}

func TestDrawLength(t *testing.T) {
	for _, c := range []struct {
		want  int
		rules []Rules
		got   int
	}{
		{6, nil, 6},
		{6, []Rules{{Min: 4, Max: 4}}, 4},
		{6, []Rules{{Min: 7, Max: 9}}, 7},
		{8, []Rules{{Min: 4, Max: 10}}, 8},
	} {
		p, err := new(Generator).Generate(c.want, c.rules, free)
		if err != nil || len(p) != c.got {
			t.Errorf("Draw(%d, %+v) = %d characters, %v; want %d", c.want, c.rules, len(p), err, c.got)
		}
	}
}

func TestDrawKeepsLeadingZeros(t *testing.T) {
	source := rand.NewChaCha8([32]byte{1})
	zero := 0
	for range 300 {
		p, err := (&Generator{Source: source}).Generate(6, nil, free)
		if err != nil {
			t.Fatal(err)
		}
		if len(p) != 6 {
			t.Fatalf("%q lost a character", p)
		}
		if strings.HasPrefix(p, "0") {
			zero++
		}
	}
	if zero == 0 {
		t.Error("no PIN of 300 begins with a zero")
	}
}

func TestDrawRefuses(t *testing.T) {
	if _, err := new(Generator).Generate(6, []Rules{{Min: 8, Max: 4}}, free); !errors.Is(err, ErrImpossible) {
		t.Errorf("a lock that takes no length: %v", err)
	}
	if _, err := new(Generator).Generate(6, []Rules{{Alphabet: "ABC"}}, free); !errors.Is(err, ErrImpossible) {
		t.Errorf("a lock without digits: %v", err)
	}
	if _, err := new(Generator).Generate(6, []Rules{{Forbidden: forbid(".")}}, free); !errors.Is(err, ErrImpossible) {
		t.Errorf("a lock that forbids everything: %v", err)
	}
	if _, err := new(Generator).Generate(6, []Rules{{Unusable: true}}, free); !errors.Is(err, ErrImpossible) {
		t.Errorf("a lock whose rule cannot be read: %v", err)
	}
	if _, err := new(Generator).Generate(6, nil, func(string) (bool, error) { return true, nil }); !errors.Is(err, ErrTaken) {
		t.Errorf("a property without a free code: %v", err)
	}
}

func TestDrawIsEven(t *testing.T) {
	var seen [10]int
	const n = 3000
	for range n {
		p, err := new(Generator).Generate(6, nil, free)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range p {
			seen[d-'0']++
		}
	}
	for d, k := range seen {
		if share := float64(k) / (6 * n); share < 0.075 || share > 0.125 {
			t.Errorf("digit %d has a share of %.3f, far from a tenth", d, share)
		}
	}
}

// Of locks that no PIN satisfies together, the first ones come first, and one that takes no PIN at all, or is too costly
// to satisfy, changes nothing for the others.
func TestDrawSatisfiesAsManyLocksAsPossible(t *testing.T) {
	var costly []string
	for i := range maxCommon {
		costly = append(costly, strconv.Itoa(1_000_000_000+i)+"$")
	}
	a := Rules{Forbidden: forbid("[0-2]")}
	for name, c := range map[string]struct {
		locks []Rules
		fits  []bool
	}{
		"contradicting patterns":      {[]Rules{a, {Forbidden: forbid("[3-9]")}, {Min: 6, Max: 6}}, []bool{true, false, true}},
		"one that takes none":         {[]Rules{a, {Forbidden: forbid(".")}, {Min: 7}}, []bool{true, false, true}},
		"the first takes none":        {[]Rules{{Forbidden: forbid(".")}, a, {Min: 7}}, []bool{false, true, true}},
		"one that cannot be read":     {[]Rules{{Unusable: true}, a, {Prefixes: []string{"5"}}}, []bool{false, true, true}},
		"other lengths":               {[]Rules{a, {Min: 7, Max: 8}, {Max: 6}}, []bool{true, true, false}},
		"none that leaves no digit":   {[]Rules{a, {Alphabet: "012"}, {Alphabet: "3456789"}}, []bool{true, false, true}},
		"no common length":            {[]Rules{{Max: 4}, {Min: 6}}, []bool{true, false}},
		"no common digit":             {[]Rules{{Alphabet: "123456"}, {Alphabet: "789"}}, []bool{true, false}},
		"one that is costly":          {[]Rules{a, {Forbidden: forbid(costly...)}, {Min: 7}}, []bool{true, false, true}},
		"a costly one is not alone":   {[]Rules{a, {Min: 7}}, []bool{true, true}},
		"a prefix that forbids every": {[]Rules{a, {Prefixes: []string{""}}, {Min: 7}}, []bool{true, false, true}},
	} {
		p, err := new(Generator).Generate(6, c.locks, free)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []bool
		for _, r := range c.locks {
			got = append(got, Satisfies(p, r))
		}
		if !slices.Equal(got, c.fits) {
			t.Errorf("%s: %q satisfies %v, want %v", name, p, got, c.fits)
		}
	}
	if _, err := new(Generator).Generate(6, []Rules{{Forbidden: forbid(".")}, {Unusable: true}}, free); !errors.Is(err, ErrImpossible) {
		t.Errorf("no lock takes a PIN: %v", err)
	}
}

// Where all PINs that several locks share are taken, the first lock gets one of its own length.
func TestDrawForTheFirstLockWhereCommonPINsAreTaken(t *testing.T) {
	short := func(p string) (bool, error) { return len(p) < 6, nil }
	p, err := new(Generator).Generate(6, []Rules{{Min: 4, Max: 8}, {Min: 4, Max: 4}}, short)
	if err != nil || len(p) != 6 {
		t.Errorf("%q, %v", p, err)
	}
}

// One Drawer computes within one bound, whatever the locks say and however many doors it serves.
func TestDrawIsBounded(t *testing.T) {
	matched := 0
	d := new(Generator)
	locks := make([]Rules, 300)
	for i := range locks {
		for n := range 8 {
			locks[i].Forbidden = append(locks[i].Forbidden, counting{strconv.Itoa(8*i + n), &matched, n == 7})
		}
	}
	if _, err := d.Generate(6, locks, free); !errors.Is(err, ErrImpossible) {
		t.Errorf("drawn: %v", err)
	}
	for _, l := range locks {
		if _, err := d.Generate(6, []Rules{l}, free); !errors.Is(err, ErrImpossible) {
			t.Errorf("drawn: %v", err)
		}
	}
	if steps := matched * 32 * 7; steps > maxEffort+8*32*7 {
		t.Errorf("%d steps", steps)
	}
}

// counting is a Pattern of 32 instructions that counts how often it is matched.
type counting struct {
	name    string
	matched *int
	refuses bool
}

func (c counting) Matches(string) bool { *c.matched++; return c.refuses }
func (c counting) Size() int           { return 32 }
func (c counting) String() string      { return c.name }
