package kit

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// themeCookie is the name of the cookie with the chosen colors. Without it, the pages follow the setting of the device.
const themeCookie = "lk-theme"

// LookAge is how long browsers store the choice of colors and language.
const LookAge = 400 * 24 * time.Hour

// themes are the values of themeCookie and of the buttons that set it. "system" deletes the cookie.
var themes = []string{"system", "light", "dark"}

// LookQuery is in the query of a URL to which a choice of colors or language is posted. The path is that of the page itself, so the form
// needs no field with the page to return to.
const LookQuery = "look"

// theme returns the chosen colors: light, dark, or "" if the device decides.
func (x *Exchange) theme() string {
	if theme := x.Cookie(themeCookie); theme != themes[0] && slices.Contains(themes, theme) {
		return theme
	}
	return ""
}

// lookURL returns the URL to which the page posts a choice of colors or language. It is "" if the page is the response to a POST and its
// URL has no page for a GET.
func (x *Exchange) lookURL() string {
	if x.R.Method != http.MethodGet {
		if _, pattern := x.area.Mux.Handler(&http.Request{Method: http.MethodGet, Host: x.R.Host, URL: x.R.URL}); pattern == "/" {
			return ""
		}
	}
	if query := x.R.URL.RawQuery; query != "" {
		return "?" + LookQuery + "&" + query
	}
	return "?" + LookQuery
}

// HandleLook returns a handler that passes posted choices of colors or language (see [LookQuery]) to save, and all other requests to next.
// A choice needs no session.
func HandleLook(next, save http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(r.URL.RawQuery, "&")
		if r.Method == http.MethodPost && name == LookQuery {
			save.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// SaveLook stores the posted choice of colors or language in cookies, and shows the page again. If the page has a form with typed values,
// they are posted, too, and the page shows them; nothing else is saved. until is when the browser forgets the language; the zero time means
// when the browser closes. The choice of colors lasts for LookAge. SaveLook calls chosen with the new language, if there is one.
func (x *Exchange) SaveLook(until time.Time, chosen func(language string)) error {
	typed := x.typedRequest()
	switch theme := x.R.PostForm.Get("theme"); {
	case theme == themes[0]:
		x.DropCookie(themeCookie)
		replaceCookie(typed, x.CookieName(themeCookie), "")
	case slices.Contains(themes, theme):
		x.SetCookie(themeCookie, theme, x.area.Now().Add(LookAge))
		replaceCookie(typed, x.CookieName(themeCookie), theme)
	}
	if lang := x.R.PostForm.Get("lang"); slices.Contains(x.area.languages, lang) {
		x.SetCookie(languageCookie, lang, until)
		chosen(lang)
		replaceCookie(typed, x.CookieName(languageCookie), lang)
	}
	if x.Key() != "" {
		x.area.Mux.ServeHTTP(x.W, typed)
		return nil
	}
	_, query, _ := strings.Cut(x.R.URL.RawQuery, "&")
	return x.Redirect((&url.URL{Path: x.R.URL.Path, RawQuery: query}).String())
}

// typedRequest returns a GET of the page whose form was posted with a choice of colors or language. The page then renders with the posted
// values, and nothing is saved.
func (x *Exchange) typedRequest() *http.Request {
	r := x.R.Clone(x.R.Context())
	r.Method = http.MethodGet
	_, r.URL.RawQuery, _ = strings.Cut(r.URL.RawQuery, "&")
	r.PostForm.Del("key")
	return r
}

// replaceCookie replaces a cookie in a request. An empty value removes it.
func replaceCookie(r *http.Request, name, value string) {
	all := r.Cookies()
	r.Header.Del("Cookie")
	for _, c := range all {
		if c.Name != name {
			r.AddCookie(c)
		}
	}
	if value != "" {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
}
