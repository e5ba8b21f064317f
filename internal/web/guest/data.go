package guest

import (
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// dataView is what the guest does with their own data.
type dataView struct {
	Erasure *guestv1.Erasure
	Profile *guestv1.KeptProfile // nil: nothing is kept for the next stay
	Ended   bool                 // the stay is over
	Keep    bool                 // the guest chose to keep the profile
	Partial bool                 // the device found the booking at the property, so it can neither show nor erase data
}

// showData shows how the guest gets a copy of their data, and has them erased.
func (s *site) showData(x *exchange) error {
	v, err := x.data()
	if err != nil {
		return err
	}
	return x.dataPage(http.StatusOK, v)
}

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

func (x *exchange) dataPage(status int, v dataView, wrongs ...wrong) error {
	p := x.stayPage("web.data.title")
	p.Data, p.Wrong = v, wrongs
	return x.render(status, "data", p)
}

// downloadData sends the guest a copy of their data as a file.
func (s *site) downloadData(x *exchange) error {
	found, err := s.api.Privacy.ExportData(x.callContext(), &guestv1.ExportDataRequest{})
	if err != nil {
		return err
	}
	file, err := protojson.MarshalOptions{Multiline: true}.Marshal(found.GetData())
	if err != nil {
		return err
	}
	x.W.Header().Set("Content-Type", "application/json")
	x.W.Header().Set("Content-Disposition", `attachment; filename="my-data.json"`)
	_, err = x.W.Write(file)
	return err
}

// changeData requests the erasure of the guest's data, withdraws the request, or deletes what is kept for the next stay. The receipt's page goes on after the session has ended.
func (s *site) changeData(x *exchange) error {
	switch x.Value("do") {
	case "withdraw":
		_, err := s.api.Privacy.WithdrawErasure(x.callContext(), &guestv1.WithdrawErasureRequest{})
		if err != nil && s.Fault(err).Reason != fault.ErasureNotPending { // a second press
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

// showErasure shows how far an erasure is. It needs no session: the erasure ends the guest's.
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
