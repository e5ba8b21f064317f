package staff

import (
	"net/http"
	"slices"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/web/kit"
)

// latestErasures is how many erasures the page of the retention times lists.
const latestErasures = 20

// privacyForms are the inputs of the two forms with which staff do for a guest what the guest asked for: hand out a copy of the guest's
// data, or erase them. Copy and Erase choose whose data, and Sure confirms the erasure.
type privacyForms struct{ Copy, Erase, Sure kit.Input }

// privacyForms returns the forms for the guests of a stay, with the posted choices. The first choice, "", is the main guest with the
// booking; for an erasure it is everyone.
func (x *exchange) privacyForms(p *page, guests []guestRow) *privacyForms {
	whose := kit.Input{Label: "staff.data.whose", Options: []kit.Option{{Kind: "staff.data.booking"}}}
	for _, g := range guests {
		if g.GetGuest().GetRole() != "companion" {
			continue
		}
		o := kit.Option{Value: g.GetGuest().GetId(), Text: g.Name()}
		if o.Text == "" { // the number tells guests without a name apart
			o.Text = p.Text("staff.data.guest", map[string]any{"number": g.Number})
		}
		whose.Options = append(whose.Options, o)
	}
	f := &privacyForms{Copy: whose, Erase: whose, Sure: kit.Input{Name: "sure", Label: "staff.data.sure", Type: "switch"}}
	f.Copy.Name, f.Copy.Value = "guest", x.Value("guest")
	f.Erase.Name, f.Erase.Value = "erase", x.Value("erase")
	f.Erase.Options = slices.Clone(whose.Options)
	f.Erase.Options[0].Kind = "staff.data.party" // an erasure for the main guest covers everyone
	return f
}

// downloadGuestData handles the form that downloads the copy of a guest's data. The API records the read in the audit log.
func (s *site) downloadGuestData(x *exchange) error {
	found, err := s.api.Privacy.ExportGuestData(x.call(), &propertyv1.ExportGuestDataRequest{ReservationId: x.R.PathValue("id"), GuestId: x.Value("guest")})
	if err != nil {
		return err
	}
	return x.SendFile("guest-data.json", found.GetData())
}

// eraseGuestData handles the form that requests the erasure of the data of a companion, or of everyone on the booking. If the box "sure" is
// not checked, it shows an error.
func (s *site) eraseGuestData(x *exchange) error {
	if x.Value("sure") == "" {
		return x.showGuests(http.StatusUnprocessableEntity, func(p *page) {
			p.Wrong = []kit.Wrong{{ID: "f-sure", Label: p.T("staff.data.sure"), Text: p.T("staff.data.sure.missing")}}
		})
	}
	id := x.R.PathValue("id")
	if _, err := s.api.Privacy.RequestErasure(x.call(), &propertyv1.RequestErasureRequest{ReservationId: id, GuestId: x.Value("erase")}); err != nil {
		return err
	}
	return x.Redirect("/app/reservations/" + id + "?done=erasure")
}

// backToGuests redirects a GET of an action's URL to the page with the action's button.
func (s *site) backToGuests(x *exchange) error {
	return x.Redirect("/app/reservations/" + x.R.PathValue("id") + "/guests")
}

// erasures returns the latest erasures of the property, at most latestErasures, or nil if the person may not see them.
func (x *exchange) erasures() ([]*propertyv1.ErasureItem, error) {
	if !x.may("eraseGuests") {
		return nil, nil
	}
	found, err := x.site.api.Privacy.ListErasures(x.call(), &propertyv1.ListErasuresRequest{PageSize: latestErasures})
	return found.GetData().GetList(), err
}
