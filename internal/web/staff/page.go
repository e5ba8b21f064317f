package staff

import (
	"html/template"
	"net/http"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/text"
	"latchkey.dev/internal/web/kit"
)

// page is the data of every template of this package.
type page struct {
	kit.Page
	Session *propertyv1.CurrentSession // nil if the person is not signed in
	Role    *propertyv1.PersonProperty // the property of the page and the person's role there; nil if the person has no property or is not signed in
	Areas   []area                     // the entries of the menu
	Here    string                     // the name of the menu entry that the page belongs to
	Tabs    []area                     // the pages of the settings, on a page of the settings
	Done    string                     // kind of the message that confirms the action before the redirect, or ""
	Sizing  *sizing                    // the choice of the number of rows, or nil if the page offers none
	typed   *typedForm                 // form values to show again: those of a refused form or of exchange.typed, or nil
	secret  bool                       // the page shows a secret: it is never compressed, see [kit.Exchange.Render]
}

// newPage returns the data of a page. title is a message kind, such as "staff.locks.title", and kv are names and values of its parameters.
// If the page shows restored form values, newPage deletes their cookie.
func (x *exchange) newPage(title string, kv ...any) *page {
	p := &page{Page: x.NewPage(kit.Locale{TimeZone: x.property.GetTimeZone()}, title, kv...), Session: x.session, Role: x.role, typed: x.typed}
	p.PropertyID = x.role.GetPropertyId()
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

// results are the allowed values of the query "done" after a redirect. The page shows the message staff.done.NAME.
var results = []string{"password", "firstPassword", "secondEnded", "sessionEnded", "cleared", "refused", "asked", "callEnded", "resent", "noAddress", "mailSent", "mailGone", "erasure",
	"lockNamed", "lockAssigned", "bridgeRevoked", "noticeRead", "codeMade", "codeRevoked",
	"saved", "created", "deleted", "mapped", "taken", "takenPart", "read", "revoked", "withdrawn", "removed", "undone", "waived",
	"extended", "pinReplaced", "swapped", "linked", "unlinked", "imported"}

// TitleSuffix returns the end of the HTML title: the name of the property of the page, or "".
func (p *page) TitleSuffix() string { return p.Role.GetName() }

// Full returns the full name of a space. parent is the name of its dorm, or "".
func (p *page) Full(parent, name string) string { return text.FullName(parent, name) }

// render executes the template with this name and sends it with an HTTP status. With an error status, the page shows the posted values
// again.
func (x *exchange) render(status int, name string, p *page) error {
	if status >= http.StatusBadRequest {
		x.showPosted(p)
	}
	return x.Render(status, name, p, p.secret)
}

// With passes value to a nested template together with the page, because a template has only one argument.
func (p *page) With(value any) part { return part{page: p, V: value} }

// part is the argument of a nested template: the page, and a value in V.
type part struct {
	*page
	V any
}

// Who returns the name to show for the author of a record, such as an audit entry. name is the stored name, or "". A removed person has no
// stored name and is shown as "former colleague". For other authors without a name, such as programs, it returns "".
func (p *page) Who(name, author string) string {
	if name == "" && strings.HasPrefix(author, "staff:"+id.Person+"_") {
		return p.Text("staff.former", nil)
	}
	return name
}

// formView is a page that consists of one form.
type formView struct {
	About  template.HTML // text about the purpose of the form, or ""
	Text   string        // message kind of the text below About, or ""
	Inputs []kit.Input
	Button string // message kind
	Action string // URL that the form posts to; "" for the URL of the page
	Links  []link

	Passkey  *passkeyForm  // a passkey as another way, below the form, or nil
	Provider *providerView // the identity provider as another way, below the passkey, or nil
}

// link is a link to another page. Text is a message kind.
type link struct{ URL, Text string }

// form renders v, a page that consists of one form.
func (x *exchange) form(status int, p *page, v formView) error {
	p.Data = v
	return x.render(status, "form", p)
}
