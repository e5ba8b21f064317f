package staff

import (
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// newProperty marks the address of a link whose owner also creates the property. The API decides what the link is for.
const newProperty = "new"

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

func firstForm(inputs []kit.Input) formView {
	return formView{Text: "staff.first.text", Inputs: inputs, Button: "staff.first.do"}
}

// showFirst is the page of a link for an owner. It changes nothing.
func (s *site) showFirst(x *exchange) error {
	return x.form(http.StatusOK, x.newPage("staff.first.title"), firstForm(firstInputs(x.R.URL.Query().Has(newProperty))))
}

// createOwner makes the person owner, and signs the person in. Without the key of the page's form it changes nothing: some mail scanners post
// to links too.
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
	switch {
	case f.Kind == fault.NotFound:
		return x.problem(http.StatusNotFound, "staff.first.ended")
	case f.Kind == fault.Unauthenticated:
		p.Wrong = []kit.Wrong{{ID: "f-password", Label: p.T("staff.password"), Text: p.T("staff.first.known")}}
	case f.Kind != fault.Invalid:
		return err
	case !p.Refuse(f, inputs):
		inputs = x.Posted(firstInputs(true)) // the link creates a property, although its address does not say so
		if !p.Refuse(f, inputs) {
			return err
		}
	}
	return x.form(http.StatusUnprocessableEntity, p, firstForm(inputs))
}
