package guest

import (
	"regexp"
	"time"
)

// Names of cookies. On a guest's device, the id of a stay follows the name: stayCookie has the session of that stay, and doorCookie the
// door whose QR code the guest scanned to find it, so that the guest can search again after the session. A tablet has its own token in
// kioskCookie, and the session of its current guest in visitCookie.
const (
	stayCookie  = "lk-stay-"
	doorCookie  = "lk-door-"
	kioskCookie = "lk-kiosk"
	visitCookie = "lk-visit"
)

// kioskAge is how long a browser stores the token of a tablet. Staff can revoke the token earlier.
const kioskAge = 400 * 24 * time.Hour

// cookieID matches the ids that may be part of a cookie's name.
var cookieID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
