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

// Page is what every template renders. An area embeds it in its own page. Its methods are the functions of templates.
type Page struct {
	Words
	Nonce   string
	Title   template.HTML
	Wrong   []Wrong // the error summary
	Back    string  // the page before, or ""
	Key     string  // the idempotency key of the page's forms
	Path    string
	Look    string // light, dark or, if the device decides, ""
	LookURL string // where the page sends the choice of its look, or ""
	Keeps   bool   // the page has a form with answers, which it shows again after a choice of its look
	Data    any
	Main    template.HTML // what the page's own template made, for the layout

	Languages []string // those that have texts

	files *assets
	now   time.Time
}

func (p *Page) setMain(main template.HTML) { p.Main = main }

// Wrong is one line of the error summary.
type Wrong struct {
	ID    string        // of the field
	Label template.HTML // of the field; "" if the text says what it is about
	Title template.HTML // of the summary, if no answer is wrong
	Text  template.HTML
}

// NewPage returns a page for the exchange. Its title is a message.
func (x *Exchange) NewPage(of Place, title string, kv ...any) Page {
	p := Page{Words: x.Words(of), Nonce: x.nonce, Key: rand.Text(), Path: x.R.URL.Path, files: x.area.files, now: x.area.Now(),
		Look: x.theme(), LookURL: x.lookURL(), Languages: x.area.languages}
	p.Title = p.T(title, kv...)
	return p
}

// File returns the URL of a file of static.
func (p *Page) File(name string) string { return p.files.URL(name) }

// Now returns when the page was rendered.
func (p *Page) Now() *timestamppb.Timestamp { return timestamppb.New(p.now) }

// Past reports whether a moment has passed.
func (p *Page) Past(at *timestamppb.Timestamp) bool { return !at.AsTime().After(p.now) }

// Schemes are the color schemes of the page, as browsers name them.
func (p *Page) Schemes() string {
	if p.Look != "" {
		return p.Look
	}
	return "light dark"
}

// Choosable reports whether a choice of languages makes sense on the page.
func (p *Page) Choosable() bool { return p.LookURL != "" && len(p.Languages) > 1 }

// Looks are the choices of colors. The first leaves them to the device.
func (p *Page) Looks() []string { return themes }

// Lines splits a text into its lines.
func (p *Page) Lines(text string) []string {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// WrongOf returns the text of a field's error, or "".
func (p *Page) WrongOf(id string) template.HTML {
	for _, w := range p.Wrong {
		if w.ID == id {
			return w.Text
		}
	}
	return ""
}

// templateFunctions are the functions of templates that need no page.
var templateFunctions = template.FuncMap{
	"option": func(field, value string) message.Entry {
		return message.Entry{Kind: "choice." + field + "." + value, Text: value}
	},
	"grouped": grouped,
	"spoken":  spoken,
}

// grouped splits a code into its groups, and each into its characters.
func grouped(code string) (groups [][]string) {
	for _, g := range text.Groups(code) {
		groups = append(groups, strings.Split(g, ""))
	}
	return groups
}

// spoken is a code in the way it is read out: "4 8 0, 2 7 1".
func spoken(code string) string {
	var parts []string
	for _, g := range grouped(code) {
		parts = append(parts, strings.Join(g, " "))
	}
	return strings.Join(parts, ", ")
}

// Today returns the present day at the property, of the form YYYY-MM-DD.
func (p *Page) Today() string { return p.now.In(p.zone).Format(time.DateOnly) }
