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
	Code    string            // that enrols the tablet, shown once
	Of      *propertyv1.Kiosk // whose code it is
	Address string            // where the tablet enters it
	Doors   string            // the start of the addresses of QR codes
}

// Chip says whether a tablet is there.
func (kiosksView) Chip(k *propertyv1.Kiosk) chip {
	switch k.GetState() {
	case "online":
		return chip{"ok", "●", "staff.kiosk.online"}
	case "offline":
		return chip{"bad", "✕", "staff.kiosk.offline"}
	}
	return chip{"unknown", "○", "staff.kiosk.notEnrolled"}
}

func kioskInputs() []kit.Input {
	return []kit.Input{{Name: "name", Label: "staff.kiosk.name", Hint: "staff.kiosk.name.hint", Autocomplete: "off"}}
}

func (s *site) showKiosks(x *exchange) error { return x.kiosksPage(kiosksView{}, nil) }

// kiosksPage shows the tablets, with a code that was just made or with what is wrong with the posted name.
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

// createKiosk creates a tablet, and shows the code that enrols it once.
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

// changeKiosk makes a new code for a tablet, or deletes the tablet.
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
