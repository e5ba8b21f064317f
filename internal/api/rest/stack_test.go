package rest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/inproc"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/api/rest"
	"latchkey.dev/internal/fault"
)

const (
	upsert = "/latchkey.partner.v1.ReservationService/UpsertReservation"
	batch  = "/latchkey.partner.v1.ReservationService/BatchUpsertReservations"
)

// service is a reservation service that records its calls.
type service struct {
	partnerv1.UnimplementedReservationServiceServer
	partnerv1.UnimplementedSpaceServiceServer
	partnerv1.UnimplementedEndpointServiceServer

	mu     sync.Mutex
	upsert *partnerv1.UpsertReservationRequest
	batch  *partnerv1.BatchUpsertReservationsRequest
	spaces *partnerv1.ListSpacesRequest
	calls  []string
	key    string
	fail   error
	panics bool
}

func (d *service) note(ctx context.Context, call string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, call)
	d.key = chain.From(ctx).IdempotencyKey()
	if d.panics {
		panic("secret of the house")
	}
	return d.fail
}

func (d *service) upsertReservation(ctx context.Context, req *partnerv1.UpsertReservationRequest, report *jsonpb.Report) (*partnerv1.UpsertReservationResponse, error) {
	d.mu.Lock()
	d.upsert = req
	d.mu.Unlock()
	if err := d.note(ctx, "upsert"); err != nil {
		return nil, err
	}
	if wrong, err := chain.Violations(protovalidate.GlobalValidator, report, req.GetReservation(), ""); err != nil || len(wrong) > 0 {
		return nil, errors.Join(err, fault.Err(fault.Fields(wrong...)))
	}
	return &partnerv1.UpsertReservationResponse{Data: req.GetReservation()}, nil
}

func (d *service) batchUpsertReservations(ctx context.Context, req *partnerv1.BatchUpsertReservationsRequest, _ *jsonpb.Report) (*partnerv1.BatchUpsertReservationsResponse, error) {
	d.mu.Lock()
	d.batch = req
	d.mu.Unlock()
	if err := d.note(ctx, "batch"); err != nil {
		return nil, err
	}
	return &partnerv1.BatchUpsertReservationsResponse{Data: &partnerv1.BatchOutcome{}}, nil
}

func (d *service) GetReservation(ctx context.Context, req *partnerv1.GetReservationRequest) (*partnerv1.GetReservationResponse, error) {
	return &partnerv1.GetReservationResponse{Data: &partnerv1.Reservation{Id: req.GetId()}}, d.note(ctx, "get")
}

func (d *service) FindReservation(ctx context.Context, req *partnerv1.FindReservationRequest) (*partnerv1.FindReservationResponse, error) {
	return &partnerv1.FindReservationResponse{Data: &partnerv1.Reservation{PmsNumber: req.GetPmsId()}}, d.note(ctx, "find")
}

func (d *service) ListReservations(ctx context.Context, _ *partnerv1.ListReservationsRequest) (*partnerv1.ListReservationsResponse, error) {
	return &partnerv1.ListReservationsResponse{Data: &partnerv1.ReservationList{}}, d.note(ctx, "list")
}

func (d *service) ListSpaces(ctx context.Context, req *partnerv1.ListSpacesRequest) (*partnerv1.ListSpacesResponse, error) {
	d.mu.Lock()
	d.spaces = req
	d.mu.Unlock()
	return &partnerv1.ListSpacesResponse{}, d.note(ctx, "spaces")
}

func (d *service) TestEndpoint(ctx context.Context, req *partnerv1.TestEndpointRequest) (*partnerv1.TestEndpointResponse, error) {
	return &partnerv1.TestEndpointResponse{Data: &partnerv1.EndpointTest{Violations: []string{req.GetAction()}}}, d.note(ctx, "test")
}

func authenticate(ctx context.Context, c chain.Credentials) (actor.Actor, error) {
	a := actor.Actor{Kind: actor.Integration, IntegrationID: "int_1", PropertyID: "prp_1"}
	if err := ctx.Err(); err != nil { // as the lookup in a database does
		return a, err
	}
	switch {
	case c.ClientToken == "ct" && c.AccessToken == "at", c.Bearer == "at":
		a.Scopes = []string{actor.ReservationsWrite, actor.ReservationsRead, actor.EndpointsWrite}
		return a, nil
	case c.APIKey == "reader":
		a.Scopes = []string{actor.ReservationsRead}
		return a, nil
	}
	return a, fault.New(fault.Unauthenticated, fault.InvalidCredentials, "valid credential required")
}

// stack is a REST server with a chain and a test service.
type stack struct {
	*service
	handler http.Handler
	chain   *chain.Chain
	log     *bytes.Buffer
}

func newStack(t testing.TB, limits chain.Limits) *stack {
	t.Helper()
	s := &stack{service: &service{}, log: &bytes.Buffer{}}
	logger := slog.New(slog.NewTextHandler(s.log, nil))
	if _, ok := t.(*testing.B); ok {
		logger = slog.New(slog.DiscardHandler)
	}
	c, err := chain.New(chain.Config{
		Logger: logger, Registerer: prometheus.NewRegistry(), Validator: protovalidate.GlobalValidator, Limits: limits,
		Authenticators: map[string]chain.Authenticator{"latchkey.partner.v1": authenticate},
		HandlerFields: map[string]chain.HandlerField{
			upsert: chain.NewHandlerField("reservation", (*service).upsertReservation), batch: chain.NewHandlerField("reservations", (*service).batchUpsertReservations),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.chain = c
	conn := inproc.New(c.Unary, c.Stream)
	reg := c.Registrar(conn)
	partnerv1.RegisterReservationServiceServer(reg, s.service)
	partnerv1.RegisterSpaceServiceServer(reg, s.service)
	partnerv1.RegisterEndpointServiceServer(reg, s.service)
	if err := reg.Err(); err != nil {
		t.Fatal(err)
	}
	s.handler, err = rest.New(rest.Config{Logger: logger, Conn: conn, Admit: c.Admit, Register: func(ctx context.Context, mux *runtime.ServeMux, cc grpc.ClientConnInterface) error {
		return errors.Join(
			partnerv1.RegisterReservationServiceHandlerClient(ctx, mux, partnerv1.NewReservationServiceClient(cc)),
			partnerv1.RegisterSpaceServiceHandlerClient(ctx, mux, partnerv1.NewSpaceServiceClient(cc)),
			partnerv1.RegisterEndpointServiceHandlerClient(ctx, mux, partnerv1.NewEndpointServiceClient(cc)),
		)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// call sends one request with the partner's tokens; headers override, "" removes one.
func (s *stack) call(method, target, body string, headers ...string) *http.Response {
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(context.Background(), method, target, content)
	r.Header.Set("Client-Token", "ct")
	r.Header.Set("Access-Token", "at")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Result()
}
