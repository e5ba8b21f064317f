package admin

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/staff"
)

type owners struct {
	adminv1.UnimplementedOwnerServiceServer
	Deps
}

// CreateOwnerLink creates a single-use link with which a person becomes owner of a property.
func (s *owners) CreateOwnerLink(ctx context.Context, r *adminv1.CreateOwnerLinkRequest) (*adminv1.CreateOwnerLinkResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	who, _ := actor.From(ctx)
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.CreateOwnerLinkResponse, error) {
		l, err := staff.CreateOwnerLink(tx, s.Keys, r.GetPropertyId(), who.Author(), chain.From(ctx).Trace())
		if err != nil {
			return nil, err
		}
		return &adminv1.CreateOwnerLinkResponse{Data: &adminv1.OwnerLink{
			Url: s.OwnerURL(l.Secret, l.PropertyID), Secret: l.Secret, PropertyId: l.PropertyID, EndsAt: timestamppb.New(l.EndsAt),
		}}, nil
	})
}
