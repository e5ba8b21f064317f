package guest

import (
	"slices"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// signView is the signature that the check-in waits for.
type signView struct {
	Guest  *guestv1.StayGuest
	Shown  string               // the version of the answers
	Fields []*guestv1.FormField // what is signed
	Small  bool                 // the drawing was refused
}

// toSign returns the answers that a guest can sign on this page now, or nil if the check-in waits for no such signature.
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
	v := &signView{Guest: x.flow.guest(guest), Shown: f.GetSignature().GetShown()}
	for _, step := range f.GetSteps() {
		for _, q := range step.GetFields() {
			if slices.Contains(f.GetSignature().GetFields(), q.GetName()) {
				v.Fields = append(v.Fields, q)
			}
		}
	}
	return v, nil
}

// sign stores what a guest drew.
func (x *exchange) sign() error {
	_, err := x.site.api.Forms.SignForm(x.callContext(), &guestv1.SignFormRequest{GuestId: x.Value("guest"), Shown: x.Value("shown"), Drawing: x.Value("drawing")})
	return err
}
