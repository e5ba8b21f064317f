package drawing

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       error
	}{
		{"a stroke", "0,0 1000,400", nil},
		{"strokes and a dot", "10,20 300,40;50,60", nil},
		{"nothing", "", ErrFormat},
		{"a dot only", "10,20", ErrEmpty},
		{"a slip", "10,20 59,69", ErrEmpty},
		{"wide enough", "10,20 60,20", nil},
		{"high enough", "10,20 10,70", nil},
		{"to the right of the area", "0,0 1001,0", ErrFormat},
		{"below the area", "0,0 0,401", ErrFormat},
		{"negative", "-1,0 100,0", ErrFormat},
		{"a sign", "+1,0 100,0", ErrFormat},
		{"a leading zero", "01,0 100,0", ErrFormat},
		{"a fraction", "1.5,0 100,0", ErrFormat},
		{"one number", "1 100,0", ErrFormat},
		{"three numbers", "1,2,3 100,0", ErrFormat},
		{"two spaces", "1,2  100,0", ErrFormat},
		{"an empty stroke", "1,2 100,0;", ErrFormat},
		{"markup", `1,2 100,0"/><script>`, ErrFormat},
		{"a line break", "1,2 100,0\n", ErrFormat},
		{"a huge number", "1,2 99999999999999999999,0", ErrFormat},
		{"the most strokes", strings.Repeat("0,0;", MaxStrokes-1) + "0,0 100,0", nil},
		{"too many strokes", strings.Repeat("0,0;", MaxStrokes) + "0,0 100,0", ErrSize},
		{"the most points", strings.Repeat("0,0 ", MaxPoints-1) + "100,0", nil},
		{"too many points", strings.Repeat("0,0 ", MaxPoints) + "100,0", ErrSize},
		{"too long", strings.Repeat("x", MaxLength+1), ErrSize},
	} {
		d, err := Parse(test.text)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v; want %v", test.name, err, test.want)
		}
		if err == nil && d.String() != test.text {
			t.Errorf("%s: the text became %q", test.name, d)
		}
	}
}

func TestSVG(t *testing.T) {
	d, err := Parse("10,20 300,40 7,8;50,60")
	if err != nil {
		t.Fatal(err)
	}
	got := d.SVG()
	if !strings.Contains(got, `<path d="M10 20L300 40L7 8"/><path d="M50 60h0"/>`) {
		t.Errorf("got %s", got)
	}
	var parsed struct{}
	if err := xml.Unmarshal([]byte(got), &parsed); err != nil {
		t.Error(err)
	}
}

// Whatever parses has one text, and its image holds numbers only.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0,0 1000,400", "10,20 300,40;50,60", "", "1,2 100,0;", `1,2 100,0"/>`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		if d.String() != text {
			t.Errorf("%q became %q", text, d)
		}
		if paths := strings.Count(d.SVG(), "<path "); paths != len(d) {
			t.Errorf("%q has %d paths", text, paths)
		}
	})
}
