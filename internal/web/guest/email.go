package guest

import (
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// showEmail handles the page that asks for the guest's e-mail address, because the PMS has sent none at which the guest gets mails. If the
// stay needs none, it redirects to the check-in.
func (s *site) showEmail(x *exchange) error {
	if !x.flow.Stay.GetNeedsMailAddress() {
		return x.Redirect(x.flow.CheckIn())
	}
	return x.emailPage(http.StatusOK, x.Value("email"), "")
}

// emailPage renders the page that asks for the guest's e-mail address. typed is the posted address, and problem the message kind of its
// error or "".
func (x *exchange) emailPage(status int, typed, problem string) error {
	p := x.stayPage("web.email.title")
	if problem != "" {
		p.Wrong = []wrong{{ID: "f-email", Text: p.T(problem)}}
	}
	p.Data, p.Keeps = typed, true
	return x.render(status, "email", p)
}

// saveEmail handles the form with the address. The button "skip" stores nothing. Both continue with the check-in. An invalid address is
// shown again with an error.
func (s *site) saveEmail(x *exchange) error {
	if x.Value("do") == "skip" {
		return x.Redirect(x.flow.CheckIn())
	}
	address := x.Value("email")
	_, err := s.api.Forms.SetMailAddress(x.callContext(), &guestv1.SetMailAddressRequest{Email: address})
	if err != nil && s.Fault(err).Kind == fault.Invalid {
		return x.emailPage(http.StatusUnprocessableEntity, address, "web.email.wrong")
	}
	if err != nil {
		return err
	}
	return x.Redirect(x.flow.CheckIn())
}
