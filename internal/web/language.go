package web

import (
	"slices"
	"strings"
	"time"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/message"
)

// languageCookie keeps the language that the guest chose. Without it the browser's languages count, and then the property's.
const languageCookie = "lk-lang"

// languages are the names of those that have texts.
type languages struct{ names []string }

func newLanguages() languages { return languages{message.Languages()} }

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
	if matched := message.Match(accept, face.GetLanguage()); matched != "" {
		w.Lang = matched
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

// language returns the language that the guest reads: the choice, else the first of the browser's languages that has texts. It returns "" if
// neither names one. A tablet's browser says nothing about its guest.
func (x *exchange) language() string {
	if chosen := x.cookie(languageCookie); slices.Contains(x.site.languages.names, chosen) {
		return chosen
	}
	if x.flow.Kiosk {
		return ""
	}
	return message.Match(x.r.Header.Get("Accept-Language"))
}

// saveLanguage stores the choice with the stay of the page, so that mails follow it. The choice holds for pages also if that fails.
func (x *exchange) saveLanguage(language string) {
	token := x.cookie(visitCookie)
	if id, ok := strings.CutPrefix(x.r.URL.Path, "/g/stays/"); ok {
		id, _, _ = strings.Cut(id, "/")
		token = x.cookie(stayCookie + id)
	} else if !strings.HasPrefix(x.r.URL.Path, "/k/") {
		return
	}
	if token == "" {
		return
	}
	if _, err := x.site.api.Stays.SetLanguage(x.callContextOf(token), &guestv1.SetLanguageRequest{Language: language}); err != nil {
		x.site.log.InfoContext(x.r.Context(), "a guest's language was not stored", "error", err)
	}
}

// Dir is the direction in which the language is written.
func (w words) Dir() string { return message.Direction(w.Lang) }

// LanguageName is a language's name in that language.
func (w words) LanguageName(language string) string {
	return message.Reader{Language: language}.Text(message.Message{Kind: "language.self"})
}
