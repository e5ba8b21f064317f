package kit

import (
	"slices"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/message"
)

// languageCookie is the name of the cookie with the language that was chosen on the device. Without it, the languages of the browser count,
// then that of the property.
const languageCookie = "lk-lang"

// Locale is what the texts of a page depend on: time zone and language of its property.
type Locale struct {
	TimeZone string // IANA name
	Language string // "" if the property has chosen none
}

// Words returns a renderer of texts in the time zone of the property (UTC if it is unknown) and the best language: chosen if it has texts,
// else the first language in the Accept-Language header accept that has texts, else the property's, else English.
func (k *Kit) Words(chosen, accept string, of Locale) Words {
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

// Words returns the renderer of texts for the page of the request, in the language that was chosen on the device, else the best one for
// browser and property: see [Kit.Words].
func (x *Exchange) Words(of Locale) Words {
	return x.area.Words(x.ChosenLanguage(), x.R.Header.Get("Accept-Language"), of)
}

// ChosenLanguage returns the language that was chosen on the device. It is "" without a choice, for an unknown language, or if
// IgnoreChosenLanguage is set.
func (x *Exchange) ChosenLanguage() string {
	if x.IgnoreChosenLanguage {
		return ""
	}
	if chosen := x.Cookie(languageCookie); slices.Contains(x.area.languages, chosen) {
		return chosen
	}
	return ""
}

// ForgetLanguage deletes the cookie with the chosen language. The current page ignores the choice, too.
func (x *Exchange) ForgetLanguage() {
	if x.Cookie(languageCookie) == "" {
		return
	}
	x.DropCookie(languageCookie)
	x.IgnoreChosenLanguage = true
}

// Dir returns the HTML attribute dir of the language: ltr or rtl.
func (w Words) Dir() string { return message.Direction(w.Lang) }

// LanguageName returns the name of a language in that language itself, or "English" for a language without texts.
func (w Words) LanguageName(language string) string {
	return message.Reader{Language: language}.Text(message.Message{Kind: "language.self"})
}
