package server

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/pms"
	"latchkey.dev/internal/worker"
)

// newWebhooks creates the delivery of events to partners' webhooks. It reads p.pms and p.partnerAPI only at a delivery, because they are
// created later.
func (s *Server) newWebhooks(p *parts) worker.Webhooks {
	return worker.Webhooks{
		DB: s.db, Keys: s.keys, Jobs: s.jobs, Registry: p.registry, Log: s.log, Every: s.sweep,
		Send: func(ctx context.Context, w *partner.WebhookRow, secrets []string, messageID string, body []byte) (worker.Sent, error) {
			recovered := w.Failures == 0 // another node may have found out: the message is then sent even if the circuit breaker of this node is still open
			out, err := s.deliver(ctx, w, secrets, pms.Message{ID: messageID, Body: body}, recovered)
			return worker.Sent{Failure: partner.Failure{Text: out.Failure, Problem: out.Problem}, Gone: out.Gone, NotSent: out.NotSent, RetryAfter: out.RetryAfter}, err
		},
		RenderPINs: func(view *db.Tx, propertyID, integrationID, reservationID string) ([]byte, error) {
			return p.partnerAPI.PINGeneratedBody(view, propertyID, integrationID, reservationID, func(reservationID string) string {
				return s.PublicURL() + "/g/stays/" + reservationID
			})
		},
	}
}

// testDelivery sends a message to a webhook once to test it, also with an open circuit breaker. A failed delivery is in the result. The
// error is only that of ctx.
func (s *Server) testDelivery(ctx context.Context, w *partner.WebhookRow, secrets []string, body []byte) (partner.Probed, error) {
	out, err := s.deliver(ctx, w, secrets, pms.Message{ID: id.New(id.Event), Body: body}, true)
	return partner.Probed{OK: out.Failure == "", Status: out.Status, Latency: out.Latency, Message: out.Failure, Problem: out.Problem}, err
}

// deliver sends a message to a webhook once, and records it in a trace span and in the metrics. The metrics leave out a call that an open
// circuit breaker or too many other calls prevented, and one that ctx ended. A failed delivery is in the result, not in the error, which is
// only that of ctx. urgent means that the call ignores an open circuit breaker.
func (s *Server) deliver(ctx context.Context, w *partner.WebhookRow, secrets []string, m pms.Message, urgent bool) (pms.Delivered, error) {
	ctx, end := s.span(ctx, "webhook", attribute.String("latchkey.integration", w.IntegrationID))
	began := time.Now()
	out, err := s.parts.pms.Deliver(ctx, pms.WebhookTarget(w.IntegrationID, w.ID, w.URL, secrets), m, urgent)
	var failed error
	switch {
	case err != nil:
		failed = err
	case out.Failure != "":
		failed = errors.New(out.Failure)
	}
	if err == nil && !out.NotSent {
		s.measures.recordDelivery(began, out.Cause)
	}
	end(failed)
	return out, err
}
