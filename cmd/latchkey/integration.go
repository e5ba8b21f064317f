package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

type integrationCommands struct {
	remote `embed:""`

	Connect      integrationConnect `cmd:"" help:"Connect a partner app to a property and get its access token."`
	List         integrationList    `cmd:"" help:"List the integrations of a property."`
	Show         integrationShow    `cmd:"" help:"Show one integration, its scopes, tokens and endpoints."`
	Set          integrationSet     `cmd:"" help:"Change the name or the scopes of an integration."`
	RotateToken  rotateToken        `cmd:"" help:"Replace the access token by a new one."`
	RevokeToken  revokeToken        `cmd:"" help:"Revoke the access token at once."`
	RotateSecret rotateSecret       `cmd:"" help:"Replace the secret that signs calls to the partner."`
	Webhooks     integrationHooks   `cmd:"" help:"List the webhooks that the partner registered, and whether events arrive there."`
	ReadSpaces   readSpaces         `cmd:"" help:"Read the partner's rooms and beds (getSpaces) now."`
}

type integrationConnect struct {
	App   string   `arg:"" help:"The app, by name or id (latchkey app list)."`
	Name  string   `help:"The name of the integration. Left out: the app's name."`
	Scope []string `placeholder:"SCOPE" help:"A permission: reservations:write, reservations:read, pins:read, guests:read, endpoints:write, webhooks:write. Repeat for more. Left out: all but guests:read."`
}

func (integrationConnect) Help() string {
	return `Example:
  latchkey integration connect app_...

Give the access token to the vendor. With it and the client token, the vendor registers its endpoints and pushes reservations.`
}

// Run connects a partner app (a PMS vendor) to the property, and prints the access token for the vendor. It fails if the app is connected
// already.
func (c *integrationConnect) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		if err := s.resolveApp(&c.App); err != nil {
			return err
		}
		answer, err := propertyv1.NewIntegrationServiceClient(s.conn).ConnectApp(s, &propertyv1.ConnectAppRequest{AppId: c.App, Name: c.Name, Scopes: c.Scope})
		if err != nil {
			return s.hintRotation(err, c.App)
		}
		return s.printAnswer(answer, err, func() {
			in := answer.GetData()
			s.say("Connected %s: %s.", in.GetId(), in.GetName())
			s.printSecret("access token", answer.GetAccessToken(), "; give it to the vendor")
			s.printNextSteps(
				"The vendor registers its endpoints: PATCH /v1/endpoints with client-token and access-token.",
				"latchkey mapping suggest "+in.GetId()+"    when getSpaces is registered and your spaces are created",
			)
		})
	})
}

// hintRotation adds the command that makes a new access token to the error of an app that is connected already. It returns other errors
// unchanged.
func (s *session) hintRotation(err error, app string) error {
	if envelopeOf(err).GetReason() != string(fault.AlreadyExists) {
		return err
	}
	answer, _ := propertyv1.NewIntegrationServiceClient(s.conn).ListIntegrations(s, &propertyv1.ListIntegrationsRequest{})
	which := "INTEGRATION" // if the list cannot be loaded
	for _, in := range answer.GetData().GetList() {
		if in.GetAppId() == app {
			which = in.GetId()
		}
	}
	return &hintedError{err, s.withTypedFlags("The command is: latchkey integration rotate-token " + which)}
}

type integrationList struct{}

// Run lists the integrations of the property, without their tokens.
func (*integrationList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewIntegrationServiceClient(s.conn).ListIntegrations(s, &propertyv1.ListIntegrationsRequest{})
		return s.printAnswer(answer, err, func() {
			var rows [][]string
			for _, in := range answer.GetData().GetList() {
				rows = append(rows, []string{in.GetId(), in.GetName(), dash(in.GetAppId()), fmt.Sprint(len(in.GetEndpoints())), formatTime(in.GetSpacesReadAt())})
			}
			s.printTable("There is no integration yet. Connect an app with: latchkey integration connect APP (latchkey app list)",
				[]string{"id", "name", "app", "endpoints", "spaces read"}, rows)
		})
	})
}

type integrationShow struct {
	ID string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
}

// Run prints an integration with its scopes, tokens without their secrets, endpoints and webhooks.
func (c *integrationShow) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewIntegrationServiceClient(s.conn).GetIntegration(s, &propertyv1.GetIntegrationRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.printIntegration(answer.GetData()) })
	})
}

type integrationSet struct {
	ID       string   `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
	Name     *string  `help:"A new name."`
	Scope    []string `placeholder:"SCOPE" help:"A permission: reservations:write, reservations:read, pins:read, guests:read, endpoints:write, webhooks:write. Repeat for more. The list replaces the former one: a permission that it leaves out is lost." xor:"scopes"`
	AddScope []string `placeholder:"SCOPE" help:"A permission to add to the present ones. Repeat for more." xor:"scopes"`
}

// Run changes the name, replaces the scopes of an integration or adds some. It names the scopes that were removed and added. It fails
// without a flag.
func (c *integrationSet) Run(ctx context.Context, r *remote, io *streams) error {
	if c.Name == nil && len(c.Scope)+len(c.AddScope) == 0 {
		return errNothing
	}
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		client := propertyv1.NewIntegrationServiceClient(s.conn)
		former, err := client.GetIntegration(s, &propertyv1.GetIntegrationRequest{Id: c.ID})
		if err != nil {
			return err
		}
		before := former.GetData().GetScopes()
		answer, err := client.UpdateIntegration(s, &propertyv1.UpdateIntegrationRequest{Id: c.ID, Name: c.Name, Scopes: c.newScopes(before)})
		return s.printAnswer(answer, err, func() {
			s.printIntegration(answer.GetData())
			if len(c.Scope)+len(c.AddScope) > 0 {
				s.say("\n%s", scopeChange(before, answer.GetData().GetScopes()))
			}
		})
	})
}

// newScopes returns the scopes to send for an integration with the scopes before; nil if they do not change.
func (c *integrationSet) newScopes(before []string) []string {
	if len(c.AddScope) == 0 {
		return c.Scope
	}
	return append(slices.Clone(before), without(c.AddScope, before)...)
}

// scopeChange says which scopes an integration lost and got.
func scopeChange(before, after []string) string {
	var parts []string
	if lost := without(before, after); len(lost) > 0 {
		parts = append(parts, "removed: "+strings.Join(lost, " "))
	}
	if got := without(after, before); len(got) > 0 {
		parts = append(parts, "added: "+strings.Join(got, " "))
	}
	if len(parts) == 0 {
		return "The scopes did not change."
	}
	return "Scopes " + strings.Join(parts, "; ")
}

// without returns the sorted words of a list that are not in another list, each once.
func without(list, other []string) []string {
	left := slices.DeleteFunc(slices.Clone(list), func(w string) bool { return slices.Contains(other, w) })
	slices.Sort(left)
	return slices.Compact(left)
}

type rotateToken struct {
	ID      string  `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
	Overlap minutes `placeholder:"DURATION" help:"How long the old token stays valid, such as 1d, at most 7d. Left out: not at all."`
}

// Run replaces the access token of an integration and prints the new one, for the vendor. The old one ends at once, or after --overlap. It
// fails while too many old ones are in their overlap.
func (c *rotateToken) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewIntegrationServiceClient(s.conn).RotateAccessToken(s, &propertyv1.RotateAccessTokenRequest{Id: c.ID, OverlapMinutes: int32(c.Overlap)})
		return s.printAnswer(answer, err, func() { s.printSecret("access token", answer.GetAccessToken(), "; give it to the vendor") })
	})
}

type revokeToken struct {
	ID string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
}

// Run revokes all access tokens of an integration at once, also a former one in its overlap. Reservations stay, and guests keep their
// access.
func (c *revokeToken) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewIntegrationServiceClient(s.conn).RevokeAccessToken(s, &propertyv1.RevokeAccessTokenRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() {
			s.say("%s has no valid access token any more. Its reservations stay, and guests keep their access.", c.ID)
		})
	})
}

type rotateSecret struct {
	ID           string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
	DropPrevious bool   `help:"Sign only with the new secret, because the old one leaked. Left out: calls carry both signatures until the next rotation."`
}

// Run replaces the secret that signs calls to the partner, and prints the new one. Until the next rotation, calls carry both signatures,
// unless --drop-previous is set.
func (c *rotateSecret) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewIntegrationServiceClient(s.conn).RotateSigningSecret(s, &propertyv1.RotateSigningSecretRequest{Id: c.ID, DropPrevious: c.DropPrevious})
		return s.printAnswer(answer, err, func() { s.printSecret("signing secret", answer.GetSigningSecret(), "; give it to the vendor") })
	})
}

type readSpaces struct {
	ID string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
}

// Run makes the server read the partner's rooms and beds now, by its endpoint getSpaces, and prints how many it has and how many are
// mapped.
func (c *readSpaces) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewIntegrationServiceClient(s.conn).ReadSpaces(s, &propertyv1.ReadSpacesRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() {
			d := answer.GetData()
			s.say("%s, %d of them mapped, %s open.", formatCount(int(d.GetFound()), "space"), d.GetMapped(), formatCount(int(d.GetOpenConflicts()), "conflict"))
			if d.GetMapped() < d.GetFound() {
				s.printNextSteps("latchkey mapping suggest " + c.ID)
			}
		})
	})
}

// printIntegration prints an integration with its tokens (without their secrets), endpoints and webhooks.
func (s *session) printIntegration(in *propertyv1.Integration) {
	s.printFacts("id", in.GetId(), "name", in.GetName(), "app", dash(in.GetAppId()), "scopes", strings.Join(in.GetScopes(), " "),
		"spaces read", formatTime(in.GetSpacesReadAt()), "spaces failures", fmt.Sprint(in.GetSpacesFailures()), "created", formatTime(in.GetCreatedAt()))
	for _, t := range in.GetAccessTokens() {
		s.say("access token %s begins %s..., ends %s", t.GetId(), t.GetHint(), formatTime(t.GetExpiresAt()))
	}
	s.say("")
	s.printEndpoints(in.GetEndpoints())
	if len(in.GetWebhooks()) > 0 {
		s.say("")
		s.printWebhooks(in.GetWebhooks())
	}
}

type integrationHooks struct {
	ID string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
}

// Help returns what --help adds: who registers webhooks, and an example.
func (integrationHooks) Help() string {
	return `Partners register their webhooks themselves (PATCH /v1/webhooks). Example:
  latchkey integration webhooks int_...`
}

// Run lists the webhooks that the partner of an integration registered.
func (c *integrationHooks) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewIntegrationServiceClient(s.conn).GetIntegration(s, &propertyv1.GetIntegrationRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.printWebhooks(answer.GetData().GetWebhooks()) })
	})
}

// printWebhooks prints a table of a partner's webhooks and whether events arrive there.
func (s *session) printWebhooks(list []*propertyv1.Webhook) {
	var rows [][]string
	for _, w := range list {
		state := w.GetState()
		if w.GetDisabledReason() != "" {
			state += " (" + w.GetDisabledReason() + ")"
		}
		rows = append(rows, []string{
			w.GetId(), state, w.GetHost(), strings.Join(w.GetEvents(), " "), formatTime(w.GetLastSuccessAt()),
			fmt.Sprint(w.GetWaiting()), formatTime(w.GetWaitingSince()), fmt.Sprint(w.GetGivenUp()), w.GetLastError(),
		})
	}
	s.printTable("No webhook is registered. The vendor registers webhooks: PATCH /v1/webhooks.",
		[]string{"id", "state", "host", "events", "last success", "waiting", "since", "given up", "last error"}, rows)
}

type endpointCommands struct {
	remote `embed:""`

	List endpointList `cmd:"" help:"List the endpoints that a partner registered, and whether calls to them succeed."`
	Test endpointTest `cmd:"" help:"Call an endpoint of a partner once, and say what is wrong with its answer."`
}

type endpointTest struct {
	ID     string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
	Action string `arg:"" enum:"getSpaces,getCheckInStatus,checkIn" help:"getSpaces, getCheckInStatus or checkIn."`
}

// Help returns what --help adds: why the calls affect no guest, and an example.
func (endpointTest) Help() string {
	return `getCheckInStatus and checkIn are called with the reservation id "latchkey-test", so they affect no guest. Example:
  latchkey endpoint test int_... getSpaces`
}

// Run makes the server call an endpoint of a partner once, without effect on a guest, and store the result in the state of the endpoint. It
// fails if the answer is not as agreed.
func (c *endpointTest) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewIntegrationServiceClient(s.conn).TestEndpoint(s, &propertyv1.TestEndpointRequest{Id: c.ID, Action: c.Action})
		t := answer.GetData()
		err = s.printAnswer(answer, err, func() {
			s.say("HTTP status %d after %.0f ms.", t.GetStatus(), t.GetLatencyMs())
			for _, v := range t.GetViolations() {
				s.say("- %s", v)
			}
			if t.GetReason() != "" || t.GetMessage() != "" {
				s.say("The PMS says: %s", reasonAndMessage(t.GetReason(), t.GetMessage()))
			}
		})
		if err == nil && !t.GetOk() {
			err = fmt.Errorf("%s of the integration %s does not work as agreed", c.Action, c.ID)
		}
		return err
	})
}

// reasonAndMessage returns the reason and the message of a partner's error with a colon between them, or the one of them that is not empty.
func reasonAndMessage(reason, message string) string {
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

type endpointList struct {
	ID string `arg:"" name:"integration" help:"The integration's name or id (int_...)."`
}

// Help returns what --help adds: who registers endpoints, and an example.
func (endpointList) Help() string {
	return `Partners register their endpoints themselves (PATCH /v1/endpoints). Example:
  latchkey endpoint list int_...`
}

// Run lists the endpoints that a partner registered, and whether calls to them succeed.
func (c *endpointList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaffOn(ctx, io, anIntegration, &c.ID, func(s *session) error {
		answer, err := propertyv1.NewIntegrationServiceClient(s.conn).GetIntegration(s, &propertyv1.GetIntegrationRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.printEndpoints(answer.GetData().GetEndpoints()) })
	})
}

// printEndpoints prints a table of a partner's endpoints and whether calls to them succeed.
func (s *session) printEndpoints(list []*propertyv1.Endpoint) {
	var rows [][]string
	for _, e := range list {
		rows = append(rows, []string{e.GetAction(), e.GetState(), e.GetMethod(), e.GetUrl(), formatTime(e.GetLastSuccessAt()), formatTime(e.GetLastFailureAt()), failureOf(e)})
	}
	s.printTable("No endpoint is registered. The vendor registers endpoints: PATCH /v1/endpoints.",
		[]string{"action", "state", "method", "url", "last success", "last failure", "last error"}, rows)
}

// failureOf returns why the last failed call or test of an endpoint failed, or "". The error stays after a success. If no call failed, the
// error is of a test, which counts as no failure and has no time.
func failureOf(e *propertyv1.Endpoint) string {
	if e.GetLastError() != "" && e.GetLastFailureAt() == nil {
		return e.GetLastError() + " (in a test)"
	}
	return e.GetLastError()
}
