package guest

import "net/http"

// Sentences are what the script of the page for a greeting says: the message web.greeted.NAME.
func (p *page) Sentences() []string {
	return []string{"noGreeting", "noKey", "choose", "sending", "show", "over", "expired", "ended"}
}

// showGreeted is the page that a kiosk's QR code opens. Its script reads the greeting, which the server does not get, and draws the answer. The
// phone's service worker keeps the page: it works without internet.
func (s *site) showGreeted(x *exchange) error {
	p := x.newPage(nil, "web.greeted.title")
	p.LookURL, p.Stored = "", true // a choice of the look would lose the greeting
	return x.render(http.StatusOK, "greeted", p)
}
