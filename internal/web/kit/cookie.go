package kit

import (
	"net/http"
	"time"
)

// CookieName returns the name under which a cookie is stored. Over TLS its prefix binds it to the host.
func (x *Exchange) CookieName(name string) string {
	if x.area.Secure(x.R) {
		return "__Host-" + name
	}
	return name
}

// Cookie returns the value of a cookie, or "".
func (x *Exchange) Cookie(name string) string {
	c, err := x.R.Cookie(x.CookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// SetCookie stores a cookie until a time; the zero time: until the browser ends.
func (x *Exchange) SetCookie(name, value string, until time.Time) {
	http.SetCookie(x.W, &http.Cookie{
		Name: x.CookieName(name), Value: value, Path: "/", Expires: until, Secure: x.area.Secure(x.R), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// DropCookie deletes a cookie.
func (x *Exchange) DropCookie(name string) {
	http.SetCookie(x.W, &http.Cookie{
		Name: x.CookieName(name), Path: "/", MaxAge: -1, Secure: x.area.Secure(x.R), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}
