package web

import (
	"html/template"
	"io/fs"
	"path"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/text"
)

// page is what a template renders. Its methods are the functions of templates.
type page struct {
	words
	Nonce    string
	Kiosk    bool
	Property *guestv1.PropertyFace
	Flow     flow
	Title    template.HTML
	Wrong    []wrong // the error summary
	Back     string  // the page before, or ""
	Refresh  int     // seconds until the script loads the page again; 0: never
	Stored   bool    // a phone keeps the page to show it later
	Gone     bool    // the stay is over for this device: it forgets what it kept
	Idle     string  // at a kiosk: guest, code, start, closed or cut (see ts/kiosk.ts)
	Key      string  // the idempotency key of the page's forms
	Path     string
	Look     string // light, dark or, if the device decides, ""
	LookURL  string // where the page sends the choice of its look, or ""
	Keeps    bool   // the page has a form with answers, which it shows again after a choice of its look
	Called   bool   // staff have been called, so that the page does not offer it
	OnPhone  bool   // the page itself leads to the guest's phone, or is about it
	Data     any

	Languages []string // those that have texts

	prefix string // of input names at a kiosk
	files  *assets
	now    time.Time
}

// wrong is one line of the error summary.
type wrong struct {
	ID    string        // of the field
	Label template.HTML // of the field; "" if the text says what it is about
	Title template.HTML // of the summary, if no answer is wrong
	Text  template.HTML
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

// File returns the URL of a file of static.
func (p *page) File(name string) string { return p.files.URL(name) }

// OffersPhone reports whether the foot of the page leads to the guest's own phone: at a kiosk, until the code is shown.
func (p *page) OffersPhone() bool {
	stage := p.Flow.Stay.GetCheckIn().GetStage()
	return p.Kiosk && p.Flow.Stay != nil && !p.OnPhone && stage != "checkedIn" && stage != "ended"
}

// Now returns when the page was rendered.
func (p *page) Now() *timestamppb.Timestamp { return timestamppb.New(p.now) }

// Theme returns the URL of the property's colours, or "".
func (p *page) Theme() string { return themeURL(p.Property.GetAccent()) }

// Face is the size of the page: guest or kiosk.
func (p *page) Face() string {
	if p.Kiosk {
		return "kiosk"
	}
	return "guest"
}

// Schemes are the color schemes of the page, as browsers name them.
func (p *page) Schemes() string {
	switch {
	case p.Kiosk:
		return "light"
	case p.Look != "":
		return p.Look
	}
	return "light dark"
}

// Choosable reports whether a choice of languages makes sense on the page.
func (p *page) Choosable() bool { return p.LookURL != "" && len(p.Languages) > 1 }

// Looks are the choices of colors. The first leaves them to the device.
func (p *page) Looks() []string { return themes }

// Lines splits a text into its lines.
func (p *page) Lines(text string) []string {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// WrongOf returns the text of a field's error, or "".
func (p *page) WrongOf(id string) template.HTML {
	for _, w := range p.Wrong {
		if w.ID == id {
			return w.Text
		}
	}
	return ""
}

// With passes a value to a part together with its page.
func (p *page) With(value any) part { return part{page: p, V: value} }

// part is a page with a value of its own.
type part struct {
	*page
	V any
}

func parsePages() (map[string]*template.Template, error) {
	base, err := template.New("").Funcs(functions).ParseFS(templateFiles, "parts/*.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(templateFiles, "pages/*.html")
	if err != nil {
		return nil, err
	}
	all := map[string]*template.Template{}
	for _, name := range names {
		t, err := base.Clone()
		if err != nil {
			return nil, err
		}
		if t, err = t.ParseFS(templateFiles, name); err != nil {
			return nil, err
		}
		all[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return all, nil
}

// functions are the functions of templates that need no page.
var functions = template.FuncMap{
	"option": func(field, value string) message.Entry {
		return message.Entry{Kind: "choice." + field + "." + value, Text: value}
	},
	"grouped":  grouped,
	"spoken":   spoken,
	"answered": answered,
	"missing":  missing,
	"left":     left,
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
