package staff

import (
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

type kiosksView struct {
	List    []*propertyv1.Kiosk
	Inputs  []kit.Input
	Code    string            // enrolment code of a tablet, shown only once
	Of      *propertyv1.Kiosk // the tablet of the code; nil without a code
	Address string            // URL at which the tablet enters the code
	Doors   string            // prefix of the URLs in the QR codes of tablets
}

// Chip returns the chip that shows whether a tablet is online, or that it is not enrolled.
func (kiosksView) Chip(k *propertyv1.Kiosk) chip {
	switch k.GetState() {
	case "online":
		return chip{"ok", "●", "staff.kiosk.online"}
	case "offline":
		return chip{"bad", "✕", "staff.kiosk.offline"}
	}
	return chip{"unknown", "○", "staff.kiosk.notEnrolled"}
}

// kioskInputs returns the form fields of a new tablet.
func kioskInputs() []kit.Input {
	return []kit.Input{{Name: "name", Label: "staff.kiosk.name", Hint: "staff.kiosk.name.hint", Autocomplete: "off"}}
}

// showKiosks handles the list of check-in tablets.
func (s *site) showKiosks(x *exchange) error { return x.kiosksPage(kiosksView{}, nil) }

// kiosksPage renders the list of tablets. v may have a new enrolment code, and f is why the API refused a new tablet, or nil. An f that is
// not about the form is returned.
func (x *exchange) kiosksPage(v kiosksView, f *fault.Fault) error {
	found, err := x.site.api.Kiosks.ListKiosks(x.call(), &propertyv1.ListKiosksRequest{})
	if err != nil {
		return err
	}
	v.List, v.Inputs, v.Address, v.Doors = found.GetData().GetList(), kioskInputs(), x.Address("/k/"), x.Address("/q/")
	p, status := x.settingsPage("kiosks"), http.StatusOK
	p.Data, p.secret = v, v.Code != ""
	if f != nil {
		status = http.StatusUnprocessableEntity
		v.Inputs = x.Posted(v.Inputs)
		if p.Data = v; !p.Refuse(f, v.Inputs) {
			return f
		}
	}
	return x.render(status, "kiosks", p)
}

// createKiosk handles the form of a new tablet. The response shows its enrolment code once.
func (s *site) createKiosk(x *exchange) error {
	made, err := s.api.Kiosks.CreateKiosk(x.call(), &propertyv1.CreateKioskRequest{Name: x.Value("name")})
	if err != nil {
		f := s.Fault(err)
		if f.Reason == fault.AlreadyExists {
			f = fault.Fields(fault.Field{Path: "name", Reason: fault.Duplicate})
		}
		if f.Kind == fault.Invalid && len(f.Fields) > 0 {
			return x.kiosksPage(kiosksView{}, f)
		}
		return err
	}
	return x.kiosksPage(kiosksView{Code: made.GetCode(), Of: made.GetData()}, nil)
}

// changeKiosk handles the forms of a tablet. They create another enrolment code, or delete the tablet. Both end the access of the enrolled
// tablet at once.
func (s *site) changeKiosk(x *exchange) error {
	id := x.R.PathValue("id")
	switch x.Value("do") {
	case "reset":
		made, err := s.api.Kiosks.ResetKiosk(x.call(), &propertyv1.ResetKioskRequest{Id: id})
		if err != nil {
			return err
		}
		return x.kiosksPage(kiosksView{Code: made.GetCode(), Of: made.GetData()}, nil)
	case "delete":
		if _, err := s.api.Kiosks.DeleteKiosk(x.call(), &propertyv1.DeleteKioskRequest{Id: id}); err != nil {
			return err
		}
		return x.Redirect("/app/settings/kiosks?done=deleted")
	}
	return x.Redirect("/app/settings/kiosks")
}
