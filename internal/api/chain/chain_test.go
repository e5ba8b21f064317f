package chain_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
)

const upsert = "/latchkey.partner.v1.ReservationService/UpsertReservation"

type service struct {
	partnerv1.UnimplementedReservationServiceServer
	lockv1.UnimplementedBridgeServiceServer
	lockv1.UnimplementedEnrolmentServiceServer

	seen func(ctx context.Context)
	fail error
}

func (s *service) upsert(ctx context.Context, req *partnerv1.UpsertReservationRequest, report *jsonpb.Report) (*partnerv1.UpsertReservationResponse, error) {
	if s.seen != nil {
		s.seen(ctx)
	}
	if s.fail != nil {
		return nil, s.fail
	}
	wrong, err := chain.Violations(protovalidate.GlobalValidator, report, req.GetReservation(), "")
	if err = errors.Join(err, fault.Err(fault.Fields(wrong...))); err != nil {
		return nil, err
	}
	return &partnerv1.UpsertReservationResponse{Data: req.GetReservation()}, nil
}

func (s *service) batch(context.Context, *partnerv1.BatchUpsertReservationsRequest, *jsonpb.Report) (*partnerv1.BatchUpsertReservationsResponse, error) {
	return nil, s.fail
}

func (s *service) GetReservation(context.Context, *partnerv1.GetReservationRequest) (*partnerv1.GetReservationResponse, error) {
	return &partnerv1.GetReservationResponse{}, nil
}

func (s *service) Connect(st grpc.BidiStreamingServer[lockv1.ConnectRequest, lockv1.ConnectResponse]) error {
	for {
		req, err := st.Recv()
		if err != nil {
			return err
		}
		if req.GetEpoch() == 13 {
			panic("secret of the house")
		}
		if err := st.Send(&lockv1.ConnectResponse{Epoch: req.GetEpoch() + 1}); err != nil {
			return err
		}
	}
}

func (s *service) Enroll(context.Context, *lockv1.EnrollRequest) (*lockv1.EnrollResponse, error) {
	return &lockv1.EnrollResponse{BridgeId: "brg_1"}, nil
}

func partnerOnly(_ context.Context, c chain.Credentials) (actor.Actor, error) {
	if c.AccessToken != "at" {
		return actor.Actor{}, fault.New(fault.Unauthenticated, fault.InvalidCredentials, "valid credential required")
	}
	return actor.Actor{Kind: actor.Integration, IntegrationID: "int_1", Scopes: []string{actor.ReservationsWrite, actor.ReservationsRead}}, nil
}

func start(t *testing.T, s *service, change func(*chain.Config)) (*grpc.ClientConn, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	cfg := chain.Config{
		Logger: slog.New(slog.DiscardHandler), Registerer: registry, Validator: protovalidate.GlobalValidator, Public: []string{"grpc.health.v1.Health"},
		Authenticators: map[string]chain.Authenticator{"latchkey.partner.v1": partnerOnly, "latchkey.lock.v1": partnerOnly},
		HandlerFields:  map[string]chain.HandlerField{upsert: chain.NewHandlerField("reservation", (*service).upsert)},
	}
	if change != nil {
		change(&cfg)
	}
	c, err := chain.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(c.ServerOptions()...)
	reg := c.Registrar(server)
	partnerv1.RegisterReservationServiceServer(reg, s)
	lockv1.RegisterBridgeServiceServer(reg, s)
	lockv1.RegisterEnrolmentServiceServer(reg, s)
	grpc_health_v1.RegisterHealthServer(reg, health.NewServer())
	if err := reg.Err(); err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := server.Serve(lis); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn, registry
}

func authorized(t *testing.T) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "access-token", "at")
}

// statusParts returns the code, reason, invalid fields and request id of a status.
func statusParts(err error) (code codes.Code, reason string, fields []string, id string) {
	st := status.Convert(err)
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			reason = d.GetReason()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				fields = append(fields, v.GetField()+" "+v.GetReason())
			}
		case *errdetails.RequestInfo:
			id = d.GetRequestId()
		}
	}
	return st.Code(), reason, fields, id
}

func rows(t *testing.T, registry *prometheus.Registry, name string) int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return len(f.GetMetric())
		}
	}
	return 0
}

func panics(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "latchkey_rpc_panics_total" {
				by[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	return by
}

func TestGRPCErrorsHaveDetails(t *testing.T) {
	s := &service{}
	conn, registry := start(t, s, nil)
	client := partnerv1.NewReservationServiceClient(conn)
	_, err := client.UpsertReservation(t.Context(), &partnerv1.UpsertReservationRequest{})
	if code, reason, _, id := statusParts(err); code != codes.Unauthenticated || reason != "invalidCredentials" || id == "" {
		t.Errorf("no credential: %v", err)
	}
	var header metadata.MD
	long, count := strings.Repeat("x", 300), int32(-1)
	_, err = client.UpsertReservation(authorized(t), &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{PmsNumber: long, AdultCount: &count, SourceName: new("a\x00b")}}, grpc.Header(&header))
	code, reason, fields, id := statusParts(err)
	if code != codes.InvalidArgument || reason != "invalidFields" || !slices.Equal(header["x-request-id"], []string{id}) {
		t.Errorf("%v %s %s, header %v", code, reason, id, header)
	}
	if diff := cmp.Diff([]string{"pmsNumber tooLong", "adultCount outOfRange", "sourceName notPrintable"}, fields); diff != "" {
		t.Error(diff)
	}
	_, err = client.GetReservation(authorized(t), &partnerv1.GetReservationRequest{Extend: []string{"pin", "everything"}})
	if _, _, fields, _ := statusParts(err); !slices.Equal(fields, []string{"id required", "extend[1] wrongValue"}) {
		t.Errorf("fields %v", fields)
	}
	if n := rows(t, registry, "latchkey_rpc_calls_total"); n != 3 {
		t.Errorf("%d rows of calls, want one for each code of each method", n)
	}
}

// raw is a codec that sends bytes unchanged.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }

var _ encoding.CodecV2 = raw{}

func TestInvalidMessageIsInvalidArgument(t *testing.T) {
	conn, _ := start(t, &service{}, nil)
	send := func(ctx context.Context, b string) error {
		return conn.Invoke(ctx, upsert, []byte(b), new([]byte), grpc.ForceCodecV2(raw{}))
	}
	if code, _, _, _ := statusParts(send(t.Context(), "\xff\xff\xff")); code != codes.Unauthenticated {
		t.Errorf("garbage of a stranger: %v", code)
	}
	if code, reason, _, _ := statusParts(send(authorized(t), "\xff\xff\xff")); code != codes.InvalidArgument || reason != "invalidFields" {
		t.Errorf("garbage: %v %v", code, reason)
	}
	// reservation (1) { pms_meta (4) { companion_ids (5): "a", "\xfe" } pms_number (5): "\xff" }
	code, _, fields, _ := statusParts(send(authorized(t), "\x0a\x0b\x22\x06\x2a\x01a\x2a\x01\xfe\x2a\x01\xff"))
	if code != codes.InvalidArgument || !slices.Equal(fields, []string{"reservation.pmsMeta.companionIds[1] notPrintable", "reservation.pmsNumber notPrintable"}) {
		t.Errorf("broken text: %v %v", code, fields)
	}
}

func TestTooLargeMessagesAreExhausted(t *testing.T) {
	conn, _ := start(t, &service{}, nil)
	client := partnerv1.NewReservationServiceClient(conn)
	for _, c := range []struct {
		name   string
		ctx    context.Context
		size   int
		code   codes.Code
		reason string
	}{
		{"a little too large", authorized(t), chain.MaxRequestBytes, codes.ResourceExhausted, "bodyTooLarge"},
		{"by far too large", authorized(t), chain.MaxReceiveBytes - 100, codes.ResourceExhausted, "bodyTooLarge"},
		{"too large to be read", authorized(t), chain.MaxReceiveBytes, codes.ResourceExhausted, ""},
		{"too large and a stranger's", t.Context(), chain.MaxRequestBytes, codes.Unauthenticated, "invalidCredentials"},
		{"large", authorized(t), chain.MaxRequestBytes - 100, codes.InvalidArgument, "invalidFields"},
	} {
		_, err := client.UpsertReservation(c.ctx, &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{PmsNumber: strings.Repeat("x", c.size)}})
		if code, reason, _, _ := statusParts(err); code != c.code || reason != c.reason {
			t.Errorf("%s: %.200s", c.name, err)
		}
	}
}

func TestUnknownMethodsAreUnimplemented(t *testing.T) {
	conn, registry := start(t, &service{}, nil)
	for _, method := range []string{"/latchkey.partner.v1.ReservationService/Nothing", "/latchkey.nothing.v1.NothingService/Nothing", "/grpc.health.v1.Health/Nothing", "/latchkey.partner.v1.ReservationService/\xff"} {
		err := conn.Invoke(authorized(t), method, &partnerv1.GetReservationRequest{}, &partnerv1.GetReservationResponse{})
		if code, reason, _, id := statusParts(err); code != codes.Unimplemented || reason != "unimplemented" || id == "" {
			t.Errorf("%q: %v", method, err)
		}
	}
	if n := rows(t, registry, "latchkey_rpc_calls_total"); n != 1 {
		t.Errorf("%d rows of calls: callers make up labels", n)
	}
}

func TestHandlersSeeTheCallAndNoCredential(t *testing.T) {
	s := &service{}
	var md metadata.MD
	var id, key string
	var who actor.Actor
	var limited bool
	s.seen = func(ctx context.Context) {
		md, _ = metadata.FromIncomingContext(ctx)
		id, key = chain.From(ctx).RequestID, chain.From(ctx).IdempotencyKey()
		who, _ = actor.From(ctx)
		_, limited = ctx.Deadline()
	}
	conn, _ := start(t, s, nil)
	ctx := metadata.AppendToOutgoingContext(authorized(t), "x-request-id", "mine", "idempotency-key", "k", "if-match", "e", "other", "x")
	if _, err := partnerv1.NewReservationServiceClient(conn).UpsertReservation(ctx, &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(metadata.MD{"if-match": {"e"}}, md); diff != "" {
		t.Error(diff)
	}
	if id != "mine" || key != "k" || who.IntegrationID != "int_1" || !limited {
		t.Errorf("id %q, key %q, actor %+v, deadline %v", id, key, who, limited)
	}
}

func TestFaultFromGRPC(t *testing.T) {
	for _, c := range []struct {
		err  error
		want codes.Code
	}{
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{context.Canceled, codes.Canceled},
		{errors.New("secret"), codes.Internal},
		{status.Error(codes.NotFound, "secret of another service"), codes.Internal},
		{status.Error(codes.Unimplemented, "secret"), codes.Unimplemented},
	} {
		conn, _ := start(t, &service{fail: c.err}, nil)
		_, err := partnerv1.NewReservationServiceClient(conn).UpsertReservation(authorized(t), &partnerv1.UpsertReservationRequest{})
		if status.Code(err) != c.want || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v became %v", c.err, err)
		}
	}
}

func TestStreams(t *testing.T) {
	conn, registry := start(t, &service{}, nil)
	client := lockv1.NewBridgeServiceClient(conn)
	open := func(ctx context.Context, req *lockv1.ConnectRequest) (*lockv1.ConnectResponse, metadata.MD, error) {
		st, err := client.Connect(ctx)
		if err != nil {
			return nil, nil, err
		}
		if err := st.Send(req); err != nil && !errors.Is(err, io.EOF) { // io.EOF: the call was refused, and Recv returns the reason
			return nil, nil, err
		}
		resp, err := st.Recv()
		md, _ := st.Header()
		return resp, md, err
	}
	resp, md, err := open(authorized(t), &lockv1.ConnectRequest{Epoch: 7})
	if err != nil || resp.GetEpoch() != 8 || len(md["x-request-id"]) != 1 {
		t.Errorf("%v, header %v, %v", resp, md, err)
	}
	_, _, err = open(t.Context(), &lockv1.ConnectRequest{Epoch: 7})
	if code, reason, _, _ := statusParts(err); code != codes.Unauthenticated || reason != "invalidCredentials" {
		t.Errorf("no credential: %v", err)
	}
	_, _, err = open(authorized(t), &lockv1.ConnectRequest{Epoch: 13})
	if code, _, _, id := statusParts(err); code != codes.Internal || id == "" || strings.Contains(err.Error(), "secret") {
		t.Errorf("panic: %v", err)
	}
	_, _, err = open(authorized(t), &lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Hello{Hello: &lockv1.Hello{Software: strings.Repeat("x", 5000) + "\x00"}}})
	if code, reason, fields, _ := statusParts(err); code != codes.InvalidArgument || reason != "invalidFields" || len(fields) == 0 {
		t.Errorf("broken rule: %v %v", err, fields)
	}
	if n := panics(t, registry); n["/latchkey.lock.v1.BridgeService/Connect"] != 1 || n[upsert] != 0 || len(n) < 3 {
		t.Errorf("panics are counted for every method: %v", n)
	}
}

func TestFailureOutsideOfACall(t *testing.T) {
	if e := chain.Failure(t.Context(), errors.New("secret")); e.GetMessage() != "internal error" || e.GetCode() != 13 {
		t.Errorf("got %v", e)
	}
	if e := chain.Failure(t.Context(), fault.New(fault.NotFound, fault.ReservationNotFound, "no")); e.GetStatus() != 404 || e.GetReason() != "reservationNotFound" {
		t.Errorf("got %v", e)
	}
}
