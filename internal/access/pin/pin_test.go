package pin

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

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
	nuki := Rules{Min: 6, Max: 6, Alphabet: "123456789", ForbiddenPrefixes: []string{"12"}}
	zwave := Rules{Min: 4, Max: 10}
	odd := Rules{Min: 4, Max: 8, ForbiddenPatterns: []string{`^[0-4]`}}
	rapid.Check(t, func(t *rapid.T) {
		p, err := Draw(nil, rapid.IntRange(4, 8).Draw(t, "length"), []Rules{nuki, zwave, odd}, free)
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
		p, err := Draw(nil, c.want, c.rules, free)
		if err != nil || len(p) != c.got {
			t.Errorf("Draw(%d, %+v) = %d characters, %v; want %d", c.want, c.rules, len(p), err, c.got)
		}
	}
}

func TestDrawKeepsLeadingZeros(t *testing.T) {
	source := rand.NewChaCha8([32]byte{1})
	zero := 0
	for range 300 {
		p, err := Draw(source, 6, nil, free)
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
	if _, err := Draw(nil, 6, []Rules{{Max: 4}, {Min: 6}}, free); !errors.Is(err, ErrImpossible) {
		t.Errorf("locks with no common length: %v", err)
	}
	if _, err := Draw(nil, 6, []Rules{{Alphabet: "123"}, {Alphabet: "789"}}, free); !errors.Is(err, ErrImpossible) {
		t.Errorf("locks with no common digit: %v", err)
	}
	if _, err := Draw(nil, 6, []Rules{{ForbiddenPatterns: []string{"."}}}, free); !errors.Is(err, ErrImpossible) {
		t.Errorf("a lock that forbids everything: %v", err)
	}
	if _, err := Draw(nil, 6, []Rules{{ForbiddenPatterns: []string{"("}}}, free); !errors.Is(err, ErrImpossible) {
		t.Errorf("a lock whose rule cannot be read: %v", err)
	}
	if _, err := Draw(nil, 6, nil, func(string) (bool, error) { return true, nil }); !errors.Is(err, ErrTaken) {
		t.Errorf("a property without a free code: %v", err)
	}
}

func TestDrawIsEven(t *testing.T) {
	var seen [10]int
	const n = 3000
	for range n {
		p, err := Draw(nil, 6, nil, free)
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
