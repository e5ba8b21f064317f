package kit

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// themeCookie keeps which colors a person wants on this device. Without it the device decides.
const themeCookie = "lk-theme"

// LookAge is how long browsers keep how pages look.
const LookAge = 400 * 24 * time.Hour

// themes are the values of themeCookie. Each is the name of a button; "system" deletes the cookie.
var themes = []string{"system", "light", "dark"}

// LookQuery marks the address of a form that changes how its page looks. The form is sent to the page itself, so that no other field
// has to say where the browser goes on.
const LookQuery = "look"

// theme is the person's choice of colors: light, dark or, if the device decides, "".
func (x *Exchange) theme() string {
	if theme := x.Cookie(themeCookie); theme != themes[0] && slices.Contains(themes, theme) {
		return theme
	}
	return ""
}

// lookURL returns the address to which a page sends the choice of its look; "" for a page that the browser cannot load again.
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

// HandleLook serves the forms that change how pages look with save. They change nothing else and need no session.
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

// SaveLook keeps the choice on the device, a language until a time, and shows the page again, with what was typed into it. It calls chosen
// with the language that was chosen, if one was.
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

// typedRequest is a request for the page of a posted form that shows what was posted. It saves nothing.
func (x *Exchange) typedRequest() *http.Request {
	r := x.R.Clone(x.R.Context())
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
