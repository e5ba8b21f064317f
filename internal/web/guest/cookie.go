package guest

import (
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
