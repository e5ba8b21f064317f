package partner

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/reservation"
)

// UpsertEndpoint registers the partner's URL for one action. Fields that the request omits keep their stored value. A changed endpoint
// loses its recorded health. The first registration of an integration answers with the signing secret. After each registration of
// getSpaces, also one that changes nothing, the server soon calls it.
func (s *Service) UpsertEndpoint(ctx context.Context, req *partnerv1.UpsertEndpointRequest) (*partnerv1.UpsertEndpointResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*partnerv1.UpsertEndpointResponse, error) {
		desired := endpointFromRequest(req)
		desired.PropertyID, desired.IntegrationID = a.PropertyID, a.IntegrationID
		e, secret, err := s.Registry.Register(tx, desired, s.CheckURL)
		if err != nil {
			return nil, err
		}
		if e.Action == partner.GetSpaces {
			if err := s.enqueueReading(tx, a, secret != ""); err != nil {
				return nil, err
			}
		}
		out := &partnerv1.UpsertEndpointResponse{Data: endpointMessage(e, true, chain.Reader(ctx))}
		if secret != "" {
			out.SigningSecret = &secret
		}
		return out, nil
	})
}

// enqueueReading enqueues the first call of a registered getSpaces endpoint. If the signing secret is new, the call waits some
// seconds, so that the partner can store the secret. It does nothing if the Service has no function for it.
func (s *Service) enqueueReading(tx *db.Tx, a actor.Actor, newSecret bool) error {
	read := s.ReadSpaces
	if newSecret {
		read = s.FirstSpaces
	}
	if read == nil {
		return nil
	}
	return read(tx, a.PropertyID, a.IntegrationID)
}

// endpointFromRequest converts a request, without a check and without the ids of its caller.
func endpointFromRequest(req *partnerv1.UpsertEndpointRequest) partner.Endpoint {
	return partner.Endpoint{Action: req.GetAction(), URL: req.GetUrl(), Method: req.GetMethod(), Token: req.GetToken(), TokenIn: req.GetTokenIn()}
}

// Static returns, by full method name, the validation of endpoints and webhooks that needs no stored data: see [chain.Config.Static].
// checkURL is that of the Service.
func Static(checkURL func(url string) error) map[string]func(proto.Message) []fault.Field {
	return map[string]func(proto.Message) []fault.Field{
		partnerv1.EndpointService_UpsertEndpoint_FullMethodName: func(m proto.Message) []fault.Field {
			req, _ := m.(*partnerv1.UpsertEndpointRequest)
			if req.GetUrl() == "" && slices.Contains(partner.Actions, req.GetAction()) {
				return nil // an empty URL is valid if the endpoint is already registered, which the handler checks
			}
			if f, ok := fault.Of(endpointFromRequest(req).Check(checkURL)); ok {
				return f.Fields
			}
			return nil
		},
		partnerv1.WebhookService_UpsertWebhook_FullMethodName: func(m proto.Message) []fault.Field {
			req, _ := m.(*partnerv1.UpsertWebhookRequest)
			return partner.WebhookChange{ID: req.GetId(), URL: req.GetUrl(), Kinds: req.GetEvents()}.Static(checkURL)
		},
	}
}

// ListEndpoints lists the caller's endpoints. It omits the tokens unless the caller has the scope to change endpoints.
func (s *Service) ListEndpoints(ctx context.Context, _ *partnerv1.ListEndpointsRequest) (*partnerv1.ListEndpointsResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	withTokens := a.Has(actor.EndpointsWrite)
	load := partner.Endpoints
	if withTokens {
		load = s.Registry.OwnEndpoints
	}
	all, err := load(s.DB.View(ctx), a.PropertyID, a.IntegrationID)
	if err != nil {
		return nil, err
	}
	list := &partnerv1.EndpointList{Total: int32(len(all))}
	for _, e := range all {
		list.List = append(list.List, endpointMessage(e, withTokens, chain.Reader(ctx)))
	}
	return &partnerv1.ListEndpointsResponse{Data: list}, nil
}

// DeleteEndpoint removes the caller's endpoint for one action and returns it with its token, or fails if there is none. The spaces that the
// partner listed stay stored.
func (s *Service) DeleteEndpoint(ctx context.Context, req *partnerv1.DeleteEndpointRequest) (*partnerv1.DeleteEndpointResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*partnerv1.DeleteEndpointResponse, error) {
		e, err := s.Registry.Unregister(tx, a.PropertyID, a.IntegrationID, req.GetAction())
		if err != nil {
			return nil, err
		}
		return &partnerv1.DeleteEndpointResponse{Data: endpointMessage(e, true, chain.Reader(ctx))}, nil
	})
}

// TestEndpoint calls the caller's endpoint for one action once, outside of any transaction. It returns the result, also a failure, and
// stores it in the endpoint's health. An error means that the endpoint is unknown, or that no call was made or its result was not stored.
func (s *Service) TestEndpoint(ctx context.Context, req *partnerv1.TestEndpointRequest) (*partnerv1.TestEndpointResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.Tester.Test(ctx, a.PropertyID, a.IntegrationID, req.GetAction())
	if err != nil {
		return nil, err
	}
	out := &partnerv1.EndpointTest{
		Ok: found.OK, Status: int32(found.Status), LatencyMs: float64(found.Latency) / float64(time.Millisecond),
		Reason: convert.TextOrNil(found.Reason), Message: convert.TextOrNil(found.Message),
	}
	for _, v := range found.Failures {
		out.Violations, out.Problems = append(out.Violations, v.Text), append(out.Problems, endpointProblem(v, chain.Reader(ctx)))
	}
	return &partnerv1.TestEndpointResponse{Data: out}, nil
}

// RenderEndpoint is the idem.Renderer of UpsertEndpoint: it adds the endpoint's current token to a repeated answer, unless the endpoint was
// deleted. It does not repeat the signing secret.
func (s *Service) RenderEndpoint(ctx context.Context, answer proto.Message) error {
	out, ok := answer.(*partnerv1.UpsertEndpointResponse)
	a, err := caller(ctx)
	if !ok || err != nil {
		return errors.Join(errors.New("render an endpoint: wrong message type or caller"), err)
	}
	e, err := s.Registry.Endpoint(s.DB.View(ctx), a.PropertyID, a.IntegrationID, out.GetData().GetAction())
	if fault.Has(err, fault.EndpointNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	out.Data.Token = &e.Token
	return nil
}

// RenderDeleted is the idem.Renderer of DeleteEndpoint. It adds no token to a repeated answer, because the token was deleted with the
// endpoint.
func (s *Service) RenderDeleted(context.Context, proto.Message) error { return nil }

// RenderReset is the idem.Renderer of ResetKeyChain: it adds the booker to a repeated answer and, if the caller has the scope pins:read,
// the current PINs. It adds neither once the reservation is removed.
func (s *Service) RenderReset(ctx context.Context, answer proto.Message) error {
	out, ok := answer.(*partnerv1.ResetKeyChainResponse)
	a, err := caller(ctx)
	if !ok || err != nil {
		return errors.Join(errors.New("render a reset: wrong message type or caller"), err)
	}
	if err := s.RenderPersonal(ctx, answer); err != nil {
		return err
	}
	to := out.GetData().GetReservation()
	if to == nil || !a.Has(actor.PINsRead) {
		return nil
	}
	tx := s.DB.View(ctx)
	row, err := reservation.Get(tx, writeScope(a), to.GetId())
	if fault.Has(err, fault.ReservationNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	to.Pin, to.GatesPins = nil, nil
	return s.addPINs(tx, a, row, to, func(string) bool { return true })
}

// endpointMessage converts an endpoint with its health and, if withToken is true, its token. to is the reader of the last problem.
func endpointMessage(e partner.Endpoint, withToken bool, to message.Reader) *partnerv1.Endpoint {
	out := &partnerv1.Endpoint{
		Action: e.Action, Url: e.URL, Method: e.Method, IntegrationId: e.IntegrationID, TokenIn: e.TokenIn,
		Health: &partnerv1.EndpointHealth{
			State: e.Health.State(), ConsecutiveFailures: int32(e.Health.Failures),
			LastSuccessAt: convert.OptionalTime(e.Health.LastSuccessAt), LastFailureAt: convert.OptionalTime(e.Health.LastFailureAt), LastError: convert.TextOrNil(e.Health.LastError.Text),
			LastProblem: endpointProblem(e.Health.LastError, to),
		},
	}
	if withToken {
		out.Token = &e.Token
	}
	return out
}

// endpointProblem converts a failure of an endpoint or webhook, or returns nil for a success.
func endpointProblem(f partner.Failure, to message.Reader) *partnerv1.EndpointProblem {
	if !f.Failed() {
		return nil
	}
	kind, parameters, text := convert.Problem(f, to)
	return &partnerv1.EndpointProblem{Kind: kind, Parameters: parameters, Text: text}
}
