package property

import (
	"context"
	"testing"

	"google.golang.org/grpc/metadata"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
)

// What is wrong with an endpoint is an English sentence for the partner, and a kind with parameters and a text in the caller's language for
// staff.
func TestProblemsOfEndpoints(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		in := a.integration()
		missing := partner.Failure{
			Text: "[0].id: is required", Problem: message.Message{Kind: "endpoint.missing", Params: message.Params{"path": "[0].id"}},
		}
		deps := a.w.deps
		deps.TestEndpoint = func(context.Context, string, string, string) (partner.Probed, error) {
			return partner.Probed{Status: 200, Failures: []partner.Failure{missing}}, nil
		}
		german := metadata.NewIncomingContext(a.ctx, metadata.Pairs("accept-language", "de"))
		tested := must((&integrations{Deps: deps}).TestEndpoint(german, &propertyv1.TestEndpointRequest{Id: in, Action: partner.GetSpaces}))(t).GetData()
		if len(tested.GetProblems()) != 1 {
			t.Fatalf("the test: %v", tested)
		}
		same(t, "violations", []string{"[0].id: is required"}, tested.GetViolations())
		p := tested.GetProblems()[0]
		same(t, "the problem", "missing [0].id [0].id fehlt", p.GetKind()+" "+p.GetParameters().AsMap()["path"].(string)+" "+p.GetText())

		for stored, want := range map[*partner.Failure]string{&missing: "[0].id fehlt", {Text: "of an older version"}: "of an older version"} {
			same(t, "a text for staff", want, endpointProblem(*stored, message.Reader{Language: "de"}).GetText())
		}
		owing := partner.Failure{Text: "owing: is required", Problem: message.Message{Kind: "endpoint.missing", Params: message.Params{"path": "owing"}}}
		same(t, "a text that begins with a field", "owing is missing", endpointProblem(owing, message.Reader{}).GetText())
		if endpointProblem(partner.Failure{}, message.Reader{}) != nil {
			t.Error("a success has a problem")
		}
	})
}
