package staff

import (
	"net/http"
	"slices"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// newProperty is the query of a sign-up link with which the owner also creates the property. It only adds fields to the form. The API
// decides what the link allows.
const newProperty = "new"

// firstInputs returns the form fields of an owner's sign-up. creates adds the fields of a new property.
func firstInputs(creates bool) []kit.Input {
	inputs := []kit.Input{
		{Name: "name", Label: "staff.name", Autocomplete: "name"},
		{Name: "email", Label: "staff.email", Type: "email", Autocomplete: "username"},
		{Name: "password", Label: "staff.password", Hint: "staff.password.hint", Type: "password", Autocomplete: "new-password"},
	}
	if !creates {
		return inputs
	}
	return append([]kit.Input{
		{Name: "propertyName", Label: "staff.first.property", Hint: "staff.first.property.hint", Autocomplete: "organization"},
		{Name: "timeZone", Label: "staff.first.zone", Hint: "staff.first.zone.hint", Autocomplete: "off", Script: "zone"},
	}, inputs...)
}

// firstForm returns the sign-up form with these fields.
func firstForm(inputs []kit.Input) formView {
	return formView{Text: "staff.first.text", Inputs: inputs, Button: "staff.first.do"}
}

// showFirst handles the sign-up link of an owner. It only shows a form, because mail scanners open links.
func (s *site) showFirst(x *exchange) error {
	return x.form(http.StatusOK, x.newPage("staff.first.title"), firstForm(firstInputs(x.R.URL.Query().Has(newProperty))))
}

// createOwner handles the sign-up form of an owner. It makes the person an owner, also of a new property if the link is for one, and signs
// them in. A former session of the browser ends. A known mail address needs its password. A POST without the key of the page's form changes
// nothing, because some mail scanners post to links.
func (s *site) createOwner(x *exchange) error {
	if x.Key() == "" {
		return s.showFirst(x)
	}
	creates := x.R.URL.Query().Has(newProperty)
	made, err := s.api.Sessions.CreateFirstOwner(x.anonymous(), &propertyv1.CreateFirstOwnerRequest{
		Secret: x.R.PathValue("secret"), Email: x.Value("email"), Name: x.Value("name"), Password: x.passwordOf("password"),
		PropertyName: x.Value("propertyName"), TimeZone: x.Value("timeZone"), Device: kit.DeviceOf(x.R.UserAgent()),
	})
	if err == nil {
		x.endFormerSession()
		return x.proceed(made.GetData(), "")
	}
	p, inputs, f := x.newPage("staff.first.title"), x.Posted(firstInputs(creates)), s.Fault(err)
	if creates && f.Kind == fault.Invalid {
		f = x.withPropertyFields(f)
	}
	switch {
	case f.Kind == fault.NotFound:
		return x.problem(http.StatusNotFound, "staff.first.ended")
	case f.Kind == fault.Unauthenticated:
		p.Wrong = []kit.Wrong{{ID: "f-password", Label: p.T("staff.password"), Text: p.T("staff.first.known")}}
	case f.Kind != fault.Invalid:
		return err
	case !p.Refuse(f, inputs):
		inputs = x.Posted(firstInputs(true)) // the API wants the fields of a new property, although the query lacks newProperty
		if !p.Refuse(f, inputs) {
			return err
		}
	}
	return x.form(http.StatusUnprocessableEntity, p, firstForm(inputs))
}

// withPropertyFields returns a copy of f to which it adds the errors of the posted name and time zone of the new property. The API checks
// these only if the other fields are valid, so without this the person would see their errors only at the next attempt.
func (x *exchange) withPropertyFields(f *fault.Fault) *fault.Fault {
	all := *f
	all.Fields = slices.Clone(f.Fields)
	add := func(name string, reason fault.Reason) {
		if !slices.ContainsFunc(all.Fields, func(field fault.Field) bool { return field.Path == name }) {
			all.Fields = append(all.Fields, fault.Field{Path: name, Reason: reason})
		}
	}
	if x.Value("propertyName") == "" {
		add("propertyName", fault.Required)
	}
	if zone := x.Value("timeZone"); zone == "" {
		add("timeZone", fault.Required)
	} else if _, err := clock.Zone(zone); err != nil {
		add("timeZone", fault.WrongValue)
	}
	return &all
}
