package staff

import (
	"html/template"
	"net/http"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/web/kit"
)

// page is what a template renders.
type page struct {
	kit.Page
	Session *propertyv1.CurrentSession // nil without one
	Role    *propertyv1.PersonProperty // the property of the page with the person's role; nil: none
	Areas   []area                     // what the rail leads to
	Here    string                     // the name of the area of the page
	Tabs    []area                     // the pages of settings, on each of them
	Done    string                     // the message of the result of an action that was just made, or ""
	Sizing  *sizing                    // other numbers of rows for the list of the page; nil: none are offered
	typed   *typedForm                 // what was typed into a form of the page before the person confirmed; nil: nothing
	secret  bool                       // the page shows a secret, so that it is never compressed
}

// newPage returns a page for the exchange. Its title is a message.
func (x *exchange) newPage(title string, kv ...any) *page {
	p := &page{Page: x.NewPage(kit.Place{TimeZone: x.property.GetTimeZone()}, title, kv...), Session: x.session, Role: x.role, typed: x.typed}
	if x.typed != nil {
		x.DropCookie(typedCookie)
	}
	for _, a := range areas {
		if x.may(a.right) {
			p.Areas = append(p.Areas, a)
		}
	}
	if done := x.R.URL.Query().Get("done"); x.R.Method == http.MethodGet && slices.Contains(results, done) {
		p.Done = "staff.done." + done
	}
	return p
}

// results are the names of the results of actions that a page can show after a redirect: the message staff.done.NAME.
var results = []string{"password", "secondEnded", "sessionEnded", "cleared", "refused", "asked", "callEnded", "resent", "noAddress",
	"lockNamed", "lockAssigned", "bridgeRevoked", "noticeRead", "codeMade", "codeRevoked",
	"saved", "created", "deleted", "mapped", "taken", "takenPart", "read", "revoked", "withdrawn", "removed", "undone", "waived",
	"extended", "pinReplaced", "swapped", "linked", "unlinked", "imported"}

// House returns the name of the property of the page, or "".
func (p *page) House() string { return p.Role.GetName() }

// render answers with a page.
func (x *exchange) render(status int, name string, p *page) error {
	return x.Render(status, name, p, p.secret)
}

// With passes a value to a part together with its page.
func (p *page) With(value any) part { return part{page: p, V: value} }

// part is a page with a value of its own.
type part struct {
	*page
	V any
}

// Who returns the name of a recorded author. A person who was removed from the property has none any more. It is "" for other authors without
// a name, such as programs.
func (p *page) Who(name, author string) string {
	if name == "" && strings.HasPrefix(author, "staff:"+id.Person+"_") {
		return p.Text("staff.former", nil)
	}
	return name
}

// formView is a page with one form.
type formView struct {
	About  template.HTML // what the form is about, or ""
	Text   string        // the message below that, or ""
	Inputs []kit.Input
	Button string // message
	Action string // where the form is posted; "": to the address of the page
	Links  []link

	Passkey  *passkeyForm  // another way, below the form; nil: none
	Provider *providerView // another way, below that; nil: none
}

// link leads to another page. Its text is a message.
type link struct{ URL, Text string }

// form answers with a page with one form.
func (x *exchange) form(status int, p *page, v formView) error {
	p.Data = v
	return x.render(status, "form", p)
}
