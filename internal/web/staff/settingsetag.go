package staff

import (
	"slices"
	"strings"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// change stores the posted values of a form. The API refuses it with [fault.Outdated] if the settings are not those of the etag.
type change func(etag string) error

// saveUnlessChanged stores a form, unless another person changed one of its settings since the page was shown. Other forms have settings of the same
// etag: if only those changed, the form is stored. now reads the etag of now.
func (x *exchange) saveUnlessChanged(store change, now func() (string, error)) error {
	err := store(x.Value("etag"))
	if err == nil {
		return nil
	}
	f := x.site.Fault(err)
	if f.Reason != fault.Outdated || slices.ContainsFunc(changedSettings(f), x.R.PostForm.Has) || slices.ContainsFunc(changedSettings(f), x.hasBox) {
		return err
	}
	etag, err := now()
	if err != nil {
		return err
	}
	return store(etag)
}

// hasBox reports whether the posted form has an input of this name that a browser leaves out when nothing is checked.
func (x *exchange) hasBox(name string) bool { return slices.Contains(x.R.PostForm["box"], name) }

// changedSettings returns the names of the inputs whose settings another person changed.
func changedSettings(f *fault.Fault) (names []string) {
	for _, field := range strings.Split(f.Meta["changed"], ",") {
		if field != "" {
			names = append(names, "settings."+field)
		}
	}
	return names
}

// keepUnchanged gives the inputs of a refused form their posted values, but those that another person changed their values of now. It adds the latter
// to the summary of the page.
func (x *exchange) keepUnchanged(p *page, f *fault.Fault, groups []group) {
	changed := changedSettings(f)
	for _, g := range groups {
		for i := range g.Inputs {
			if input := g.Inputs[i]; slices.Contains(changed, input.Name) {
				p.Wrong = append(p.Wrong, kit.Wrong{ID: input.ID(), Label: p.T(input.Label), Text: p.T("staff.settings.changed")})
				continue
			}
			x.Posted(g.Inputs[i : i+1])
		}
	}
	if len(p.Wrong) == 0 { // the etag is one of an older version of the service
		p.Wrong = []kit.Wrong{{Title: p.T("staff.settings.outdated"), Text: p.T("staff.settings.outdated.text")}}
	}
}
