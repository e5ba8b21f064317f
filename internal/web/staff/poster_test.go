package staff

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"latchkey.dev/internal/web/kit"
)

func TestPDFText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "Hostel (1)": `Hostel \(1\)`, `a\b`: `a\\b`, "Münch’s": "M\xfcnch\x92s", "12\u202f€": "12\xa0\x80",
	} {
		if got, ok := pdfText(text); got != want || !ok {
			t.Errorf("%q is %q, %t", text, got, ok)
		}
	}
	for _, text := range []string{"Ξενία", "ホテル", "a\nb", "\x7f"} {
		if got, ok := pdfText(text); ok {
			t.Errorf("%q can be written as %q", text, got)
		}
	}
}

func TestWrapText(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want []string
	}{
		{"", 5, []string{""}}, {"one two", 7, []string{"one two"}}, {"one two", 6, []string{"one", "two"}}, {"élégante à", 4, []string{"élég", "ante", "à"}},
	} {
		if got := wrapText(c.text, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d: %q", c.text, c.most, got)
		}
	}
}

var xrefEntry = regexp.MustCompile(`(?m)^(\d{10}) 00000 n $`)

func TestPosterPDF(t *testing.T) {
	made := poster{QR: kit.QR{Link: "https://checkin.example.com/q/dor_2XK7M4PQRS"}, Calls: []call{{"en", "Check in with your phone."}, {"fr", "Enregistrez-vous."}}}
	for property, shown := range map[string]bool{"Hôtel (du Port)": true, "Ξενία": false, strings.Repeat("long ", 40): true} {
		file := made.pdf(property)
		for i, entry := range xrefEntry.FindAllSubmatch(file, -1) {
			at, _ := strconv.Atoi(string(entry[1]))
			if want := strconv.Itoa(i+1) + " 0 obj\n"; !bytes.HasPrefix(file[at:], []byte(want)) {
				t.Errorf("object %d is not at %d", i+1, at)
			}
		}
		end := file[bytes.LastIndex(file, []byte("startxref\n"))+len("startxref\n"):]
		at, _ := strconv.Atoi(string(end[:bytes.IndexByte(end, '\n')]))
		if !bytes.HasPrefix(file[at:], []byte("xref\n0 8\n")) || !bytes.HasSuffix(file, []byte("%%EOF\n")) {
			t.Errorf("the file has no table of objects at %d", at)
		}
		if bytes.Contains(file, []byte("/F1 26 Tf")) != shown {
			t.Errorf("%q: shown %t", property, !shown)
		}
		if !bytes.Contains(file, []byte("(Enregistrez-vous.)")) || bytes.Count(file, []byte(" re\n")) < 200 {
			t.Error("the poster lacks its text or its code")
		}
		for _, line := range regexp.MustCompile(`Td \((.*)\) Tj`).FindAllSubmatch(file, -1) {
			if len(line[1]) > 90 {
				t.Errorf("a line of %d characters", len(line[1]))
			}
		}
	}
}
