package guest

import (
	"slices"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// signView is the form in which a guest signs the answers, with a drawing.
type signView struct {
	Guest  *guestv1.StayGuest
	Shown  string               // version of the shown answers: a signature is valid only for the version that was shown
	Fields []*guestv1.FormField // the answers that are signed
	Small  bool                 // the posted drawing was too small
}

// toSign returns the answers that the next guest can sign on this page. It returns nil if the check-in does not wait for a drawn signature
// of that guest.
func (x *exchange) toSign(c *guestv1.CheckIn) (*signView, error) {
	if c.GetStage() != "signature" || len(c.GetUnsignedGuestIds()) == 0 {
		return nil, nil
	}
	guest := c.GetUnsignedGuestIds()[0]
	f, err := x.form(guest)
	if err != nil {
		return nil, err
	}
	if f.GetSignature().GetState() != "open" {
		return nil, nil
	}
	v := &signView{Guest: x.flow.Guest(guest), Shown: f.GetSignature().GetShown()}
	for _, step := range f.GetSteps() {
		for _, q := range step.GetFields() {
			if slices.Contains(f.GetSignature().GetFields(), q.GetName()) {
				v.Fields = append(v.Fields, q)
			}
		}
	}
	return v, nil
}

// sign stores the posted drawing as the signature of the posted guest. The API refuses a drawing that is too small, or answers that have
// changed. A guest who has signed keeps that signature.
func (x *exchange) sign() error {
	_, err := x.site.api.Forms.SignForm(x.callContext(), &guestv1.SignFormRequest{GuestId: x.Value("guest"), Shown: x.Value("shown"), Drawing: x.Value("drawing")})
	return err
}
