package guest

import (
	"fmt"
	"hash/fnv"
	"html/template"
	"net/http"
)

// showOffline handles the page for a phone without a connection. The service worker stores it, and its script adds the parts of the stay that
// the phone has stored.
func (s *site) showOffline(x *exchange) error {
	p := x.newPage(nil, "web.offline.title")
	p.LookURL, p.Stored = "", true
	return x.render(http.StatusOK, "offline", p)
}

// KeptAt returns the HTML element in which the script shows at what time the phone stored a part of the stay.
func (p *page) KeptAt() template.HTML { return "<time data-at></time>" }

// CodeVersion returns a hash of the states of the codes. If it changes, the phone stores the page of the PINs again.
func (v pinView) CodeVersion() string {
	h := fnv.New64a()
	for _, d := range v.Doors {
		fmt.Fprintln(h, d.GetId(), d.GetPin(), d.GetReason(), d.GetPinConfirmedAt().GetSeconds())
	}
	return fmt.Sprintf("%x", h.Sum64())
}
