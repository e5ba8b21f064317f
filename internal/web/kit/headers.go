package kit

import (
	"net/http"
	"slices"
	"strings"
)

// setHeaders sets the security headers of every page and every error page.
func (x *Exchange) setHeaders() {
	h := x.W.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+x.nonce+"' 'strict-dynamic'; style-src 'self'; img-src 'self' data:; font-src 'self'; "+
		"connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "+
		"require-trusted-types-for 'script'; trusted-types latchkey")
	// Links hold secrets, so other sites get no referrer. With no-referrer, browsers would send a form to this site with Origin: null, and
	// [Protect] would refuse it where they send no Sec-Fetch-Site: without TLS, and in Safari before 16.4.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Permissions-Policy", Permissions())
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Encoding, Accept-Language, Cookie, Sec-Fetch-Site")
}

// Features of browsers that are off by default, and that some pages switch on with [Permissions].
const (
	KeepScreenOn = "screen-wake-lock"          // the tablet at the door
	UsePasskeys  = "publickey-credentials-get" // the dashboard
)

// Permissions returns the value of the header Permissions-Policy. It switches every listed feature off except those in used.
func Permissions(used ...string) string {
	off := []string{"accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "fullscreen", "geolocation", "gyroscope",
		"magnetometer", "microphone", "midi", "payment", UsePasskeys, KeepScreenOn, "usb", "xr-spatial-tracking"}
	for i, feature := range off {
		off[i] += "=()"
		if slices.Contains(used, feature) {
			off[i] = feature + "=(self)"
		}
	}
	return strings.Join(off, ", ")
}

// Protect wraps next against CSRF. Requests other than GET, HEAD and OPTIONS that come from a page of another site go to refuse instead. A
// request with neither of the headers Origin and Sec-Fetch-Site passes, because browsers send one of them.
func Protect(next, refuse http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(refuse)
	return guard.Handler(next)
}

// deviceNames maps a word in a User-Agent to the device that lists of sessions show. The first match counts: an iPad also
// contains Mac, and Android also contains Linux.
var deviceNames = []struct{ said, name string }{
	{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Macintosh", "Mac"}, {"Linux", "Linux"},
}

// DeviceOf returns the kind of device of a User-Agent, such as "iPhone", or "" if it is unknown. Sessions store only this kind, not the
// User-Agent.
func DeviceOf(userAgent string) string {
	for _, d := range deviceNames {
		if strings.Contains(userAgent, d.said) {
			return d.name
		}
	}
	return ""
}
