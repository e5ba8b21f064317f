package guest

import (
	"regexp"
	"time"
)

// Names of cookies: stayCookie is followed by the id of a stay and has its session on a guest's device. doorCookie has the QR code by which the
// guest found that stay, so that the guest can search again after the session.
// A tablet has its own token and the session of its current guest.
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
