package staff

import (
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/web/kit"
)

// roles are the roles at a property, as the API names them.
var roles = []string{"owner", "manager", "frontDesk", "housekeeping"}

type peopleView struct {
	*propertyv1.PeopleList
	Roles  []kit.Option
	Inputs []kit.Input
	Link   string // of an invitation, shown once
	Mailed bool   // the invitation was mailed
	To     string // whom it is for
}

func personInputs() []kit.Input {
	return []kit.Input{
		{Name: "email", Label: "staff.email", Type: "email", Autocomplete: "off"},
		{Name: "role", Label: "staff.role", Hint: "staff.people.role.hint", Value: "frontDesk", Options: options("staff.role.", roles...)},
	}
}

func (s *site) showPeople(x *exchange) error { return x.peoplePage(peopleView{}, nil) }

// peoplePage shows who works at the property and who is invited, with a link that was just made or with what was refused.
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

// peopleResult answers after an action: with the list or, if the API refused it, with the reason.
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

// invitePerson invites a person, or sends an invitation again. The link is shown once.
func (s *site) invitePerson(x *exchange) error {
	made, err := s.api.People.InvitePerson(x.call(), &propertyv1.InvitePersonRequest{Email: x.Value("email"), Role: x.Value("role"), Language: x.words().Lang})
	if err != nil {
		return x.peopleResult(err, "")
	}
	return x.peoplePage(peopleView{Link: x.Address(staff.InvitationPath + made.GetLink().GetSecret()), Mailed: made.GetMailed(), To: made.GetData().GetEmail()}, nil)
}

func (s *site) changeInvitation(x *exchange) error {
	id := x.R.PathValue("id")
	switch x.Value("do") {
	case "again":
		made, err := s.api.People.ReinvitePerson(x.call(), &propertyv1.ReinvitePersonRequest{Id: id, Language: x.words().Lang})
		if err != nil {
			return err
		}
		return x.peoplePage(peopleView{Link: x.Address(staff.InvitationPath + made.GetLink().GetSecret()), Mailed: made.GetMailed(), To: made.GetData().GetEmail()}, nil)
	case "withdraw":
		_, err := s.api.People.WithdrawInvitation(x.call(), &propertyv1.WithdrawInvitationRequest{Id: id})
		return x.peopleResult(err, "withdrawn")
	}
	return x.Redirect("/app/settings/people")
}

// backToPeople is where a confirmed second factor leads: the page with the buttons.
func (s *site) backToPeople(x *exchange) error { return x.Redirect("/app/settings/people") }

// changePerson changes the role of a person, or ends and gives back the access.
func (s *site) changePerson(x *exchange) error {
	id := x.R.PathValue("id")
	change := &propertyv1.UpdatePersonRequest{Id: id}
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
