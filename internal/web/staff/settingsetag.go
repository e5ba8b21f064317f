package staff

import (
	"slices"
	"strings"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// change stores the posted values of a form. The API refuses it with [fault.Outdated] if etag is not the current etag of the settings.
type change func(etag string) error

// saveUnlessChanged calls store with the posted etag to save a form. All forms of the settings share the etag. If only settings of other
// forms have changed since the page was shown, it loads the current etag with the function "now" and calls store again. If another person
// has changed a setting of this form, or if the API cannot say what changed, it returns the API's error.
func (x *exchange) saveUnlessChanged(store change, now func() (string, error)) error {
	err := store(x.Value("etag"))
	if err == nil {
		return nil
	}
	f := x.site.Fault(err)
	changed := changedSettings(f)
	isOfForm := func(name string) bool { return x.R.PostForm.Has(name) || x.hasBox(name) }
	if f.Reason != fault.Outdated || len(changed) == 0 || slices.ContainsFunc(changed, isOfForm) {
		return err
	}
	etag, err := now()
	if err != nil {
		return err
	}
	return store(etag)
}

// hasBox reports whether the posted form has a switch or check box of this name, also one that is off. See [settingsForm.Boxes].
func (x *exchange) hasBox(name string) bool { return slices.Contains(x.R.PostForm["box"], name) }

// changedSettings returns the names of the inputs whose settings another person has changed. f is why the API refused a form. It returns
// nil if f names none: for another reason than Outdated, or an etag of an older version.
func changedSettings(f *fault.Fault) (names []string) {
	for _, field := range strings.Split(f.Meta["changed"], ",") {
		if field != "" {
			names = append(names, "settings."+field)
		}
	}
	return names
}

// keepUnchanged sets the posted values in a refused form, except in inputs whose settings another person has changed. Those keep the stored
// values, and the error summary of the page lists them. If f names none of them, it sets all posted values and adds a general error.
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
	if len(p.Wrong) == 0 { // the form is from an older version of the service, so the changed settings are unknown
		p.refuseChanged()
	}
}
