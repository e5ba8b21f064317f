package guest

import (
	"html/template"
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

type peopleView struct {
	Sent  string // id of the guest to whom a link was sent
	Bad   string // id of the guest whose posted address is invalid
	Email string // what was typed as the address of Bad
	Kept  string // id of a companion who has answered on a link of their own: only the front desk can change their link or remove them
	Minor string // id of a minor who gets no link until the main guest has entered their own date of birth, as that of an adult
	Party partyView
	Wrong template.HTML // why the API refused the number of people, or ""
}

// showPeople handles the page with the people of the stay.
func (s *site) showPeople(x *exchange) error {
	return x.people(http.StatusOK, peopleView{Sent: x.R.URL.Query().Get("sent")})
}

// people renders the page with the people of the stay.
func (x *exchange) people(status int, v peopleView) error {
	p := x.stayPage("web.people.title")
	p.LookURL = "" // no choice of colors or language: a reload would lose what is typed in the other forms
	if v.Bad != "" {
		p.Wrong = []wrong{{ID: "email-" + v.Bad, Text: p.T("problem.notAnAddress")}}
	}
	if v.Minor != "" {
		p.Wrong = []wrong{{ID: "link-" + v.Minor, Text: p.T("web.people.minor")}}
	}
	if v.Kept != "" {
		p.Wrong = []wrong{{ID: "guest-" + v.Kept, Text: p.T("web.people.kept")}}
	}
	if v.Wrong != "" {
		p.Wrong = []wrong{{ID: "f-adults", Text: v.Wrong}}
	}
	v.Party = x.partyView()
	p.Data = v
	return x.render(status, "people", p)
}

// saveParty handles the form with the number of people on the guest's own device. Companions are added or removed to match; those with
// answers or a link stay.
func (s *site) saveParty(x *exchange) error {
	problem, kv, err := x.setParty()
	if err != nil {
		return err
	}
	if problem != "" {
		return x.people(http.StatusUnprocessableEntity, peopleView{Wrong: x.words(x.flow.Stay.GetProperty()).T(problem, kv...)})
	}
	return x.Redirect(x.flow.Below("people"))
}

// parseCount parses a number of people, from 0 to 999. It returns -1 for any other text, so that the API refuses it.
func parseCount(text string) int32 {
	n := int32(0)
	for _, c := range text {
		if c < '0' || c > '9' || n > 99 {
			return -1
		}
		n = n*10 + (c - '0')
	}
	if text == "" {
		return -1
	}
	return n
}

// changePerson handles the forms of one companion. They send an invitation by mail, show a link that the main guest passes on, or remove
// the companion.
func (s *site) changePerson(x *exchange) error {
	id, email := x.R.PathValue("guest"), x.Value("email")
	if x.Value("do") == "remove" {
		if _, err := s.api.Forms.RemoveCompanion(x.callContext(), &guestv1.RemoveCompanionRequest{GuestId: id}); err != nil {
			return x.notChanged(err, id)
		}
		return x.Redirect(x.flow.Below("people"))
	}
	if x.Value("do") == "show" {
		return s.inviteByLink(x, id)
	}
	if email == "" {
		return x.people(http.StatusUnprocessableEntity, peopleView{Bad: id}) // without an address, the API would create a link to show
	}
	_, err := s.api.Forms.InviteCompanion(x.callContext(), &guestv1.InviteCompanionRequest{GuestId: id, Email: email})
	if err != nil && s.Fault(err).Kind == fault.Invalid {
		return x.people(http.StatusUnprocessableEntity, peopleView{Bad: id, Email: email})
	}
	if err != nil {
		return x.notChanged(err, id)
	}
	return x.people(http.StatusOK, peopleView{Sent: id})
}

// notChanged shows the page again with the reason why a companion cannot be invited or removed. It returns other errors unchanged.
func (x *exchange) notChanged(err error, guestID string) error {
	switch x.site.Fault(err).Reason {
	case fault.MinorNeedsAdult:
		return x.people(http.StatusUnprocessableEntity, peopleView{Minor: guestID})
	case fault.NotYourAnswer:
		return x.people(http.StatusUnprocessableEntity, peopleView{Kept: guestID})
	}
	return err
}
