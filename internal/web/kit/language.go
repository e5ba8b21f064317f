package kit

import (
	"slices"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/message"
)

// languageCookie keeps the language that was chosen on the device. Without it the browser's languages count, and then the property's.
const languageCookie = "lk-lang"

// Place is what the texts of a page need to know of its property.
type Place struct {
	TimeZone string // of IANA
	Language string // "" without one
}

// Words chooses the language: the chosen one, else the first of the browser's that has texts, else the property's, else English.
func (k *Kit) Words(chosen, accept string, of Place) Words {
	w := Words{Lang: message.English, zone: time.UTC}
	if zone, err := clock.Zone(of.TimeZone); err == nil {
		w.zone = zone
	}
	if slices.Contains(k.languages, chosen) {
		w.Lang = chosen
		return w
	}
	if matched := message.Match(accept, of.Language); matched != "" {
		w.Lang = matched
	}
	return w
}

// Words returns the words for the exchange's page.
func (x *Exchange) Words(of Place) Words {
	return x.area.Words(x.ChosenLanguage(), x.R.Header.Get("Accept-Language"), of)
}

// ChosenLanguage returns the language that was chosen on the device and that the page follows, or "".
func (x *Exchange) ChosenLanguage() string {
	if x.OwnLanguage {
		return ""
	}
	if chosen := x.Cookie(languageCookie); slices.Contains(x.area.languages, chosen) {
		return chosen
	}
	return ""
}

// ForgetLanguage ends the choice of a language, on the page that is rendered too.
func (x *Exchange) ForgetLanguage() {
	if x.Cookie(languageCookie) == "" {
		return
	}
	x.DropCookie(languageCookie)
	x.OwnLanguage = true
}

// Dir is the direction in which the language is written.
func (w Words) Dir() string { return message.Direction(w.Lang) }

// LanguageName is a language's name in that language.
func (w Words) LanguageName(language string) string {
	return message.Reader{Language: language}.Text(message.Message{Kind: "language.self"})
}
