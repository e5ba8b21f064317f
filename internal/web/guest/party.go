package guest

import (
	"fmt"
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// showPartySize handles the page on which a kiosk asks how many people stay: the PMS possibly sent no number or a wrong one, or a companion
// has not come. If the number cannot be corrected, it redirects to the check-in.
func (s *site) showPartySize(x *exchange) error {
	if !x.flow.CorrectsParty() {
		return x.Redirect(x.flow.CheckIn())
	}
	return x.partySize(http.StatusOK, "")
}

// partyView has the values of the form with the number of people: the stored ones, or those that were typed.
type partyView struct{ Adults, Children string }

// partyView returns the values of the form with the number of people: those that were typed, or else the stored ones.
func (x *exchange) partyView() partyView {
	if x.R.PathValue("guest") == "" && (x.R.Method == http.MethodPost || x.HasTyped()) {
		return partyView{Adults: x.Value("adults"), Children: x.Value("children")}
	}
	return partyView{Adults: fmt.Sprint(x.flow.Stay.GetAdultCount()), Children: fmt.Sprint(x.flow.Stay.GetChildCount())}
}

// partySize renders the page on which a kiosk asks how many people stay. problem is the message kind of its error or "", and kv are the
// parameters of that message.
func (x *exchange) partySize(status int, problem string, kv ...any) error {
	p := x.stayPage("web.people.count")
	p.Back, p.Data = "/k/form", x.partyView()
	if x.flow.Stay.GetCheckIn().GetStage() == "start" {
		p.Back = x.flow.Home()
	}
	if problem != "" {
		p.Wrong = []wrong{{ID: "f-adults", Text: p.T(problem, kv...)}}
	}
	return x.render(status, "party", p)
}

// setParty stores the posted number of people. If the API refuses it, problem is the message kind of the reason, and kv are its parameters.
// problem is "" otherwise. err is any other error. The API adds or removes companions to match the number.
func (x *exchange) setParty() (problem string, kv []any, err error) {
	_, err = x.site.api.Forms.SetParty(x.callContext(), &guestv1.SetPartyRequest{
		AdultCount: parseCount(x.Value("adults")), ChildCount: parseCount(x.Value("children")),
	})
	if err == nil {
		return "", nil, nil
	}
	f := x.site.Fault(err)
	switch {
	case f.Kind != fault.Invalid:
		return "", nil, err
	case f.Meta["limit"] != "":
		return "web.people.tooMany", []any{"limit", f.Meta["limit"]}, nil
	}
	return "web.people.range", nil, nil
}

// savePartySize stores the number of people from the form at a kiosk, and continues with the guests' forms. A smaller number is stored too,
// but companions who have answers or a link are kept. If they exceed the number, and answers of a companion are missing, the page shows an
// error.
func (s *site) savePartySize(x *exchange) error {
	if !x.flow.CorrectsParty() {
		return x.Redirect(x.flow.CheckIn())
	}
	problem, kv, err := x.setParty()
	if err != nil {
		return err
	}
	if problem != "" {
		return x.partySize(http.StatusUnprocessableEntity, problem, kv...)
	}
	if err := x.loadStay(); err != nil {
		return err
	}
	if size := parseCount(x.Value("adults")) + parseCount(x.Value("children")); len(x.flow.Stay.GetGuests()) > int(size) && x.flow.missesCompanion() {
		return x.partySize(http.StatusUnprocessableEntity, "web.people.stays")
	}
	return x.Redirect(x.flow.Form(""))
}
