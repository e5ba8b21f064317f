package guest

import (
	"slices"
	"strings"
	"time"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/web/kit"
)

// words returns the renderer of texts for a page of the property, in the guest's language.
func (x *exchange) words(face *guestv1.PropertyFace) kit.Words { return x.Words(localeOf(face)) }

// language returns the language to store for the guest, or "" if it is unknown. At a tablet only the guest's choice counts, because the
// browser's language is not the guest's.
func (x *exchange) language() string {
	if x.flow.Kiosk {
		return x.ChosenLanguage()
	}
	return x.pageLanguage()
}

// pageLanguage returns the language of the page: the chosen one, else the first of the browser's languages that has texts. It returns "" if
// neither exists. The page is then in the property's language.
func (x *exchange) pageLanguage() string {
	if chosen := x.ChosenLanguage(); chosen != "" {
		return chosen
	}
	return message.Match(x.R.Header.Get("Accept-Language"))
}

// saveLook handles the form that chooses colors or language. At a tablet the choice of a language ends with the visit: the start page is
// for the next guest.
func (s *site) saveLook(x *exchange) error {
	path := x.R.URL.Path
	if !slices.ContainsFunc(Paths, func(p string) bool { return strings.HasPrefix(path, p) }) {
		return x.notFound()
	}
	until := s.Now().Add(kit.LookAge)
	if strings.HasPrefix(path, "/k/") {
		until = time.Time{}
	}
	return x.SaveLook(until, x.saveLanguage)
}

// saveLanguage stores the chosen language with the stay, so that mails use it. Without a session it does nothing. An error is only logged:
// the cookie already has the choice for pages.
func (x *exchange) saveLanguage(language string) {
	token := x.Cookie(visitCookie)
	if id, ok := strings.CutPrefix(x.R.URL.Path, "/g/stays/"); ok {
		id, _, _ = strings.Cut(id, "/")
		token = x.Cookie(stayCookie + id)
	} else if !strings.HasPrefix(x.R.URL.Path, "/k/") {
		return
	}
	if token == "" {
		return
	}
	if _, err := x.site.api.Stays.SetLanguage(x.callContextOf(token), &guestv1.SetLanguageRequest{Language: language}); err != nil {
		x.site.Logger.InfoContext(x.R.Context(), "a guest's language was not stored", "error", err)
	}
}
