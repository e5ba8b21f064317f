package text

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestProblem(t *testing.T) {
	for _, good := range []string{"", "Müller", "O'Neil-Smith", "李雷", "محمد", "שלום\u200f", "é", "e\u0301", "👩‍👩‍👧", "a\u00a0b", "�"} {
		if p := Problem(good); p != "" {
			t.Errorf("%q: %s", good, p)
		}
	}
	for _, bad := range []string{
		"\x00", "a\nb", "a\tb", "\r", "\x1b]0;PWNED\a", "\x7f", "\u0085", "\u009b2J", "a\u202eb", "\u202a", "\u2066", "\u2069", "\u2028", "\u2029",
	} {
		if p := Problem(bad); !strings.Contains(p, "control characters") {
			t.Errorf("%q: %q", bad, p)
		}
	}
	for _, broken := range []string{"\xff", "a\xc3", "\xed\xa0\x80"} {
		if p := Problem(broken); p != "is not valid UTF-8" {
			t.Errorf("%q: %q", broken, p)
		}
	}
}

func TestIsBlank(t *testing.T) {
	for s, want := range map[string]bool{
		"": true, " \t\n": true, "\u00a0\u3000": true, "\u200b": true, "\ufeff": true, "\u00ad\u2060": true, "\u202f": true, "\u3164": true,
		"A": false, "\u200bA": false, "李": false, "0": false, "-": false, "\ufffd": false, "\ue000": false,
	} {
		if got := IsBlank(s); got != want {
			t.Errorf("%q is blank: %v", s, got)
		}
	}
}

func TestTerminal(t *testing.T) {
	const said = "Müller\x1b[2J\u009b\u202e\tx\n👩"
	const want = `Müller\u001b[2J\u009b\u202e` + "\tx\n👩"
	for size := 1; size <= len(said); size++ {
		var out strings.Builder
		w := Terminal(&out)
		for rest := said; rest != ""; {
			part := rest[:min(size, len(rest))]
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
			rest = rest[len(part):]
		}
		if out.String() != want {
			t.Errorf("in parts of %d: %q, want %q", size, out.String(), want)
		}
	}
	if got := Escape("a\tb\n"); got != `a\u0009b\u000a` {
		t.Errorf("Escape: %q", got)
	}
}

// JSON has the same meaning after Terminal escaped it.
func TestTerminalKeepsJSON(t *testing.T) {
	const said = "a\x1b\u009b\u202e\x7f\"é"
	raw, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if _, err := Terminal(&out).Write(raw); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back != said {
		t.Errorf("%q, %v", back, err)
	}
	if Problem(out.String()) != "" {
		t.Errorf("still unprintable: %q", out.String())
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"":                        "",
		"Ada Lovelace":            "ada lovelace",
		"MÜLLER-Lüdenscheidt":     "muller ludenscheidt",
		"Mu\u0308ller":            "muller",
		"O'Neil, O’Neil":          "oneil oneil",
		"Straße 7":                "strasse 7",
		"Łukasz Øystein Þór Đoko": "lukasz oystein thor doko",
		"İbrahim ışık":            "ibrahim isik",
		"Ｊｏｈｎ":                    "john",
		"李雷":                      "李雷",
		"Ελένη Παπαδάκη":          "ελενη παπαδακη",
		"Ёлкин":                   "елкин",
		"--- !":                   "",
	} {
		if got := strings.Join(Words(name), " "); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"checkInTime", "checkOutTime", "name"}
	for _, tt := range []struct {
		word string
		most int
		want string
	}{
		{"checkInTme", 3, "checkInTime"}, {"chekOutTime", 3, "checkOutTime"}, {"name", 0, "name"}, {"nmae", 1, ""}, {"nmae", 2, "name"}, {"", 3, ""},
		{"colour", 2, ""},
	} {
		if got := Nearest(tt.word, known, tt.most); got != tt.want {
			t.Errorf("%q within %d: %q, want %q", tt.word, tt.most, got, tt.want)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		text  string
		n     int
		bytes string // of at most n bytes
		runes string // of at most n characters
	}{
		{"", 0, "", ""}, {"", 3, "", ""}, {"abc", 0, "", ""}, {"abc", 2, "ab", "ab"}, {"abc", 3, "abc", "abc"}, {"abc", 4, "abc", "abc"},
		{"é", 1, "", "é"}, {"aéb", 2, "a", "aé"}, {"aéb", 3, "aé", "aéb"}, {"aéb", 4, "aéb", "aéb"}, {"李雷", 5, "李", "李雷"}, {"李雷", 1, "", "李"},
		{"👩x", 3, "", "👩x"}, {"👩x", 4, "👩", "👩x"}, {"a\xffb", 2, "a\xff", "a\xff"}, {"e\u0301", 1, "e", "e"},
	} {
		if got := Truncate(tt.text, tt.n); got != tt.bytes {
			t.Errorf("%q to %d bytes: %q, want %q", tt.text, tt.n, got, tt.bytes)
		}
		if got := TruncateRunes(tt.text, tt.n); got != tt.runes {
			t.Errorf("%q to %d characters: %q, want %q", tt.text, tt.n, got, tt.runes)
		}
	}
}

// Beds of two dorms have different full names, also if their own names are equal.
func TestFullName(t *testing.T) {
	for _, c := range []struct{ parent, name, want string }{
		{"", "Room 101", "Room 101"}, {"Dorm 6", "Bed A", "Dorm 6 · Bed A"}, {"Dorm 8", "Bed A", "Dorm 8 · Bed A"},
		{"Dorm 4", "Dorm 4-1", "Dorm 4-1"}, {"1", "10", "1 · 10"}, {"Dorm 4", "Dorm 4", "Dorm 4 · Dorm 4"}, {"Dorm 4", "", ""},
	} {
		if got := FullName(c.parent, c.name); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.name, c.parent, got, c.want)
		}
	}
}

func TestGroups(t *testing.T) {
	for digits, want := range map[string]string{
		"": "", "1234": "12 34", "12345": "123 45", "480271": "480 271", "1234567": "123 45 67", "12345678": "1234 5678", "123456789": "123 456 789",
	} {
		if got := strings.Join(Groups(digits), " "); got != want {
			t.Errorf("%s: %q, want %q", digits, got, want)
		}
	}
}

func TestIsAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"ada@example.com": true, "o'neil+latchkey@example.co.uk": true,
		"": false, "ada": false, "ada@": false, "@example.com": false, " ada@example.com": false, "ada@example.com ": false, "ada@a@b": false,
		"Ada <ada@example.com>": false, "<ada@example.com>": false, "ada@example.com, bob@example.com": false, "ada@example.com (Ada)": false, `"a b"@example.com`: false,
	} {
		if got := IsAddress(address); got != want {
			t.Errorf("%q: %v, want %v", address, got, want)
		}
	}
}

func TestFoldAddress(t *testing.T) {
	for address, want := range map[string]string{" Ada@Example.COM\n": "ada@example.com", "ada@example.com": "ada@example.com", " ": ""} {
		if got := FoldAddress(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
