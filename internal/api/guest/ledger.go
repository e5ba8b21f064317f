package guest

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/partner"
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
		out.List, out.More, err = disclosures(s.DB.View(ctx), p, a)
	}
	return &guestv1.ListDisclosuresResponse{Data: out}, err
}

func disclosures(view *db.Tx, p *guest.Party, a actor.Actor) (out []*guestv1.Disclosure, more bool, err error) {
	rows, more, err := guest.ListDisclosures(view, p, p.Visible(a))
	if err != nil {
		return nil, false, err
	}
	names := map[string]string{}
	for _, d := range rows {
		if names[d.IntegrationID] == "" {
			from, err := partner.Integration(view, a.PropertyID, d.IntegrationID)
			if err != nil {
				return nil, false, err
			}
			names[d.IntegrationID] = from.Name
		}
		line := &guestv1.Disclosure{
			GuestId: d.GuestID, PartnerName: names[d.IntegrationID], Groups: d.Groups, Why: d.Why, At: timestamppb.New(d.CreatedAt), Refused: d.Refused, Times: int32(d.Times),
		}
		if d.LastAt != nil {
			line.LastAt = convert.Time(*d.LastAt)
		}
		out = append(out, line)
	}
	return out, more, nil
}
