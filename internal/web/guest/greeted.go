package guest

import "net/http"

// Sentences returns the names of the texts that the script of the greeting page shows: the messages web.greeted.NAME.
func (p *page) Sentences() []string {
	return []string{"noGreeting", "noKey", "choose", "sending", "show", "over", "expired", "ended"}
}

// showGreeted handles the page behind the QR code of a kiosk. The script of the page reads the greeting in the fragment of the URL, which the
// server does not get, and shows the answer. The service worker of the phone stores the page, so it works offline.
func (s *site) showGreeted(x *exchange) error {
	p := x.newPage(nil, "web.greeted.title")
	p.LookURL, p.Stored = "", true // no choice of colors or language: a reload would lose the greeting
	return x.render(http.StatusOK, "greeted", p)
}
