package web

import (
	"net/http"
	"regexp"
	"time"
)

// Cookies: one session for each stay on a guest's device; a tablet's token, and the session of its current guest.
const (
	stayCookie  = "lk-stay-"
	kioskCookie = "lk-kiosk"
	visitCookie = "lk-visit"
)

// kioskAge is how long browsers keep a tablet's token. Staff revoke it.
const kioskAge = 400 * 24 * time.Hour

// cookieID is the form of the ids in cookie names.
var cookieID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// cookieName returns the name under which a cookie is stored. Over TLS its prefix binds it to the host.
func (x *exchange) cookieName(name string) string {
	if x.site.secure(x.r) {
		return "__Host-" + name
	}
	return name
}

func (x *exchange) cookie(name string) string {
	c, err := x.r.Cookie(x.cookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie stores a cookie until a time; the zero time: until the browser ends.
func (x *exchange) setCookie(name, value string, until time.Time) {
	http.SetCookie(x.w, &http.Cookie{
		Name: x.cookieName(name), Value: value, Path: "/", Expires: until, Secure: x.site.secure(x.r), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (x *exchange) dropCookie(name string) {
	http.SetCookie(x.w, &http.Cookie{
		Name: x.cookieName(name), Path: "/", MaxAge: -1, Secure: x.site.secure(x.r), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}
