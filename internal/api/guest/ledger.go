package guest

import (
	"cmp"
	"context"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/guest"
)

// usualDisclosures is the number of lines on a page if the request sets none.
const usualDisclosures = 100

// ListDisclosures returns a page of the ledger of disclosures: which partners read which data of the guests that the caller sees. It has no
// lines if the session is not trusted.
func (s *Stays) ListDisclosures(ctx context.Context, r *guestv1.ListDisclosuresRequest) (*guestv1.ListDisclosuresResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.party(ctx, a)
	if err != nil {
		return nil, err
	}
	out := &guestv1.DisclosureList{Partial: !p.MayAccess(a)}
	if !out.Partial {
		page := guest.LedgerPage{Size: cmp.Or(int(r.GetPageSize()), usualDisclosures), Token: r.GetPageToken()}
		out.List, out.NextPageToken, err = convert.Disclosures(s.DB.View(ctx), p, a, page)
		out.More = out.GetNextPageToken() != ""
	}
	return &guestv1.ListDisclosuresResponse{Data: out}, err
}
