package staff

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// typedCookie keeps what a person typed into a form while the person confirms with the second factor. The page of the form then shows it again.
const typedCookie = "lk-typed"

const (
	typedAge     = 10 * time.Minute
	maxTypedSize = 3500 // bytes of the cookie; browsers keep 4096 with its name and attributes
)

// typedNames are the inputs whose values are kept. No PIN, password, code or link is among them.
var typedNames = []string{"reason", "until", "door", "email", "role", "kind", "holder", "from", "to", "day", "all"}

// typedForm is what a person typed into a form.
type typedForm struct {
	Path   string     `json:"path"`   // to which it was posted
	Person string     `json:"person"` // who typed it: another person at the same browser does not see it
	Values url.Values `json:"values"`
}

// keepTyped keeps what was posted until the person has confirmed. What is too long is not kept.
func (x *exchange) keepTyped() {
	if x.R.Method != http.MethodPost || x.session == nil {
		return
	}
	f := typedForm{x.R.URL.Path, x.session.GetPerson().GetId(), url.Values{}}
	for _, name := range typedNames {
		if values := x.R.PostForm[name]; len(values) > 0 {
			f.Values[name] = values
		}
	}
	raw, err := json.Marshal(f)
	if value := base64.RawURLEncoding.EncodeToString(raw); err == nil && len(f.Values) > 0 && len(value) <= maxTypedSize {
		x.SetCookie(typedCookie, value, x.site.Now().Add(typedAge))
	}
}

// restoreTyped gives a page what was typed into a form of it before the person confirmed. [exchange.newPage] then forgets it.
func (x *exchange) restoreTyped() {
	raw, err := base64.RawURLEncoding.DecodeString(x.Cookie(typedCookie))
	if err != nil || len(raw) == 0 || x.R.Method != http.MethodGet || x.automatic() {
		return
	}
	var f typedForm
	if json.Unmarshal(raw, &f) != nil || f.Person != x.session.GetPerson().GetId() || f.Path != x.R.URL.Path && !strings.HasPrefix(f.Path, x.R.URL.Path+"/") {
		return
	}
	for name := range f.Values {
		if !slices.Contains(typedNames, name) {
			return // not a cookie of keepTyped
		}
	}
	x.typed, x.R.PostForm = &f, f.Values
}

// TypedReason returns the reason that was typed into a form, by the id of its field: why-ACTION, or why-DOOR for an opening.
func (p *page) TypedReason(field any) string {
	if p.typed == nil {
		return ""
	}
	of := p.typed.Path[strings.LastIndexByte(p.typed.Path, '/')+1:]
	if of == "open" {
		of = p.typed.Values.Get("door")
	}
	if field != "why-"+of {
		return ""
	}
	return p.typed.Values.Get("reason")
}
