package partner

import (
	"context"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/reservation/explain"
)

// ExplainReservation explains why the doors of a reservation open or do not open. A reservation that the caller cannot read is a not-found
// fault.
func (s *Service) ExplainReservation(ctx context.Context, req *partnerv1.ExplainReservationRequest) (*partnerv1.ExplainReservationResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	e, err := explain.Of(s.DB.View(ctx), s.reservations(), readScope(a), req.GetId())
	if err != nil {
		return nil, err
	}
	return &partnerv1.ExplainReservationResponse{Data: convert.Explanation(e, chain.Reader(ctx))}, nil
}

// FindExplanation is ExplainReservation for a reservation id of the PMS. It fails if several integrations have the id and the request names
// none.
func (s *Service) FindExplanation(ctx context.Context, req *partnerv1.FindExplanationRequest) (*partnerv1.FindExplanationResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	tx := s.DB.View(ctx)
	scope, ids, err := s.findScope(tx, a, req.GetIntegrationId())
	if err != nil {
		return nil, err
	}
	row, err := reservation.Find(tx, scope, ids, req.GetPmsId())
	if err != nil {
		return nil, err
	}
	e, err := explain.Of(tx, s.reservations(), scope, row.ID)
	if err != nil {
		return nil, err
	}
	return &partnerv1.FindExplanationResponse{Data: convert.Explanation(e, chain.Reader(ctx))}, nil
}
