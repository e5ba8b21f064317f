package web

import (
	"slices"
	"time"

	"golang.org/x/text/language"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/message"
)

// languageCookie keeps the language that the guest chose. Without it the browser's languages count, and then the property's.
const languageCookie = "lk-lang"

// languages are the languages that have texts.
type languages struct {
	names   []string
	matcher language.Matcher
}

func newLanguages() languages {
	l := languages{names: message.Languages()}
	tags := make([]language.Tag, len(l.names))
	for i, name := range l.names {
		tags[i] = language.Make(name)
	}
	l.matcher = language.NewMatcher(tags)
	return l
}

// words chooses the language: the guest's choice, else the first of the browser's that has texts, else the property's, else
// English.
func (l languages) words(chosen, accept string, face *guestv1.PropertyFace) words {
	w := words{Lang: message.English, zone: time.UTC}
	if zone, err := clock.Zone(face.GetTimeZone()); err == nil {
		w.zone = zone
	}
	if slices.Contains(l.names, chosen) {
		w.Lang = chosen
		return w
	}
	wanted, _, _ := language.ParseAcceptLanguage(accept)
	if _, i, sure := l.matcher.Match(append(wanted, language.Make(face.GetLanguage()))...); sure != language.No {
		w.Lang = l.names[i]
	}
	return w
}

// words returns the words for the exchange's page.
func (x *exchange) words(face *guestv1.PropertyFace) words {
	chosen := x.cookie(languageCookie)
	if x.ownLanguage {
		chosen = ""
	}
	return x.site.languages.words(chosen, x.r.Header.Get("Accept-Language"), face)
}

// rightToLeft are the scripts that are written from right to left.
var rightToLeft = []string{"Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg"}

// Dir is the direction of the language's script.
func (w words) Dir() string {
	if script, _ := language.Make(w.Lang).Script(); slices.Contains(rightToLeft, script.String()) {
		return "rtl"
	}
	return "ltr"
}

// LanguageName is a language's name in that language.
func (w words) LanguageName(language string) string {
	return message.Reader{Language: language}.Text(message.Message{Kind: "language.self"})
}
