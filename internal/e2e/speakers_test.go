package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/gen/latchkey/partner/v1/partnerv1connect"
	"latchkey.dev/internal/e2e/e2etest"
)

// speaker is a PMS that speaks one protocol. Each call takes the body that REST takes and gives the JSON of the answer,
// or the reason of the refusal.
type speaker struct {
	name                                                                  string
	upsert, batch, get, find, list, reset, register, test, remove, spaces func(t *testing.T, in string) ([]byte, string)
	endpoints, gates, integration                                         func(t *testing.T, in string) ([]byte, string)
}

// spoken makes a call of a generated client out of a function.
func spoken[I any, PI interface {
	*I
	proto.Message
}, O proto.Message](call func(context.Context, PI) (O, error), why func(error) string) func(*testing.T, string) ([]byte, string) {
	return func(t *testing.T, in string) ([]byte, string) {
		t.Helper()
		req := PI(new(I))
		if err := protojson.Unmarshal([]byte(in), req); err != nil {
			t.Fatalf("%T: %v", req, err)
		}
		answer, err := call(t.Context(), req)
		if err != nil {
			return nil, why(err)
		}
		raw, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		return raw, ""
	}
}

// overGRPC speaks gRPC through the generated clients.
func overGRPC(w *e2etest.World) speaker {
	as := func(ctx context.Context) context.Context {
		return metadata.NewOutgoingContext(ctx, metadata.New(w.Partner().Headers))
	}
	why := func(err error) string {
		o, _ := e2etest.GRPCOutcome(err)
		return o.Reason
	}
	r, e := partnerv1.NewReservationServiceClient(w.Public), partnerv1.NewEndpointServiceClient(w.Public)
	s, i := partnerv1.NewSpaceServiceClient(w.Public), partnerv1.NewIntegrationServiceClient(w.Public)
	return speaker{
		name: "grpc",
		upsert: spoken(func(ctx context.Context, in *partnerv1.Reservation) (*partnerv1.UpsertReservationResponse, error) {
			return r.UpsertReservation(as(ctx), &partnerv1.UpsertReservationRequest{Reservation: in})
		}, why),
		batch: spoken(func(ctx context.Context, in *partnerv1.BatchUpsertReservationsRequest) (*partnerv1.BatchUpsertReservationsResponse, error) {
			return r.BatchUpsertReservations(as(ctx), in)
		}, why),
		get: spoken(func(ctx context.Context, in *partnerv1.GetReservationRequest) (*partnerv1.GetReservationResponse, error) {
			return r.GetReservation(as(ctx), in)
		}, why),
		find: spoken(func(ctx context.Context, in *partnerv1.FindReservationRequest) (*partnerv1.FindReservationResponse, error) {
			return r.FindReservation(as(ctx), in)
		}, why),
		list: spoken(func(ctx context.Context, in *partnerv1.ListReservationsRequest) (*partnerv1.ListReservationsResponse, error) {
			return r.ListReservations(as(ctx), in)
		}, why),
		reset: spoken(func(ctx context.Context, in *partnerv1.ResetKeyChainRequest) (*partnerv1.ResetKeyChainResponse, error) {
			return r.ResetKeyChain(as(ctx), in)
		}, why),
		register: spoken(func(ctx context.Context, in *partnerv1.UpsertEndpointRequest) (*partnerv1.UpsertEndpointResponse, error) {
			return e.UpsertEndpoint(as(ctx), in)
		}, why),
		endpoints: spoken(func(ctx context.Context, in *partnerv1.ListEndpointsRequest) (*partnerv1.ListEndpointsResponse, error) {
			return e.ListEndpoints(as(ctx), in)
		}, why),
		test: spoken(func(ctx context.Context, in *partnerv1.TestEndpointRequest) (*partnerv1.TestEndpointResponse, error) {
			return e.TestEndpoint(as(ctx), in)
		}, why),
		remove: spoken(func(ctx context.Context, in *partnerv1.DeleteEndpointRequest) (*partnerv1.DeleteEndpointResponse, error) {
			return e.DeleteEndpoint(as(ctx), in)
		}, why),
		spaces: spoken(func(ctx context.Context, in *partnerv1.ListSpacesRequest) (*partnerv1.ListSpacesResponse, error) {
			return s.ListSpaces(as(ctx), in)
		}, why),
		gates: spoken(func(ctx context.Context, in *partnerv1.ListGatesRequest) (*partnerv1.ListGatesResponse, error) {
			return s.ListGates(as(ctx), in)
		}, why),
		integration: spoken(func(ctx context.Context, in *partnerv1.GetIntegrationRequest) (*partnerv1.GetIntegrationResponse, error) {
			return i.GetIntegration(as(ctx), in)
		}, why),
	}
}

// overConnect speaks one of the protocols of the generated Connect clients.
func overConnect(w *e2etest.World, name string, options ...connect.ClientOption) speaker {
	options = append(options, connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			for k, v := range w.Partner().Headers {
				req.Header().Set(k, v)
			}
			return next(ctx, req)
		}
	})))
	why := func(err error) string {
		o, _ := e2etest.ConnectOutcome(err)
		return o.Reason
	}
	client := http.DefaultClient
	if name == "grpc over http" {
		p := &http.Protocols{}
		p.SetUnencryptedHTTP2(true)
		client = &http.Client{Transport: &http.Transport{Protocols: p}}
	}
	r, e := partnerv1connect.NewReservationServiceClient(client, w.Base, options...), partnerv1connect.NewEndpointServiceClient(client, w.Base, options...)
	s, i := partnerv1connect.NewSpaceServiceClient(client, w.Base, options...), partnerv1connect.NewIntegrationServiceClient(client, w.Base, options...)
	return speaker{
		name: name,
		upsert: spoken(func(ctx context.Context, in *partnerv1.Reservation) (*partnerv1.UpsertReservationResponse, error) {
			return r.UpsertReservation(ctx, &partnerv1.UpsertReservationRequest{Reservation: in})
		}, why),
		batch: spoken(r.BatchUpsertReservations, why), get: spoken(r.GetReservation, why), find: spoken(r.FindReservation, why),
		list: spoken(r.ListReservations, why), reset: spoken(r.ResetKeyChain, why), register: spoken(e.UpsertEndpoint, why),
		endpoints: spoken(e.ListEndpoints, why), test: spoken(e.TestEndpoint, why), remove: spoken(e.DeleteEndpoint, why),
		spaces: spoken(s.ListSpaces, why), gates: spoken(s.ListGates, why), integration: spoken(i.GetIntegration, why),
	}
}

// overREST speaks plain HTTP, as the published samples do.
func overREST(w *e2etest.World, as e2etest.Caller) speaker {
	call := func(verb string, path func(in map[string]any) string) func(*testing.T, string) ([]byte, string) {
		return func(t *testing.T, in string) ([]byte, string) {
			t.Helper()
			var fields map[string]any
			if err := json.Unmarshal([]byte(in), &fields); err != nil {
				t.Fatal(err)
			}
			var content any
			if verb == "PATCH" || verb == "POST" {
				content = in
			}
			o, err := w.Do(t.Context(), as, verb, path(fields), content)
			if err != nil {
				t.Fatal(err)
			}
			if !o.OK() {
				return nil, o.Reason
			}
			return o.Raw, ""
		}
	}
	at := func(path string) func(map[string]any) string { return func(map[string]any) string { return path } }
	extend := func(in map[string]any) string {
		var words []string
		list, _ := in["extend"].([]any)
		for _, e := range list {
			words = append(words, e.(string))
		}
		return strings.Join(words, ",")
	}
	return speaker{
		name: "rest " + as.Name, upsert: call("PATCH", at("/v1/reservations")), batch: call("PATCH", at("/v1/reservations/batch")),
		get: call("GET", func(in map[string]any) string {
			return "/v1/reservations/" + in["id"].(string) + "?extend=" + extend(in)
		}),
		find: call("GET", func(in map[string]any) string {
			return "/v1/reservations/find?pmsId=" + in["pmsId"].(string) + "&extend=" + extend(in)
		}),
		list:     call("GET", func(in map[string]any) string { return "/v1/reservations?state=" + in["state"].(string) }),
		reset:    call("POST", at("/v1/reservations/resetKeyChain")),
		register: call("PATCH", at("/v1/endpoints")), endpoints: call("GET", at("/v1/endpoints")),
		test:   call("POST", func(in map[string]any) string { return "/v1/endpoints/" + in["action"].(string) + ":test" }),
		remove: call("DELETE", func(in map[string]any) string { return "/v1/endpoints/" + in["action"].(string) }),
		spaces: call("GET", func(in map[string]any) string {
			f := in["filter"].(map[string]any)
			return "/v1/spaces?filter[type]=" + f["type"].(string) + "&filter[parentSpaceId]=" + f["parentSpaceId"].(string) + "&page[limit]=2&page[offset]=1"
		}),
		gates: call("GET", at("/v1/gates?page[limit]=10")), integration: call("GET", at("/v1/integration")),
	}
}
