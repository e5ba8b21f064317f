package staff

import (
	"bytes"
	"strings"
	"testing"

	"latchkey.dev/internal/web/kit"
)

func TestCanDraw(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "Hostel (1)": true, "Münch’s „Łódź“": true, "12\u202f€": true, "Ξενία": true, "Гостиница": true, "ホテル": false, "فندق": false,
	} {
		for font := range fontFiles {
			if got := canDraw(font, text); got != want {
				t.Errorf("%q in the font %s: %t", text, font, got)
			}
		}
	}
}

func TestPosterPDF(t *testing.T) {
	made := poster{QR: kit.QR{Link: "https://checkin.example.com/q/dor_2XK7M4PQRS"}, Calls: []posterSentence{{"en", "Check in with your phone."}, {"fr", "Enregistrez-vous\u202f!"}}}
	size := map[string]int{}
	for _, property := range []string{"", "Hôtel (du Port)", "Ξενία", "ホテル", strings.Repeat("long ", 40)} {
		file, err := made.pdf(property)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(file, []byte("%PDF-")) || bytes.Count(file, []byte("/Type /Page\n")) != 1 {
			t.Errorf("%q: the file is no PDF of one page", property)
		}
		size[property] = len(file)
	}
	if size["Ξενία"] <= size[""] || size["ホテル"]-size[""] > 8 {
		t.Errorf("sizes %v: want Greek letters in the file, and no name without letters", size)
	}
}
