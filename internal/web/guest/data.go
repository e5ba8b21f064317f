package guest

import (
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// dataView is the page on which guests export or erase their data.
type dataView struct {
	Erasure *guestv1.Erasure
	Profile *guestv1.KeptProfile // data stored for the next stay, or nil
	Ended   bool                 // the stay is over
	Keep    bool                 // the guest chose in the posted form to keep the data for the next stay
	Partial bool                 // the guest found the booking with number and name at the property: such a device can neither show nor erase data
}

// showData handles the page on which guests export or erase their data.
func (s *site) showData(x *exchange) error {
	v, err := x.data()
	if err != nil {
		return err
	}
	return x.dataPage(http.StatusOK, v)
}

// data loads the state of an erasure. For a guest whose erasure covers the whole party, it also loads the profile: the data that the
// property stores for the next stay. For a device that may not see data, it sets only Ended and Partial.
func (x *exchange) data() (dataView, error) {
	v := dataView{Ended: x.flow.Stay.GetState() == "processed"}
	found, err := x.site.api.Privacy.GetErasure(x.callContext(), &guestv1.GetErasureRequest{})
	if err != nil && x.site.Fault(err).Kind == fault.Denied {
		v.Partial = true
		return v, nil
	}
	if err != nil {
		return v, err
	}
	if v.Erasure = found.GetData(); v.Erasure.GetWholeParty() {
		kept, err := x.site.api.Privacy.GetProfile(x.callContext(), &guestv1.GetProfileRequest{})
		v.Profile = kept.GetData()
		return v, err
	}
	return v, nil
}

// dataPage renders the page on which guests export or erase their data. wrongs are the lines of its error summary.
func (x *exchange) dataPage(status int, v dataView, wrongs ...wrong) error {
	p := x.stayPage("web.data.title")
	p.Data, p.Wrong = v, wrongs
	return x.render(status, "data", p)
}

// downloadData handles the download of the guest's data as a JSON file.
func (s *site) downloadData(x *exchange) error {
	found, err := s.api.Privacy.ExportData(x.callContext(), &guestv1.ExportDataRequest{})
	if err != nil {
		return err
	}
	return x.SendFile("my-data.json", found.GetData())
}

// changeData handles the forms of the page about data. They request the erasure of the guest's data, withdraw the request, or delete the
// profile for the next stay. A request needs the checked box "sure". An erasure that does not wait for the end of the stay ends the
// session, so the browser goes to the page of its receipt.
func (s *site) changeData(x *exchange) error {
	switch x.Value("do") {
	case "withdraw":
		_, err := s.api.Privacy.WithdrawErasure(x.callContext(), &guestv1.WithdrawErasureRequest{})
		if err != nil && s.Fault(err).Reason != fault.ErasureNotPending { // the button was pressed twice
			return err
		}
		return x.Redirect(x.flow.Below("data"))
	case "forget":
		if _, err := s.api.Privacy.DeleteProfile(x.callContext(), &guestv1.DeleteProfileRequest{}); err != nil {
			return err
		}
		return x.Redirect(x.flow.Below("data"))
	case "erase":
	default:
		return x.Redirect(x.flow.Below("data"))
	}
	if x.Value("sure") != "yes" {
		v, err := x.data()
		if err != nil {
			return err
		}
		v.Keep = x.Value("profile") == "keep"
		return x.dataPage(http.StatusUnprocessableEntity, v, wrong{ID: "f-sure", Text: x.stayPage("web.data.title").T("web.data.sure.missing")})
	}
	asked, err := s.api.Privacy.RequestErasure(x.callContext(), &guestv1.RequestErasureRequest{KeepProfile: x.Value("profile") == "keep"})
	if err != nil {
		return err
	}
	if e := asked.GetData(); !e.GetAfterStay() {
		return x.Redirect("/g/erasure/" + e.GetReceipt())
	}
	return x.Redirect(x.flow.Below("data"))
}

// showErasure handles the page with the progress of an erasure. Its URL has a receipt, a secret that replaces the session, because the
// erasure ends the guest's session.
func (s *site) showErasure(x *exchange) error {
	found, err := s.api.Privacy.GetErasureReceipt(x.callContext(), &guestv1.GetErasureReceiptRequest{Receipt: x.R.PathValue("receipt")})
	if err != nil {
		return err
	}
	e, title := found.GetData(), "web.erasure.requested"
	if e.GetState() == "done" {
		title = "web.erasure.done"
	}
	p := x.newPage(found.GetProperty(), title)
	p.Data, p.Gone = e, e.GetState() == "done"
	if e.GetState() == "requested" && !e.GetAfterStay() {
		p.Refresh = 20
	}
	return x.render(http.StatusOK, "erasure", p)
}
