package kit

import (
	"net/http"
	"time"
)

// CookieName returns the stored name of a cookie. With TLS it has the prefix __Host-, so other hosts of the domain cannot set it.
func (x *Exchange) CookieName(name string) string {
	if x.area.Secure(x.R) {
		return "__Host-" + name
	}
	return name
}

// Cookie returns the value of a cookie of the request, or "" if there is none. name is without the prefix.
func (x *Exchange) Cookie(name string) string {
	c, err := x.R.Cookie(x.CookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// SetCookie stores a cookie until a time. With the zero time, the browser deletes it when it closes.
func (x *Exchange) SetCookie(name, value string, until time.Time) {
	http.SetCookie(x.W, &http.Cookie{
		Name: x.CookieName(name), Value: value, Path: "/", Expires: until, Secure: x.area.Secure(x.R), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// DropCookie deletes a cookie in the browser.
func (x *Exchange) DropCookie(name string) {
	http.SetCookie(x.W, &http.Cookie{
		Name: x.CookieName(name), Path: "/", MaxAge: -1, Secure: x.area.Secure(x.R), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}
