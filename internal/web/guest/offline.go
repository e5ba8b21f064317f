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

// KeptAt returns the element into which the script writes when the phone stored a part.
func (p *page) KeptAt() template.HTML { return "<time data-at></time>" }

// CodeVersion returns a version that changes with the state of the codes. The phone then stores the page of the PINs again.
func (v pinView) CodeVersion() string {
	h := fnv.New64a()
	for _, d := range v.Doors {
		fmt.Fprintln(h, d.GetId(), d.GetPin(), d.GetReason(), d.GetPinConfirmedAt().GetSeconds())
	}
	return fmt.Sprintf("%x", h.Sum64())
}
