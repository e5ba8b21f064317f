package partner

import (
	"context"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/api/explained"
	"latchkey.dev/internal/reservation/explain"
)

// ExplainReservation says why the doors of a stay open, or do not.
func (s *Service) ExplainReservation(ctx context.Context, req *partnerv1.ExplainReservationRequest) (*partnerv1.ExplainReservationResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	e, err := explain.Of(s.DB.View(ctx), s.keeper(), readable(a), req.GetId())
	if err != nil {
		return nil, err
	}
	return &partnerv1.ExplainReservationResponse{Data: explained.Message(e)}, nil
}
