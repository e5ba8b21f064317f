package guest

import (
	"fmt"
	"hash/fnv"
	"html/template"
	"net/http"
)

// showOffline is the page for a phone that does not reach the server. The service worker keeps it; its script adds what the phone kept of the stay.
func (s *site) showOffline(x *exchange) error {
	p := x.newPage(nil, "web.offline.title")
	p.LookURL, p.Stored = "", true
	return x.render(http.StatusOK, "offline", p)
}

// KeptAt is where the script puts the time at which the phone kept a part.
func (p *page) KeptAt() template.HTML { return "<time data-at></time>" }

// CodeVersion changes when what is known about the codes changes. A phone then keeps the page of the codes again.
func (v keyView) CodeVersion() string {
	h := fnv.New64a()
	for _, d := range v.Doors {
		fmt.Fprintln(h, d.GetId(), d.GetPin(), d.GetReason(), d.GetPinConfirmedAt().GetSeconds())
	}
	return fmt.Sprintf("%x", h.Sum64())
}
