package server

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/pms"
)

// pmsOf returns the function by which check-ins find the PMS of an integration. It reads the registered endpoints at each call. Calls to an
// endpoint that is not registered return checkin.ErrNotRegistered.
func (s *Server) pmsOf(p *parts) func(ctx context.Context, propertyID, integrationID string) (checkin.PMS, error) {
	return func(ctx context.Context, propertyID, integrationID string) (checkin.PMS, error) {
		targets := map[string]*pms.Target{}
		err := s.db.ViewShared(ctx, func(view *db.Tx) error {
			secrets, err := p.registry.SigningSecrets(view, propertyID, integrationID)
			if err != nil {
				return err
			}
			endpoints, err := p.registry.OwnEndpoints(view, propertyID, integrationID)
			for _, e := range endpoints {
				targets[e.Action] = new(pms.TargetOf(e, secrets))
			}
			return err
		})
		return p.pms.Partner(targets[partner.GetCheckInStatus], targets[partner.CheckIn], s.observePartner), err
	}
}

// observePartner runs call, which calls the endpoint t of a partner, and records it in the metrics and in a trace span. It returns the
// error of call.
func (s *Server) observePartner(ctx context.Context, t pms.Target, call func(ctx context.Context) error) error {
	return s.observeCall(ctx, "partner "+t.Action, t, call)
}

// observeCall is observePartner with another name for the trace span.
func (s *Server) observeCall(ctx context.Context, span string, t pms.Target, call func(ctx context.Context) error) error {
	ctx, end := s.span(ctx, span, attribute.String("latchkey.integration", t.IntegrationID))
	began := time.Now()
	err := call(ctx)
	s.measures.recordPartnerCall(began, t.Action, err)
	end(err)
	return err
}
