package operator

import (
	"net/http"
	"slices"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// page is what a template renders.
type page struct {
	kit.Page
	Session *adminv1.OperatorSession // nil without one
	Areas   []area                   // what the rail leads to
	Here    string                   // the name of the area of the page
	Done    string                   // the message of the result of an action that was just made, or ""
	secret  bool                     // the page shows a secret, so that it is never compressed
}

// newPage returns a page for the exchange. Its title is a message.
func (x *exchange) newPage(title string) *page {
	p := &page{Page: x.NewPage(kit.Place{}, title), Session: x.session, Areas: areas}
	if done := x.R.URL.Query().Get("done"); x.R.Method == http.MethodGet && slices.Contains(results, done) {
		p.Done = "operator.done." + done
	}
	return p
}

// areaPage returns the page of an area.
func (x *exchange) areaPage(name string) *page {
	p := x.newPage("operator.area." + name)
	p.Here = name
	return p
}

// results are the names of the results of actions that a page can show after a redirect: the message operator.done.NAME.
var results = []string{"deleted", "revoked", "retried", "discarded"}

// render answers with a page.
func (x *exchange) render(status int, name string, p *page) error {
	return x.Render(status, name, p, p.secret)
}

// House returns what the title of the page ends with.
func (p *page) House() string { return "Latchkey" }

// With passes a value to a part together with its page.
func (p *page) With(value any) part { return part{page: p, V: value} }

// part is a page with a value of its own.
type part struct {
	*page
	V any
}

// chip is a state with its color and its mark. Its text is a message.
type chip struct{ Tone, Mark, Text string }

// shownSecret is a secret that a page shows once. Its name and its text are messages.
type shownSecret struct{ Name, Text, Value string }

// refuse adds what is wrong with the inputs of a page. It returns false if the fault is about something else.
func refuse(p *page, f *fault.Fault, inputs []kit.Input) bool {
	if f.Kind == fault.Exists {
		f = fault.Fields(fault.Field{Path: "name", Reason: fault.Duplicate})
	}
	return f.Kind == fault.Invalid && p.Refuse(f, inputs)
}
