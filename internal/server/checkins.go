package server

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/pms"
)

// pmsOf returns a function that finds the PMS of an integration with the endpoints that it has registered now.
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
		return measuredPMS{p.pms.Partner(targets[partner.GetCheckInStatus], targets[partner.CheckIn]), s, integrationID}, err
	}
}

// measuredPMS counts and traces the calls to a PMS.
type measuredPMS struct {
	checkin.PMS
	server        *Server
	integrationID string
}

func (m measuredPMS) CheckInStatus(ctx context.Context, reservationID string) (status checkin.Status, err error) {
	err = m.measure(ctx, partner.GetCheckInStatus, func(ctx context.Context) error {
		status, err = m.PMS.CheckInStatus(ctx, reservationID)
		return err
	})
	return status, err
}

func (m measuredPMS) CheckIn(ctx context.Context, idempotencyKey string, body checkin.Disclosure) error {
	return m.measure(ctx, partner.CheckIn, func(ctx context.Context) error { return m.PMS.CheckIn(ctx, idempotencyKey, body) })
}

func (m measuredPMS) measure(ctx context.Context, action string, call func(ctx context.Context) error) error {
	ctx, end := m.server.span(ctx, "partner "+action, attribute.String("latchkey.integration", m.integrationID))
	began := time.Now()
	err := call(ctx)
	if !errors.Is(err, checkin.ErrNotRegistered) {
		m.server.measures.recordPartnerCall(began, action, err)
	}
	end(err)
	return err
}
