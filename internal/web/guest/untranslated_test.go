package guest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey.dev/internal/message"
)

var (
	markup     = regexp.MustCompile(`(?s)<(script|style)\b.*?</(script|style)>|<[^>]*>`)
	attributes = regexp.MustCompile(`\b(?:aria-label|placeholder|alt|title)="([^"]*)"`)
	aWord      = regexp.MustCompile(`\pL{3,}`)
)

// sameInAllLanguages are texts of these pages that are no words of the product: names, and what the property wrote.
var sameInAllLanguages = []string{
	"Hostel Miramar", "Ana", "Silva", "Souza", "Ana Silva", "Ana Silva +1", "Bed 1", "Room 204", "Room 204 · Bed 1", "Room 1", "Gate", "Lobby", "Mews", "Title", "Wrong", "text",
	"Rua do Mar 1", "1100 Lisboa", "Tram 28", "To the end", "Quiet after ten.", "No candles.", "Number plate", "Age", "Number plate · Age", "other", "iPhone", "Android",
	"RD 933/2021", "https://example.com/q/door_1",
}

// No page of a guest has English text in another language.
func TestNoPageIsHalfEnglish(t *testing.T) {
	lines := func(lang, name string, view any, kiosk bool) []string {
		f := newFake()
		f.start("failed")
		x := f.exchange(t, lang, kiosk)
		p := x.newPage(theProperty, "web.stay.title")
		p.Data, p.Flow = view, flow{Kiosk: kiosk, Stay: f.stay}
		html := strings.ReplaceAll(x.rendered(t, name, p), "\u00a0", " ")
		var all []string
		for _, label := range attributes.FindAllStringSubmatch(html, -1) {
			all = append(all, label[1])
		}
		return append(all, strings.Split(markup.ReplaceAllString(html, "\n"), "\n")...)
	}
	names := map[string]bool{} // of languages and countries
	for _, language := range message.Languages() {
		for _, country := range message.List(language, "country.") {
			names[country.Text] = true
		}
		names[message.Reader{Language: language}.Text(message.Message{Kind: "language.self"})] = true
	}
	all := views()
	for _, name := range newFake().exchange(t, "", false).site.Pages() {
		for _, kiosk := range []bool{false, true} {
			english := lines("en", name, all[name][0], kiosk)
			for _, language := range message.Languages() {
				if language == message.English {
					continue
				}
				for _, text := range lines(language, name, all[name][0], kiosk) {
					text = strings.TrimSpace(text)
					same := names[text] || slices.Contains(sameInAllLanguages, text)
					if aWord.MatchString(text) && !same && slices.ContainsFunc(english, func(e string) bool { return strings.TrimSpace(e) == text }) {
						t.Errorf("%s: the page %s says in English: %q", language, name, text)
					}
				}
			}
		}
	}
}
