package kit

import (
	"net/http"
	"strings"
)

// setHeaders sets the headers of every page. They go out even with an error.
func (x *Exchange) setHeaders() {
	h := x.W.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+x.nonce+"' 'strict-dynamic'; style-src 'self'; img-src 'self' data:; font-src 'self'; "+
		"connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "+
		"require-trusted-types-for 'script'; trusted-types latchkey")
	// Links hold secrets, so other sites get no referrer. With no-referrer, browsers would send a form to this site with Origin: null, and
	// [Protect] would refuse it where they send no Sec-Fetch-Site: without TLS, and in Safari before 16.4.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Permissions-Policy", Permissions(false))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Encoding, Accept-Language, Cookie, Sec-Fetch-Site")
}

// Permissions returns the Permissions-Policy, which switches every feature off. A kiosk keeps its screen on.
func Permissions(kiosk bool) string {
	off := []string{"accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "fullscreen", "geolocation", "gyroscope",
		"magnetometer", "microphone", "midi", "payment", "publickey-credentials-get", "usb", "xr-spatial-tracking"}
	policy := strings.Join(off, "=(), ") + "=(), screen-wake-lock="
	if kiosk {
		return policy + "(self)"
	}
	return policy + "()"
}

// Protect refuses requests that another site's page makes with this site's cookies.
func Protect(next, refuse http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(refuse)
	return guard.Handler(next)
}
