package kit

import (
	"crypto/rand"
	"html/template"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"latchkey.dev/internal/message"
	"latchkey.dev/internal/text"
)

// Page is the data that every template has. An area embeds it in its own page type. Templates call its methods.
type Page struct {
	Words
	Nonce string
	Title template.HTML
	Wrong []Wrong // lines of the error summary
	Back  string  // URL of the link "back", or ""
	Key   string  // the idempotency key of the page's forms
	// PropertyID is the id of the property that the page's forms carry, so that they change no other property; "" for none.
	PropertyID string
	Path       string
	Look       string // light, dark or, if the device decides, ""
	LookURL    string // URL that a choice of colors or language is posted to, or "" to offer none
	Keeps      bool   // a choice of colors or language must keep the values that are typed into the form of the page
	Data       any
	Main       template.HTML // the rendered template of the page, which the layout contains

	Languages []string // languages that the person can choose

	files *assets
	now   time.Time
}

// setMain sets the rendered template of the page before the layout is rendered.
func (p *Page) setMain(main template.HTML) { p.Main = main }

// Wrong is one line of the error summary.
type Wrong struct {
	ID    string        // HTML id of the field that the line links to, or ""
	Label template.HTML // label of the field; "" if Text names it
	Title template.HTML // title of the summary, if the problem is not about a field
	Text  template.HTML
}

// NewPage returns the data that all pages have, with a new idempotency key. of is the time zone and language of the property. title is a
// message kind, such as "web.find.title", and kv are names and values of its parameters.
func (x *Exchange) NewPage(of Locale, title string, kv ...any) Page {
	p := Page{Words: x.Words(of), Nonce: x.nonce, Key: rand.Text(), Path: x.R.URL.Path, files: x.area.files, now: x.area.Now(),
		Look: x.theme(), LookURL: x.lookURL(), Languages: x.area.languages}
	p.Title = p.T(title, kv...)
	return p
}

// File returns the URL of a static file. name is without the hash.
func (p *Page) File(name string) string { return p.files.URL(name) }

// Now returns the time at which the page was rendered.
func (p *Page) Now() *timestamppb.Timestamp { return timestamppb.New(p.now) }

// Past reports whether a moment has passed when the page is rendered. A nil moment has passed.
func (p *Page) Past(at *timestamppb.Timestamp) bool { return !at.AsTime().After(p.now) }

// Schemes returns the CSS color schemes of the page: those that the person chose, or both.
func (p *Page) Schemes() string {
	if p.Look != "" {
		return p.Look
	}
	return "light dark"
}

// Choosable reports whether the page offers a choice of languages.
func (p *Page) Choosable() bool { return p.LookURL != "" && len(p.Languages) > 1 }

// Looks returns the choices of colors. The first follows the setting of the device.
func (p *Page) Looks() []string { return themes }

// Lines splits a text into its lines. It returns nil for a blank text.
func (p *Page) Lines(text string) []string {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// WrongOf returns the error text of the field with this id, or "".
func (p *Page) WrongOf(id string) template.HTML {
	for _, w := range p.Wrong {
		if w.ID == id {
			return w.Text
		}
	}
	return ""
}

// templateFunctions are the template functions that need no page.
var templateFunctions = template.FuncMap{
	"option": func(field, value string) message.Entry {
		return message.Entry{Kind: "choice." + field + "." + value, Text: value}
	},
	"grouped": grouped,
	"spoken":  spoken,
}

// grouped splits a PIN into groups as the page shows them, and each group into characters.
func grouped(code string) (groups [][]string) {
	for _, g := range text.Groups(code) {
		groups = append(groups, strings.Split(g, ""))
	}
	return groups
}

// spoken returns a PIN as a screen reader reads it: "4 8 0, 2 7 1".
func spoken(code string) string {
	var parts []string
	for _, g := range grouped(code) {
		parts = append(parts, strings.Join(g, " "))
	}
	return strings.Join(parts, ", ")
}

// Today returns the date at the property now, in the form YYYY-MM-DD.
func (p *Page) Today() string { return p.now.In(p.zone).Format(time.DateOnly) }
