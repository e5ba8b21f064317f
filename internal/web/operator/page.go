package operator

import (
	"net/http"
	"slices"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// page is the data of every template of this package.
type page struct {
	kit.Page
	Session *adminv1.OperatorSession // nil if the operator is not signed in
	Areas   []area                   // the entries of the menu
	Here    string                   // the name of the menu entry that the page belongs to
	Done    string                   // kind of the message that confirms the action before the redirect, or ""
	secret  bool                     // the page shows a secret: it is never compressed
}

// newPage returns the data of a page. title is a message kind, such as "operator.app.title".
func (x *exchange) newPage(title string) *page {
	p := &page{Page: x.NewPage(kit.Locale{}, title), Session: x.session, Areas: areas}
	if done := x.R.URL.Query().Get("done"); x.R.Method == http.MethodGet && slices.Contains(results, done) {
		p.Done = "operator.done." + done
	}
	return p
}

// areaPage returns the data of a page in the menu. name is that of its [area].
func (x *exchange) areaPage(name string) *page {
	p := x.newPage("operator.area." + name)
	p.Here = name
	return p
}

// results are the allowed values of the query "done" after a redirect. The page shows the message operator.done.NAME.
var results = []string{"deleted", "revoked", "retried", "discarded"}

// render executes the template with this name and sends it with an HTTP status.
func (x *exchange) render(status int, name string, p *page) error {
	return x.Render(status, name, p, p.secret)
}

// TitleSuffix returns the end of the HTML title. Pages of staff have the name of the property there.
func (p *page) TitleSuffix() string { return "Latchkey" }

// With passes value to a nested template together with the page, because a template has only one argument.
func (p *page) With(value any) part { return part{page: p, V: value} }

// part is the argument of a nested template: the page, and a value in V.
type part struct {
	*page
	V any
}

// chip is a state that a page shows as a colored mark with a text. Tone is ok, info, warn, bad or unknown, Mark a character that shows the
// tone without its color, and Text a message kind.
type chip struct{ Tone, Mark, Text string }

// shownSecret is a new secret that a page shows only once. Name and Text are message kinds.
type shownSecret struct{ Name, Text, Value string }

// refuse adds the errors of a refused form to its page. It returns false if f is not about these inputs. It takes "exists already" as an
// error of the input "name".
func refuse(p *page, f *fault.Fault, inputs []kit.Input) bool {
	if f.Kind == fault.Exists {
		f = fault.Fields(fault.Field{Path: "name", Reason: fault.Duplicate})
	}
	return f.Kind == fault.Invalid && p.Refuse(f, inputs)
}
