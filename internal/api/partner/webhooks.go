package partner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/reservation"
)

// defaultOverlap is how long a webhook's messages are also signed with the previous secret after a rotation, unless the request sets
// overlapMinutes.
const defaultOverlap = 24 * time.Hour

// UpsertWebhook registers a webhook of the caller, or changes the one with the id or, without an id, the URL of the request. Fields that
// the request omits keep their value; a new webhook without events gets all. It refuses the event with a PIN without the scope pins:read.
// Only the answer to a registration has the signing secret. A change of an enabled webhook enqueues the delivery of what waits for it, also
// during a pause.
func (s *Service) UpsertWebhook(ctx context.Context, req *partnerv1.UpsertWebhookRequest) (*partnerv1.UpsertWebhookResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*partnerv1.UpsertWebhookResponse, error) {
		row, secret, err := s.Registry.RegisterWebhook(tx, partner.WebhookChange{
			PropertyID: a.PropertyID, IntegrationID: a.IntegrationID, ID: req.GetId(), URL: req.GetUrl(), Kinds: req.GetEvents(), Enabled: req.Enabled,
		}, s.CheckURL)
		if err != nil {
			return nil, err
		}
		// A changed webhook, which gets no new secret, is delivered to at once: its URL may be new, and a pause was for the former one.
		if secret == "" && row.DisabledAt == nil {
			if err := s.DeliverSoon(tx, a.PropertyID, row.ID); err != nil {
				return nil, err
			}
		}
		data, err := webhookMessage(tx, row, chain.Reader(ctx))
		return &partnerv1.UpsertWebhookResponse{Data: data, SigningSecret: convert.TextOrNil(secret)}, err
	})
}

// ListWebhooks lists the caller's webhooks in the order of their registration, also disabled ones.
func (s *Service) ListWebhooks(ctx context.Context, _ *partnerv1.ListWebhooksRequest) (*partnerv1.ListWebhooksResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	rows, err := partner.Webhooks(view, a.PropertyID, a.IntegrationID)
	if err != nil {
		return nil, err
	}
	list := &partnerv1.WebhookList{Total: int32(len(rows))}
	for _, row := range rows {
		m, err := webhookMessage(view, row, chain.Reader(ctx))
		if err != nil {
			return nil, err
		}
		list.List = append(list.List, m)
	}
	return &partnerv1.ListWebhooksResponse{Data: list}, nil
}

// DeleteWebhook removes a webhook of the caller with its waiting messages. A webhook that the caller does not have is a not-found fault.
func (s *Service) DeleteWebhook(ctx context.Context, req *partnerv1.DeleteWebhookRequest) (*partnerv1.DeleteWebhookResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*partnerv1.DeleteWebhookResponse, error) {
		row, err := partner.RemoveWebhook(tx, a.PropertyID, a.IntegrationID, req.GetId())
		if err != nil {
			return nil, err
		}
		data, err := webhookMessage(tx, row, chain.Reader(ctx))
		return &partnerv1.DeleteWebhookResponse{Data: data}, err
	})
}

// RotateWebhookSecret replaces the secret of a webhook of the caller. The previous secret also signs until the overlap ends: after
// defaultOverlap unless the request sets it, and at once for 0. Only this answer has the new secret.
func (s *Service) RotateWebhookSecret(ctx context.Context, req *partnerv1.RotateWebhookSecretRequest) (*partnerv1.RotateWebhookSecretResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	overlap := defaultOverlap
	if req.OverlapMinutes != nil {
		overlap = convert.Minutes(req.GetOverlapMinutes())
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*partnerv1.RotateWebhookSecretResponse, error) {
		row, secret, err := s.Registry.RotateWebhookSecret(tx, a.PropertyID, a.IntegrationID, req.GetId(), overlap)
		if err != nil {
			return nil, err
		}
		data, err := webhookMessage(tx, row, chain.Reader(ctx))
		return &partnerv1.RotateWebhookSecretResponse{Data: data, SigningSecret: secret}, err
	})
}

// TestWebhook sends a message with the event "test" to a webhook once, outside of any transaction, and stores the result. A failure does
// not count as a failed delivery. After a success, events that wait for a retry or the end of a pause are delivered at once.
func (s *Service) TestWebhook(ctx context.Context, req *partnerv1.TestWebhookRequest) (*partnerv1.TestWebhookResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	row, err := partner.Webhook(view, a.PropertyID, a.IntegrationID, req.GetId())
	if err != nil {
		return nil, err
	}
	secrets, err := s.Registry.WebhookSecrets(view, row)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"event": "test", "occurredAt": view.Now(), "data": map[string]any{}})
	if err != nil {
		return nil, fmt.Errorf("encode a test message: %w", err)
	}
	found, err := s.TestDelivery(ctx, row, secrets, body)
	if err != nil {
		return nil, err
	}
	failure := partner.Failure{Text: found.Message, Problem: found.Problem}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := partner.RecordWebhookTest(tx, a.PropertyID, row.ID, failure); err != nil || failure.Failed() {
			return err
		}
		return s.DeliverSoon(tx, a.PropertyID, row.ID)
	})
	return &partnerv1.TestWebhookResponse{Data: &partnerv1.WebhookTest{
		Ok: found.OK, Status: int32(found.Status), LatencyMs: float64(found.Latency) / float64(time.Millisecond), Error: convert.TextOrNil(found.Message),
		Problem: endpointProblem(failure, chain.Reader(ctx)),
	}}, err
}

// PINGeneratedBody returns the body of the webhook message reservationPinGenerated from the current state. It is nil if the reservation
// does not belong to the integration or has no PIN now. webAppURL returns the address of the guest's page of a stay.
func (s *Service) PINGeneratedBody(view *db.Tx, propertyID, integrationID, reservationID string, webAppURL func(reservationID string) string) ([]byte, error) {
	a := actor.Actor{Kind: actor.Integration, PropertyID: propertyID, IntegrationID: integrationID, Scopes: []string{actor.PINsRead}}
	row, err := reservation.Get(view, writeScope(a), reservationID)
	if fault.Has(err, fault.ReservationNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := s.extendedMessage(view, a, row, []string{extendPIN, extendGates})
	if err != nil || out.Pin == nil {
		return nil, err
	}
	raw, err := jsonpb.Append(nil, out.ProtoReflect())
	if err != nil {
		return nil, err
	}
	data := map[string]json.RawMessage{}
	page, err := json.Marshal(webAppURL(row.ID))
	if err = errors.Join(err, json.Unmarshal(raw, &data)); err != nil {
		return nil, fmt.Errorf("encode a message with a PIN: %w", err)
	}
	data["webAppUrl"] = page
	body, err := json.Marshal(map[string]any{"event": event.PINGenerated, "data": data})
	if err != nil {
		return nil, fmt.Errorf("encode a message with a PIN: %w", err)
	}
	return body, nil
}

// webhookMessage converts a webhook with its health and the number of waiting messages. to is the reader of the last problem.
func webhookMessage(view *db.Tx, w *partner.WebhookRow, to message.Reader) (*partnerv1.Webhook, error) {
	backlog, err := partner.BacklogOf(view, w)
	if err != nil {
		return nil, err
	}
	health := partner.WebhookHealth(w)
	out := &partnerv1.Webhook{
		Id: w.ID, Url: w.URL, Events: w.Kinds, Enabled: w.DisabledAt == nil, DisabledReason: convert.TextOrNil(w.DisabledReason),
		DisabledAt: convert.OptionalTime(w.DisabledAt), CreatedAt: clock.Timestamp(w.CreatedAt),
		Health: &partnerv1.WebhookHealth{
			State: health.State(), ConsecutiveFailures: int32(health.Failures), LastSuccessAt: convert.OptionalTime(health.LastSuccessAt),
			LastFailureAt: convert.OptionalTime(health.LastFailureAt), LastError: convert.TextOrNil(health.LastError.Text),
			LastProblem: endpointProblem(health.LastError, to),
		},
		Backlog: &partnerv1.WebhookBacklog{
			Waiting: int32(backlog.Waiting), WaitingSince: convert.OptionalTime(backlog.Since), FailingSubjects: int32(backlog.HeldBack),
			NextRetryAt: convert.OptionalTime(backlog.RetryAt), GivenUp: int32(w.GivenUp), GivenUpAt: convert.OptionalTime(w.GivenUpAt),
		},
	}
	if w.PreviousUntil != nil && view.Now().Before(*w.PreviousUntil) {
		out.PreviousSecretUntil = convert.OptionalTime(w.PreviousUntil)
	}
	return out, nil
}
