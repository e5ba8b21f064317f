package guest

import (
	"crypto/rand"
	"html/template"
	"net/http"
	"strings"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/web/kit"
)

// page is the data of every template of this package. Templates call its methods.
type page struct {
	kit.Page
	Kiosk    bool
	Property *guestv1.PropertyFace // public data of the property, or nil
	Flow     flow
	Refresh  int    // seconds until the script loads the page again; 0: never
	Stored   bool   // a phone stores the page for use without a connection
	Gone     bool   // the stay is over, or this device no longer has it: the script deletes what the device stored of it
	Idle     string // mode of a kiosk's script: guest, code, start, closed or cut (see ts/kiosk.ts); other devices ignore it
	Called   bool   // staff were just called: the page does not offer to call them again
	OnPhone  bool   // the page itself has the QR code for the guest's phone, so its foot does not link to it

	prefix string // prefix of input names at a kiosk, see Name; "" elsewhere
}

// wrong is one line of the error summary.
type wrong = kit.Wrong

// qrCode is a QR code. The zero qrCode means that there is none.
type qrCode = kit.QR

// localeOf returns the time zone and language of a property, on which texts depend. face is the property's public data.
func localeOf(face *guestv1.PropertyFace) kit.Locale {
	return kit.Locale{TimeZone: face.GetTimeZone(), Language: face.GetLanguage()}
}

// newPage returns the data of a page. title is a message kind, such as "web.find.title", kv are names and values of its parameters, and
// face is the property or nil. At a kiosk, the page is light, and Idle is guest.
func (x *exchange) newPage(face *guestv1.PropertyFace, title string, kv ...any) *page {
	p := &page{Page: x.NewPage(localeOf(face), title, kv...), Kiosk: x.flow.Kiosk, Property: face, Flow: x.flow}
	if p.Kiosk {
		p.Idle = "guest"
		p.prefix = strings.ToLower(rand.Text()[:6]) + "~"
		p.Look = "" // a tablet is always light, because lobbies are bright
	}
	return p
}

// secretPages are the names of pages that show PINs or a new link, also as a QR code. They are not compressed, because the compressed size
// would reveal a secret: see [kit.Exchange.Render].
var secretPages = map[string]bool{"key": true, "newlink": true, "phone": true}

// render executes the template with this name and sends it with an HTTP status. Status 410, or 404 without a loaded stay, also sets p.Gone.
func (x *exchange) render(status int, name string, p *page) error {
	// After a 404 without a loaded stay, this device no longer has the stay.
	p.Gone = p.Gone || status == http.StatusGone || status == http.StatusNotFound && x.flow.Stay == nil
	p.Keeps = p.Keeps && !p.Kiosk // a kiosk offers no choice of colors or language on a page with answers
	return x.Render(status, name, p, secretPages[name])
}

// label returns the label of a question as HTML: the text of a question that the property added, or the message field.NAME.
func (p *page) label(f *guestv1.FormField) template.HTML {
	if f.GetLabel() != "" {
		return template.HTML(template.HTMLEscapeString(f.GetLabel()))
	}
	return p.Or("field."+f.GetName(), "web.question")
}

// Name returns the name of an input. At a kiosk it has a random prefix, so that the browser suggests no values of earlier guests.
func (p *page) Name(name string) string { return p.prefix + name }

// OffersPhone reports whether the foot of the page links to the QR code for the guest's phone: at a kiosk with a guest, until the check-in
// is complete, except on a page that has this code itself.
func (p *page) OffersPhone() bool {
	stage := p.Flow.Stay.GetCheckIn().GetStage()
	return p.Kiosk && p.Flow.Stay != nil && !p.OnPhone && stage != "checkedIn" && stage != "ended"
}

// Theme returns the URL of the style sheet with the property's colour, or "".
func (p *page) Theme() string { return kit.ThemeURL(p.Property.GetAccent()) }

// Face returns the layout of the page: guest or kiosk.
func (p *page) Face() string {
	if p.Kiosk {
		return "kiosk"
	}
	return "guest"
}

// Schemes returns the CSS color schemes of the page.
func (p *page) Schemes() string {
	if p.Kiosk {
		return "light"
	}
	return p.Page.Schemes()
}

// With passes value to a nested template together with the page, because a template has only one argument.
func (p *page) With(value any) part { return part{page: p, V: value} }

// part is the argument of a nested template: the page, and a value in V.
type part struct {
	*page
	V any
}

// functions are the template functions that need no page.
var functions = template.FuncMap{"answered": answered, "missing": missing, "left": left}
