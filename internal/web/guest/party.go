package guest

import (
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// showPartySize asks at a kiosk how many people stay, while answers of a companion are missing: the companion may not have come.
func (s *site) showPartySize(x *exchange) error {
	if !x.flow.missesCompanion() {
		return x.Redirect(x.flow.CheckIn())
	}
	return x.partySize(http.StatusOK, "")
}

func (x *exchange) partySize(status int, problem string, kv ...any) error {
	p := x.stayPage("web.people.count")
	p.Back = "/k/form"
	if problem != "" {
		p.Wrong = []wrong{{ID: "f-adults", Text: p.T(problem, kv...)}}
	}
	return x.render(status, "party", p)
}

// savePartySize stores how many people stay, and goes on with the form. A companion with answers or a link stays in the party.
func (s *site) savePartySize(x *exchange) error {
	if !x.flow.missesCompanion() {
		return x.Redirect(x.flow.CheckIn())
	}
	adults, children := parseCount(x.Value("adults")), parseCount(x.Value("children"))
	if _, err := s.api.Forms.SetParty(x.callContext(), &guestv1.SetPartyRequest{AdultCount: adults, ChildCount: children}); err != nil {
		f := s.Fault(err)
		if f.Kind != fault.Invalid {
			return err
		}
		if f.Meta["limit"] != "" {
			x.flow.Stay.AdultCount, x.flow.Stay.ChildCount = adults, children // the page shows what was typed
			return x.partySize(http.StatusUnprocessableEntity, "web.people.tooMany", "limit", f.Meta["limit"])
		}
		return x.partySize(http.StatusUnprocessableEntity, "problem.outOfRange")
	}
	if err := x.loadStay(); err != nil {
		return err
	}
	if len(x.flow.Stay.GetGuests()) > int(adults+children) && x.flow.missesCompanion() {
		return x.partySize(http.StatusUnprocessableEntity, "web.people.stays")
	}
	return x.Redirect(x.flow.Form(""))
}
