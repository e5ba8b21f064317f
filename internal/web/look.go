package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// themeCookie keeps which colors the guest of this device wants. Without it the device decides.
const themeCookie = "lk-theme"

// lookAge is how long browsers keep how pages look.
const lookAge = 400 * 24 * time.Hour

// themes are the values of themeCookie. Each is the name of a button; "system" deletes the cookie.
var themes = []string{"system", "light", "dark"}

// lookQuery marks the address of a form that changes how its page looks. The form is sent to the page itself, so that no other field
// has to say where the browser goes on.
const lookQuery = "look"

// theme is the guest's choice of colors: light, dark or, if the device decides, "". A tablet in a bright lobby is always light.
func (x *exchange) theme() string {
	if theme := x.cookie(themeCookie); theme != themes[0] && slices.Contains(themes, theme) && !x.flow.Kiosk {
		return theme
	}
	return ""
}

// lookURL returns the address to which a page sends the choice of its look; "" for a page that the browser cannot load again.
func (x *exchange) lookURL() string {
	if x.r.Method != http.MethodGet {
		if _, pattern := x.site.mux.Handler(&http.Request{Method: http.MethodGet, Host: x.r.Host, URL: x.r.URL}); pattern == "/" {
			return ""
		}
	}
	if query := x.r.URL.RawQuery; query != "" {
		return "?" + lookQuery + "&" + query
	}
	return "?" + lookQuery
}

// handleLook serves the forms that change how pages look. They change nothing else and need no session.
func (s *site) handleLook(next http.Handler) http.Handler {
	save := s.httpHandler(s.saveLook)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(r.URL.RawQuery, "&")
		if r.Method == http.MethodPost && name == lookQuery {
			save.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// saveLook keeps the choice on the device and shows the page again, with what the guest has typed into it.
func (s *site) saveLook(x *exchange) error {
	path := x.r.URL.Path
	if !slices.ContainsFunc(Paths, func(p string) bool { return strings.HasPrefix(path, p) }) {
		return x.notFound()
	}
	typed := x.typedRequest()
	switch theme := x.r.PostForm.Get("theme"); {
	case theme == themes[0]:
		x.dropCookie(themeCookie)
		replaceCookie(typed, x.cookieName(themeCookie), "")
	case slices.Contains(themes, theme):
		x.setCookie(themeCookie, theme, s.now().Add(lookAge))
		replaceCookie(typed, x.cookieName(themeCookie), theme)
	}
	if lang := x.r.PostForm.Get("lang"); slices.Contains(s.languages.names, lang) {
		until := s.now().Add(lookAge)
		if strings.HasPrefix(path, "/k/") {
			until = time.Time{} // for this guest; the start page ends it
		}
		x.setCookie(languageCookie, lang, until)
		x.saveLanguage(lang)
		replaceCookie(typed, x.cookieName(languageCookie), lang)
	}
	if x.key() != "" {
		s.mux.ServeHTTP(x.w, typed)
		return nil
	}
	_, query, _ := strings.Cut(x.r.URL.RawQuery, "&")
	return x.redirect((&url.URL{Path: path, RawQuery: query}).String())
}

// hasTyped reports whether the page shows what was posted in place of what is stored: only the request of [exchange.typedRequest] reads
// a page and has a posted form.
func (x *exchange) hasTyped() bool { return x.r.Method == http.MethodGet && len(x.r.PostForm) > 0 }

// typedRequest is a request for the page of a posted form that shows what was posted. It saves nothing.
func (x *exchange) typedRequest() *http.Request {
	r := x.r.Clone(x.r.Context())
	r.Method = http.MethodGet
	_, r.URL.RawQuery, _ = strings.Cut(r.URL.RawQuery, "&")
	r.PostForm.Del("key")
	return r
}

// replaceCookie sets a cookie of a request; an empty value removes it.
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
