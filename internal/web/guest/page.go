package guest

import (
	"crypto/rand"
	"html/template"
	"net/http"
	"strings"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/web/kit"
)

// page is what a template renders. Its methods are the functions of templates.
type page struct {
	kit.Page
	Kiosk    bool
	Property *guestv1.PropertyFace
	Flow     flow
	Refresh  int    // seconds until the script loads the page again; 0: never
	Stored   bool   // a phone keeps the page to show it later
	Gone     bool   // the stay is over for this device: it forgets what it kept
	Idle     string // at a kiosk: guest, code, start, closed or cut (see ts/kiosk.ts)
	Called   bool   // staff have been called, so that the page does not offer it
	OnPhone  bool   // the page itself leads to the guest's phone, or is about it

	prefix string // of input names at a kiosk
}

// wrong is one line of the error summary.
type wrong = kit.Wrong

// qrCode is a QR code. The zero qrCode is none.
type qrCode = kit.QR

// placeOf is what the texts of a page need to know of its property.
func placeOf(face *guestv1.PropertyFace) kit.Place {
	return kit.Place{TimeZone: face.GetTimeZone(), Language: face.GetLanguage()}
}

// newPage returns a page for the exchange. Its title is a message.
func (x *exchange) newPage(face *guestv1.PropertyFace, title string, kv ...any) *page {
	p := &page{Page: x.NewPage(placeOf(face), title, kv...), Kiosk: x.flow.Kiosk, Property: face, Flow: x.flow}
	if p.Kiosk {
		p.Idle = "guest"
		p.prefix = strings.ToLower(rand.Text()[:6]) + "~"
		p.Look = "" // a tablet in a bright lobby is always light
	}
	return p
}

// secretPages show the PINs or a new link.
var secretPages = map[string]bool{"key": true, "newlink": true}

// render answers with a page.
func (x *exchange) render(status int, name string, p *page) error {
	p.Gone = p.Gone || status == http.StatusNotFound || status == http.StatusGone
	p.Keeps = p.Keeps && !p.Kiosk // a kiosk offers no choice of the look on a page with answers
	return x.Render(status, name, p, secretPages[name])
}

// label is the name of a question.
func (p *page) label(f *guestv1.FormField) template.HTML {
	if f.GetLabel() != "" {
		return template.HTML(template.HTMLEscapeString(f.GetLabel()))
	}
	return p.Or("field."+f.GetName(), "web.question")
}

// Name returns the name of an input. At a kiosk it has a random prefix, so that the browser remembers nothing.
func (p *page) Name(name string) string { return p.prefix + name }

// OffersPhone reports whether the foot of the page leads to the guest's own phone: at a kiosk, until the code is shown.
func (p *page) OffersPhone() bool {
	stage := p.Flow.Stay.GetCheckIn().GetStage()
	return p.Kiosk && p.Flow.Stay != nil && !p.OnPhone && stage != "checkedIn" && stage != "ended"
}

// Theme returns the URL of the property's colours, or "".
func (p *page) Theme() string { return kit.ThemeURL(p.Property.GetAccent()) }

// Face is the size of the page: guest or kiosk.
func (p *page) Face() string {
	if p.Kiosk {
		return "kiosk"
	}
	return "guest"
}

// Schemes are the color schemes of the page, as browsers name them.
func (p *page) Schemes() string {
	if p.Kiosk {
		return "light"
	}
	return p.Page.Schemes()
}

// With passes a value to a part together with its page.
func (p *page) With(value any) part { return part{page: p, V: value} }

// part is a page with a value of its own.
type part struct {
	*page
	V any
}

// functions are the functions of templates that need no page.
var functions = template.FuncMap{"answered": answered, "missing": missing, "left": left}
