package guest

import (
	"html/template"
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

type peopleView struct {
	Sent  string // the guest to whom a link was sent
	Bad   string // the guest whose address is wrong
	Minor string // the guest, a minor, who gets no link before the date of birth of the main guest is known
	Party partyView
	Wrong template.HTML // why the size of the party is refused; empty if it is not
}

func (s *site) showPeople(x *exchange) error {
	return x.people(http.StatusOK, peopleView{Sent: x.R.URL.Query().Get("sent")})
}

func (x *exchange) people(status int, v peopleView) error {
	p := x.stayPage("web.people.title")
	p.LookURL = "" // a choice of the look would drop what is typed in the page's other forms
	if v.Bad != "" {
		p.Wrong = []wrong{{ID: "email-" + v.Bad, Text: p.T("problem.notAnAddress")}}
	}
	if v.Minor != "" {
		p.Wrong = []wrong{{ID: "link-" + v.Minor, Text: p.T("web.people.minor")}}
	}
	if v.Wrong != "" {
		p.Wrong = []wrong{{ID: "f-adults", Text: v.Wrong}}
	}
	v.Party = x.partyView()
	p.Data = v
	return x.render(status, "people", p)
}

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

// parseCount reads a count of people. Anything else is -1, which the API refuses.
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

// changePerson invites a companion by mail or with a link that the main guest passes on, or removes one.
func (s *site) changePerson(x *exchange) error {
	id, email := x.R.PathValue("guest"), x.Value("email")
	if x.Value("do") == "remove" {
		if _, err := s.api.Forms.RemoveCompanion(x.callContext(), &guestv1.RemoveCompanionRequest{GuestId: id}); err != nil {
			return err
		}
		return x.Redirect(x.flow.Below("people"))
	}
	if x.Value("do") == "show" {
		return s.inviteByLink(x, id)
	}
	if email == "" {
		return x.people(http.StatusUnprocessableEntity, peopleView{Bad: id}) // the API would answer with a link
	}
	_, err := s.api.Forms.InviteCompanion(x.callContext(), &guestv1.InviteCompanionRequest{GuestId: id, Email: email})
	if err != nil && s.Fault(err).Kind == fault.Invalid {
		return x.people(http.StatusUnprocessableEntity, peopleView{Bad: id})
	}
	if err != nil {
		return x.notInvited(err, id)
	}
	return x.people(http.StatusOK, peopleView{Sent: id})
}

// notInvited answers with the page, and says at a minor's form that an adult sends the link.
func (x *exchange) notInvited(err error, guestID string) error {
	if x.site.Fault(err).Reason == fault.MinorNeedsAdult {
		return x.people(http.StatusUnprocessableEntity, peopleView{Minor: guestID})
	}
	return err
}
