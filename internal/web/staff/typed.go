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

// typedCookie is the name of the cookie that stores posted form values while the person confirms the second factor or signs in again.
// Afterwards the page of the form shows them again.
const typedCookie = "lk-typed"

const (
	typedAge     = 10 * time.Minute
	maxTypedSize = 3500 // maximum bytes of the value; browsers limit a cookie with name and attributes to 4096
)

// typedNames are the inputs whose values keepTyped stores. They include no PIN, password, code or link.
var typedNames = []string{"reason", "until", "door", "email", "role", "kind", "holder", "from", "to", "day", "all", "guest", "erase"}

// typedForm has the values of a form that the page shows again: see keepTyped and showPosted.
type typedForm struct {
	Path     string     `json:"path"`     // URL path that the form was posted to; only a page at this path or above it shows the values
	Person   string     `json:"person"`   // id of the person who typed: the page does not show the values to another person
	Property string     `json:"property"` // id of the property of the form: a page of another property does not show the values
	Values   url.Values `json:"values"`
}

// keepTyped stores the posted values in a cookie, for at most typedAge, until the person has confirmed the second factor or signed in
// again. It stores only the inputs in typedNames, and nothing if they are too long (maxTypedSize) or if x.session is nil.
func (x *exchange) keepTyped() {
	if x.R.Method != http.MethodPost || x.session == nil {
		return
	}
	f := typedForm{x.R.URL.Path, x.session.GetPerson().GetId(), x.role.GetPropertyId(), url.Values{}}
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

// restoreTyped loads the values that keepTyped stored, if this page contains their form and the person and property are the same. They
// become the posted values of the request. newPage then deletes the cookie. It does nothing for a POST, or for a request that the page's
// script sends by itself.
func (x *exchange) restoreTyped() {
	raw, err := base64.RawURLEncoding.DecodeString(x.Cookie(typedCookie))
	if err != nil || len(raw) == 0 || x.R.Method != http.MethodGet || x.automatic() {
		return
	}
	var f typedForm
	if json.Unmarshal(raw, &f) != nil || f.Person != x.session.GetPerson().GetId() || f.Property != x.role.GetPropertyId() {
		return
	}
	if f.Path != x.R.URL.Path && !strings.HasPrefix(f.Path, x.R.URL.Path+"/") {
		return
	}
	for name := range f.Values {
		if !slices.Contains(typedNames, name) {
			return // keepTyped did not write this cookie
		}
	}
	x.typed, x.R.PostForm = &f, f.Values
}

// showPosted makes an error page show again the reason that the person just posted, and no other value: see [page.TypedReason].
func (x *exchange) showPosted(p *page) {
	if p.typed == nil && x.R.Method == http.MethodPost {
		p.typed = &typedForm{Path: x.R.URL.Path, Values: x.R.PostForm}
	}
}

// TypedReason returns the reason that the person typed into an input before the second factor was asked for or an error was shown, or "".
// field is the HTML id of the input: why-ACTION, why-DOOR for opening a door, f-ACTION for the check-in of a reservation, or that of
// [waiveField].
func (p *page) TypedReason(field any) string {
	if p.typed == nil {
		return ""
	}
	of := p.typed.Path[strings.LastIndexByte(p.typed.Path, '/')+1:]
	id := "why-" + of
	switch values := p.typed.Values; {
	case of == "open":
		id = "why-" + values.Get("door")
	case of == "today":
		id = waiveField(values.Get("reservation"))
	case values.Has("do"):
		id = "f-" + values.Get("do")
	}
	if field != id {
		return ""
	}
	return p.typed.Values.Get("reason")
}
