package property

import (
	"context"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/explained"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/reservation/explain"
)

type reservations struct {
	propertyv1.UnimplementedReservationServiceServer
	Deps
}

func (s *reservations) keeper() reservation.Keeper { return reservation.Keeper{Keys: s.Keys} }

func (s *reservations) ExplainReservation(ctx context.Context, r *propertyv1.ExplainReservationRequest) (*propertyv1.ExplainReservationResponse, error) {
	propertyID, err := tenant(ctx)
	if err != nil {
		return nil, err
	}
	e, err := explain.Of(s.DB.View(ctx), s.keeper(), reservation.Scope{PropertyID: propertyID}, r.GetId())
	if err != nil {
		return nil, err
	}
	return &propertyv1.ExplainReservationResponse{Data: explained.Message(e)}, nil
}
