package staff

import (
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// roles are the roles at a property, as the API names them.
var roles = []string{"owner", "manager", "frontDesk", "housekeeping"}

type peopleView struct {
	*propertyv1.PeopleList
	Roles  []kit.Option
	Inputs []kit.Input
	Link   string // link of a new invitation, shown only once
	Mailed bool   // the invitation was mailed
	To     string // mail address of the invited person
}

// personInputs returns the form fields of an invitation.
func personInputs() []kit.Input {
	return []kit.Input{
		{Name: "email", Label: "staff.email", Type: "email", Autocomplete: "off"},
		{Name: "role", Label: "staff.role", Hint: "staff.people.role.hint", Value: "frontDesk", Options: options("staff.role.", roles...)},
	}
}

// showPeople handles the list of the people who work at the property.
func (s *site) showPeople(x *exchange) error { return x.peoplePage(peopleView{}, nil) }

// peoplePage renders the people and the open invitations. v may have the link of a new invitation, and f is why the API refused an action, or
// nil. An f that has no message and is not about the form is returned.
func (x *exchange) peoplePage(v peopleView, f *fault.Fault) error {
	found, err := x.site.api.People.ListPeople(x.call(), &propertyv1.ListPeopleRequest{})
	if err != nil {
		return err
	}
	p, status := x.settingsPage("people"), http.StatusOK
	v.PeopleList, v.Roles, v.Inputs = found.GetData(), options("staff.role.", roles...), personInputs()
	if x.typed != nil && x.typed.Path == x.R.URL.Path {
		v.Inputs = x.Posted(v.Inputs)
	}
	if f != nil {
		status = http.StatusUnprocessableEntity
		v.Inputs = x.Posted(v.Inputs)
		if refused := "staff.people.refused." + string(f.Reason); p.Has(refused) {
			p.Wrong = []kit.Wrong{{Title: p.T("staff.people.refused"), Text: p.T(refused)}}
		} else if !p.Refuse(f, v.Inputs) {
			return f
		}
	}
	p.Data, p.secret = v, v.Link != ""
	return x.render(status, "people", p)
}

// peopleResult answers an action on the page of the people. Without err, it redirects to the list, which confirms the action: done is one
// of results. If the API refused the action, it shows the reason. It returns other errors unchanged.
func (x *exchange) peopleResult(err error, done string) error {
	if err == nil {
		return x.Redirect("/app/settings/people?done=" + done)
	}
	f := x.site.Fault(err)
	if x.words().Has("staff.people.refused."+string(f.Reason)) || f.Kind == fault.Invalid && len(f.Fields) > 0 {
		return x.peoplePage(peopleView{}, f)
	}
	return err
}

// invitePerson handles the form that invites a person. The API mails the link if it can. The response shows the link once.
func (s *site) invitePerson(x *exchange) error {
	made, err := s.api.People.InvitePerson(x.call(), &propertyv1.InvitePersonRequest{Email: x.Value("email"), Role: x.Value("role"), Language: x.words().Lang})
	if err != nil {
		return x.peopleResult(err, "")
	}
	return x.peoplePage(peopleView{Link: x.Address(InvitationPath + made.GetLink().GetSecret()), Mailed: made.GetMailed(), To: made.GetData().GetEmail()}, nil)
}

// changeInvitation handles the forms of an open invitation. They send it again with a new link, which ends the former one and is shown
// once, or withdraw it.
func (s *site) changeInvitation(x *exchange) error {
	id := x.R.PathValue("id")
	switch x.Value("do") {
	case "again":
		made, err := s.api.People.ReinvitePerson(x.call(), &propertyv1.ReinvitePersonRequest{Id: id, Language: x.words().Lang})
		if err != nil {
			return err
		}
		return x.peoplePage(peopleView{Link: x.Address(InvitationPath + made.GetLink().GetSecret()), Mailed: made.GetMailed(), To: made.GetData().GetEmail()}, nil)
	case "withdraw":
		_, err := s.api.People.WithdrawInvitation(x.call(), &propertyv1.WithdrawInvitationRequest{Id: id})
		return x.peopleResult(err, "withdrawn")
	}
	return x.Redirect("/app/settings/people")
}

// backToPeople redirects a GET of an action's URL to the page with the action's button. The browser comes there after a confirmation of the
// second factor.
func (s *site) backToPeople(x *exchange) error { return x.Redirect("/app/settings/people") }

// changePerson handles the forms of a person. They change the role, disable or enable the person's access to the property, or remove the
// person from it.
func (s *site) changePerson(x *exchange) error {
	id := x.R.PathValue("id")
	change := &propertyv1.UpdatePersonRequest{Id: id, Etag: x.Value("etag")}
	switch x.Value("do") {
	case "role":
		change.Role = x.text("role")
	case "disable", "enable":
		change.Disabled = new(x.Value("do") == "disable")
	case "remove":
		_, err := s.api.People.RemovePerson(x.call(), &propertyv1.RemovePersonRequest{Id: id})
		return x.peopleResult(err, "removed")
	default:
		return x.Redirect("/app/settings/people")
	}
	_, err := s.api.People.UpdatePerson(x.call(), change)
	return x.peopleResult(err, "saved")
}
