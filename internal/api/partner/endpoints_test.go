package partner

import (
	"context"
	"testing"

	"google.golang.org/grpc/metadata"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/test/dbtest"
)

// A test of an endpoint returns the partner's error, even if an error is a correct answer.
func TestEndpointTestReturnsThePartnersError(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, ctx := counter(t, d, func() {})
		s.Registry, s.CheckURL = partner.New(d, s.Keys, clock.System), func(string) error { return nil }
		if _, err := s.UpsertEndpoint(ctx, &partnerv1.UpsertEndpointRequest{Action: "getSpaces", Url: "https://pms.example/", Token: "t"}); err != nil {
			t.Fatal(err)
		}
		for _, found := range []partner.Probed{
			{OK: true, Status: 200, Reason: "noSuchReservation", Message: "There is none."},
			{Status: 200, Reason: "closed", Message: "We sleep.", Failures: []partner.Failure{{Text: "answered with an error"}}},
			{OK: true, Status: 200},
		} {
			s.Tester = partner.Tester{DB: d, Registry: s.Registry, Call: func(context.Context, partner.Endpoint, []string) (partner.Probed, error) { return found, nil }}
			out, err := s.TestEndpoint(ctx, &partnerv1.TestEndpointRequest{Action: "getSpaces"})
			if err != nil {
				t.Fatal(err)
			}
			got := out.GetData()
			if got.GetOk() != found.OK || got.GetReason() != found.Reason || got.GetMessage() != found.Message || (got.Reason == nil) != (found.Reason == "") {
				t.Errorf("%+v: answered %v", found, got)
			}
		}
	})
}

// What is wrong with an endpoint is an English sentence, and a kind with parameters and a text in the caller's language.
func TestProblemsOfEndpoints(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, ctx := counter(t, d, func() {})
		s.Registry, s.CheckURL = partner.New(d, s.Keys, clock.System), func(string) error { return nil }
		if _, err := s.UpsertEndpoint(ctx, &partnerv1.UpsertEndpointRequest{Action: "getSpaces", Url: "https://pms.example/", Token: "t"}); err != nil {
			t.Fatal(err)
		}
		missing := partner.Failure{
			Text: "[0].id: is required", Problem: message.Message{Kind: "endpoint.missing", Params: message.Params{"path": "[0].id"}},
		}
		s.Tester = partner.Tester{DB: d, Registry: s.Registry, Call: func(context.Context, partner.Endpoint, []string) (partner.Probed, error) {
			return partner.Probed{Status: 200, Failures: []partner.Failure{missing}}, nil
		}}
		german := metadata.NewIncomingContext(ctx, metadata.Pairs("accept-language", "de"))
		tested, err := s.TestEndpoint(german, &partnerv1.TestEndpointRequest{Action: "getSpaces"})
		if err != nil || len(tested.GetData().GetProblems()) != 1 {
			t.Fatalf("%v, %v", tested, err)
		}
		list, err := s.ListEndpoints(german, &partnerv1.ListEndpointsRequest{})
		if err != nil || len(list.GetData().GetList()) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		health := list.GetData().GetList()[0].GetHealth()
		if got := tested.GetData().GetViolations()[0] + "; " + health.GetLastError(); got != "[0].id: is required; [0].id: is required" {
			t.Errorf("in English: %s", got)
		}
		for where, p := range map[string]*partnerv1.EndpointProblem{"the test": tested.GetData().GetProblems()[0], "the health": health.GetLastProblem()} {
			if p.GetKind() != "missing" || p.GetParameters().AsMap()["path"] != "[0].id" || p.GetText() != "[0].id fehlt" {
				t.Errorf("%s: %v", where, p)
			}
		}
	})
}

// A credential without the scope to change endpoints sees them and their health, but not their tokens.
func TestTokensOfEndpointsNeedTheScope(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, ctx := counter(t, d, func() {})
		s.Registry, s.CheckURL = partner.New(d, s.Keys, clock.System), func(string) error { return nil }
		if _, err := s.UpsertEndpoint(ctx, &partnerv1.UpsertEndpointRequest{Action: "getSpaces", Url: "https://pms.example/", Token: "secret"}); err != nil {
			t.Fatal(err)
		}
		a, _ := actor.From(ctx)
		for scope, want := range map[string]bool{actor.EndpointsWrite: true, actor.ReservationsWrite: false} {
			a.Scopes = []string{scope}
			out, err := s.ListEndpoints(actor.With(ctx, a), &partnerv1.ListEndpointsRequest{})
			if err != nil || len(out.GetData().GetList()) != 1 {
				t.Fatalf("%s: %v, %v", scope, out, err)
			}
			e := out.GetData().GetList()[0]
			if (e.Token != nil) != want || (e.GetToken() == "secret") != want || e.GetUrl() != "https://pms.example/" {
				t.Errorf("%s: %v", scope, e)
			}
		}
	})
}
