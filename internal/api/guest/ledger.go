package guest

import (
	"context"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/api/convert"
)

// ListDisclosures returns who read the data of the guests that the caller sees.
func (s *Stays) ListDisclosures(ctx context.Context, _ *guestv1.ListDisclosuresRequest) (*guestv1.ListDisclosuresResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.party(ctx, a)
	if err != nil {
		return nil, err
	}
	out := &guestv1.DisclosureList{Partial: !p.Trusts(a)}
	if !out.Partial {
		out.List, out.More, err = convert.Disclosures(s.DB.View(ctx), p, a)
	}
	return &guestv1.ListDisclosuresResponse{Data: out}, err
}
