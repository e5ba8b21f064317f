package guest

import "net/http"

// Sentences returns the names of the texts that the script of showGreeted shows: the messages web.greeted.NAME.
func (p *page) Sentences() []string {
	return []string{"noGreeting", "noKey", "choose", "sending", "show", "over", "expired", "ended"}
}

// showGreeted handles the page that a phone opens with the QR code of a kiosk, to open a door with its SmartKey without internet. The code
// is a greeting, a challenge in the fragment of the URL, which the server does not get. The script reads it and shows the phone's signed
// answer. The service worker of the phone stores the page, so it works offline.
func (s *site) showGreeted(x *exchange) error {
	p := x.newPage(nil, "web.greeted.title")
	p.LookURL, p.Stored = "", true // no choice of colors or language: a reload would lose the greeting
	return x.render(http.StatusOK, "greeted", p)
}
