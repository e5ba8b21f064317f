package property

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
)

type integrations struct {
	propertyv1.UnimplementedIntegrationServiceServer
	Deps
}

// ListApps lists the partner apps of the installation, each with the property's integration if it is connected.
func (s *integrations) ListApps(ctx context.Context, _ *propertyv1.ListAppsRequest) (*propertyv1.ListAppsResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	apps, err := partner.Apps(s.DB.View(ctx))
	if err != nil {
		return nil, err
	}
	rows, err := partner.Integrations(s.DB.View(ctx), propertyID)
	if err != nil {
		return nil, err
	}
	connected := map[string]string{}
	for _, row := range rows {
		if row.AppID != nil {
			connected[*row.AppID] = row.ID
		}
	}
	list := &propertyv1.AppList{Total: int32(len(apps))}
	for _, a := range apps {
		list.List = append(list.List, &propertyv1.App{Id: a.ID, Name: a.Name, IntegrationId: convert.TextOrNil(connected[a.ID])})
	}
	return &propertyv1.ListAppsResponse{Data: list}, nil
}

// ConnectApp connects a partner app to the property, and fails if it is connected already. Without a name, it gets the app's. Without
// scopes in the request, the integration gets all but the right to read guests. The answer has the access token, which is shown once.
func (s *integrations) ConnectApp(ctx context.Context, r *propertyv1.ConnectAppRequest) (*propertyv1.ConnectAppResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.ConnectAppResponse, error) {
		if err := CheckOptionalName("name", r.GetName()); err != nil {
			return nil, err
		}
		row, secret, err := s.Partners.Connect(tx, propertyID, r.GetAppId(), r.GetName(), r.GetScopes())
		if err != nil {
			return nil, err
		}
		m, err := integrationMessage(tx, propertyID, row)
		return &propertyv1.ConnectAppResponse{Data: m, AccessToken: secret}, err
	})
}

// ListIntegrations lists the integrations of the property by name, also the built-in one of its own scripts.
func (s *integrations) ListIntegrations(ctx context.Context, _ *propertyv1.ListIntegrationsRequest) (*propertyv1.ListIntegrationsResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := partner.Integrations(s.DB.View(ctx), propertyID)
	if err != nil {
		return nil, err
	}
	list, err := integrationMessages(s.DB.View(ctx), propertyID, rows...)
	if err != nil {
		return nil, err
	}
	return &propertyv1.ListIntegrationsResponse{Data: &propertyv1.IntegrationList{List: list, Total: int32(len(list))}}, nil
}

// GetIntegration returns an integration with its endpoints, webhooks and access tokens, without secrets.
func (s *integrations) GetIntegration(ctx context.Context, r *propertyv1.GetIntegrationRequest) (*propertyv1.GetIntegrationResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	row, err := partner.Integration(s.DB.View(ctx), propertyID, r.GetId())
	if err != nil {
		return nil, err
	}
	m, err := integrationMessage(s.DB.View(ctx), propertyID, row)
	return &propertyv1.GetIntegrationResponse{Data: m}, err
}

// UpdateIntegration changes the name and the scopes of an integration. Without a name or scopes in the request, the stored ones stay.
func (s *integrations) UpdateIntegration(ctx context.Context, r *propertyv1.UpdateIntegrationRequest) (*propertyv1.UpdateIntegrationResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.UpdateIntegrationResponse, error) {
		if r.Name != nil {
			if err := RequireName("name", r.GetName()); err != nil {
				return nil, err
			}
		}
		row, err := s.Partners.Update(tx, propertyID, r.GetId(), r.Name, r.GetScopes())
		if err != nil {
			return nil, err
		}
		m, err := integrationMessage(tx, propertyID, row)
		return &propertyv1.UpdateIntegrationResponse{Data: m}, err
	})
}

// RotateAccessToken creates a new access token for an integration. It fails for the built-in integration. The previous ones expire after
// the overlap, or at once without one. It also fails while too many of them have not ended. Only this answer has the token.
func (s *integrations) RotateAccessToken(ctx context.Context, r *propertyv1.RotateAccessTokenRequest) (*propertyv1.RotateAccessTokenResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RotateAccessTokenResponse, error) {
		row, secret, err := s.Partners.RotateAccessToken(tx, propertyID, r.GetId(), convert.Minutes(r.GetOverlapMinutes()))
		if err != nil {
			return nil, err
		}
		m, err := integrationMessage(tx, propertyID, row)
		return &propertyv1.RotateAccessTokenResponse{Data: m, AccessToken: secret}, err
	})
}

// RevokeAccessToken revokes all access tokens of an integration at once; without any it does nothing. It fails for the built-in
// integration. Its reservations and the access of guests stay.
func (s *integrations) RevokeAccessToken(ctx context.Context, r *propertyv1.RevokeAccessTokenRequest) (*propertyv1.RevokeAccessTokenResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RevokeAccessTokenResponse, error) {
		row, err := s.Partners.RevokeAccessTokens(tx, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		m, err := integrationMessage(tx, propertyID, row)
		return &propertyv1.RevokeAccessTokenResponse{Data: m}, err
	})
}

// RotateSigningSecret creates a new secret for signing calls to the partner. The previous secret also signs until the next rotation, unless
// the request drops it. Only this answer has the new secret.
func (s *integrations) RotateSigningSecret(ctx context.Context, r *propertyv1.RotateSigningSecretRequest) (*propertyv1.RotateSigningSecretResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RotateSigningSecretResponse, error) {
		secret, err := s.Partners.RotateSigningSecret(tx, propertyID, r.GetId(), r.GetDropPrevious())
		if err != nil {
			return nil, err
		}
		return &propertyv1.RotateSigningSecretResponse{SigningSecret: secret}, nil
	})
}

// withProblem adds to the fault err, in the language of the call, why the spaces of a PMS could not be read. It returns err if it is no
// fault, or problem is empty.
func (s *integrations) withProblem(ctx context.Context, propertyID string, err error, problem message.Message) error {
	f, ok := fault.Of(err)
	if !ok || problem.Kind == "" {
		return err
	}
	to, err := s.reader(ctx, propertyID)
	if err != nil {
		return err
	}
	return f.Put("problem", convert.Sentence(to, problem))
}

// ReadSpaces calls the partner's getSpaces endpoint now and stores the result. It returns how many spaces were found and mapped, and the
// number of open conflicts. If the call fails, it returns an error with the reason.
func (s *integrations) ReadSpaces(ctx context.Context, r *propertyv1.ReadSpacesRequest) (*propertyv1.ReadSpacesResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := partner.Integration(s.DB.View(ctx), propertyID, r.GetId()); err != nil {
		return nil, err
	}
	problem, err := s.Deps.ReadSpaces(ctx, propertyID, r.GetId())
	if fault.Has(err, fault.EndpointNotFound) {
		return nil, fault.New(fault.Precondition, fault.EndpointNotRegistered, "the partner has not registered getSpaces yet; ask the vendor to register it (PATCH /v1/endpoints)")
	}
	if err != nil {
		return nil, s.withProblem(ctx, propertyID, err, problem)
	}
	view, few := s.DB.View(ctx), space.Page{Limit: 1}
	found, err := space.CountEntries(view, propertyID, r.GetId(), space.EntryFilter{})
	if err != nil {
		return nil, err
	}
	unmapped, err := space.CountEntries(view, propertyID, r.GetId(), space.EntryFilter{UnmappedOnly: true})
	if err != nil {
		return nil, err
	}
	_, open, err := space.ListConflicts(view, propertyID, space.ConflictFilter{IntegrationID: r.GetId(), Page: few})
	if err != nil {
		return nil, err
	}
	return &propertyv1.ReadSpacesResponse{Data: &propertyv1.SpacesReading{
		Found: int32(found), Mapped: int32(found - unmapped), OpenConflicts: int32(open),
	}}, nil
}

// TestEndpoint calls one endpoint of the partner now, and stores the result in its health. A failure is a result with the reason. An error
// means that no call was made, or that its result was not stored.
func (s *integrations) TestEndpoint(ctx context.Context, r *propertyv1.TestEndpointRequest) (*propertyv1.TestEndpointResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := partner.Integration(s.DB.View(ctx), propertyID, r.GetId()); err != nil {
		return nil, err
	}
	found, err := s.Deps.TestEndpoint(ctx, propertyID, r.GetId(), r.GetAction())
	if err != nil {
		return nil, err
	}
	out := &propertyv1.EndpointTest{
		Ok: found.OK, Status: int32(found.Status), LatencyMs: float64(found.Latency) / float64(time.Millisecond),
		Reason: convert.TextOrNil(found.Reason), Message: convert.TextOrNil(found.Message),
	}
	for _, v := range found.Failures {
		out.Violations, out.Problems = append(out.Violations, v.Text), append(out.Problems, endpointProblem(v, chain.Reader(ctx)))
	}
	return &propertyv1.TestEndpointResponse{Data: out}, nil
}

// endpointProblem converts a failure of an endpoint or webhook, or returns nil for a success.
func endpointProblem(f partner.Failure, to message.Reader) *propertyv1.EndpointProblem {
	if !f.Failed() {
		return nil
	}
	kind, parameters, text := convert.Problem(f, to)
	return &propertyv1.EndpointProblem{Kind: kind, Parameters: parameters, Text: text}
}

// integrationMessage converts an integration with its endpoints, webhooks and access tokens, without secrets.
func integrationMessage(view *db.Tx, propertyID string, row *partner.IntegrationRow) (*propertyv1.Integration, error) {
	list, err := integrationMessages(view, propertyID, row)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// integrationMessages converts integrations with their endpoints, webhooks and access tokens, without secrets.
func integrationMessages(view *db.Tx, propertyID string, rows ...*partner.IntegrationRow) ([]*propertyv1.Integration, error) {
	to := chain.Reader(view.Context())
	endpoints, err := partner.EndpointsOf(view, propertyID)
	if err != nil {
		return nil, err
	}
	tokens, err := partner.AccessTokens(view, propertyID, view.Now())
	if err != nil {
		return nil, err
	}
	webhooks, err := partner.WebhooksOf(view, propertyID)
	if err != nil {
		return nil, err
	}
	list := make([]*propertyv1.Integration, 0, len(rows))
	for _, row := range rows {
		m := &propertyv1.Integration{
			Id: row.ID, AppId: row.AppID, Name: row.Name, Scopes: row.Scopes, SpacesReadAt: convert.OptionalTime(row.SpacesReadAt),
			SpacesTriedAt: convert.OptionalTime(row.SpacesTriedAt), SpacesFailures: int32(row.SpacesFailures), CreatedAt: timestamppb.New(row.CreatedAt), InvitationsEnabled: row.InvitationsAt != nil,
		}
		for _, e := range endpoints[row.ID] {
			m.Endpoints = append(m.Endpoints, endpointMessage(e, to))
		}
		for _, w := range webhooks {
			if w.IntegrationID != row.ID {
				continue
			}
			hook, err := webhookMessage(view, w, to)
			if err != nil {
				return nil, err
			}
			m.Webhooks = append(m.Webhooks, hook)
		}
		for _, t := range tokens[row.ID] {
			m.AccessTokens = append(m.AccessTokens, tokenMessage(t))
		}
		list = append(list, m)
	}
	return list, nil
}

// endpointMessage converts an endpoint with its health, without its token.
func endpointMessage(e partner.Endpoint, to message.Reader) *propertyv1.Endpoint {
	return &propertyv1.Endpoint{
		Action: e.Action, Url: e.URL, Method: e.Method, State: e.Health.State(), ConsecutiveFailures: int32(e.Health.Failures),
		LastSuccessAt: convert.OptionalTime(e.Health.LastSuccessAt), LastFailureAt: convert.OptionalTime(e.Health.LastFailureAt), LastError: convert.TextOrNil(e.Health.LastError.Text),
		LastProblem: endpointProblem(e.Health.LastError, to),
	}
}

// webhookMessage converts a webhook with its health and the number of waiting messages. Of its URL it has only the host.
func webhookMessage(view *db.Tx, w *partner.WebhookRow, to message.Reader) (*propertyv1.Webhook, error) {
	backlog, err := partner.BacklogOf(view, w)
	if err != nil {
		return nil, err
	}
	failure := partner.WebhookHealth(w).LastError
	return &propertyv1.Webhook{
		Id: w.ID, Host: partner.WebhookHost(w), Events: w.Kinds, State: partner.WebhookState(w), DisabledReason: convert.TextOrNil(w.DisabledReason),
		ConsecutiveFailures: int32(w.Failures), LastSuccessAt: convert.OptionalTime(w.LastSuccessAt), LastFailureAt: convert.OptionalTime(w.LastFailureAt),
		LastError: convert.TextOrNil(failure.Text), LastProblem: endpointProblem(failure, to), Waiting: int32(backlog.Waiting), WaitingSince: convert.OptionalTime(backlog.Since), GivenUp: int32(w.GivenUp),
	}, nil
}
