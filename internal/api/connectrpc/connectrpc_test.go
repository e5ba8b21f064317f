package connectrpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"buf.build/go/protovalidate"
	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/gen/latchkey/partner/v1/partnerv1connect"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/connectrpc"
	"latchkey.dev/internal/fault"
)

type service struct {
	partnerv1.UnimplementedReservationServiceServer
	lockv1.UnimplementedBridgeServiceServer
	fail error
}

func (s *service) UpsertReservation(ctx context.Context, req *partnerv1.UpsertReservationRequest) (*partnerv1.UpsertReservationResponse, error) {
	if err := grpc.SetHeader(ctx, metadata.Pairs("etag", "e1", "set-cookie", "no")); err != nil {
		return nil, err
	}
	return &partnerv1.UpsertReservationResponse{Data: req.GetReservation()}, s.fail
}

func (s *service) Connect(st grpc.BidiStreamingServer[lockv1.ConnectRequest, lockv1.ConnectResponse]) error {
	for {
		req, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := st.Send(&lockv1.ConnectResponse{Epoch: req.GetEpoch() + 1}); err != nil {
			return err
		}
	}
}

func authenticate(ctx context.Context, c chain.Credentials) (actor.Actor, error) {
	if c.AccessToken != "at" || !chain.From(ctx).Client.IsLoopback() {
		return actor.Actor{}, fault.New(fault.Unauthenticated, fault.InvalidCredentials, "valid credential required")
	}
	return actor.Actor{Kind: actor.Integration, IntegrationID: "int_1", Scopes: []string{actor.ReservationsWrite}}, nil
}

func start(t *testing.T, s *service) *httptest.Server {
	t.Helper()
	c, err := chain.New(chain.Config{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Validator: protovalidate.GlobalValidator,
		Authenticators: map[string]chain.Authenticator{"latchkey.partner.v1": authenticate, "latchkey.lock.v1": authenticate},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := connectrpc.New(c)
	reg := c.Registrar(h)
	partnerv1.RegisterReservationServiceServer(reg, s)
	lockv1.RegisterBridgeServiceServer(reg, s)
	if err := reg.Err(); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, p := range h.Paths() {
		mux.Handle(p, h)
	}
	srv := httptest.NewUnstartedServer(mux)
	srv.Config.Protocols = connectrpc.Protocols()
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

// h2c is a client that speaks HTTP/2 without TLS.
func h2c(t *testing.T) *http.Client {
	p := &http.Protocols{}
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: p}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// token adds the credential to every call.
type token struct{}

func (token) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		req.Header().Set("Access-Token", "at")
		return next(ctx, req)
	}
}

func (token) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		conn.RequestHeader().Set("Access-Token", "at")
		return conn
	}
}

func (token) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

var protocols = map[string][]connect.ClientOption{
	"connect":      nil,
	"connect json": {connect.WithProtoJSON()},
	"connect gzip": {connect.WithSendGzip()},
	"grpc-web":     {connect.WithGRPCWeb()},
	"grpc":         {connect.WithGRPC()},
}

func TestOneImplementationOnEveryProtocol(t *testing.T) {
	srv := start(t, &service{})
	for name, options := range protocols {
		t.Run(name, func(t *testing.T) {
			client := connect.NewClient[partnerv1.UpsertReservationRequest, partnerv1.UpsertReservationResponse](h2c(t), srv.URL+partnerv1connect.ReservationServiceUpsertReservationProcedure,
				append(options, connect.WithInterceptors(token{}))...)
			resp, err := client.CallUnary(t.Context(), connect.NewRequest(&partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{PmsNumber: "17"}}))
			if err != nil {
				t.Fatal(err)
			}
			if resp.Msg.GetData().GetPmsNumber() != "17" {
				t.Errorf("got %v", resp.Msg)
			}
			h := resp.Header()
			if !strings.HasPrefix(h.Get("X-Request-Id"), "req_") || h.Get("Etag") != "e1" || h.Get("Set-Cookie") != "" {
				t.Errorf("header %v", h)
			}
		})
	}
}

func details(t *testing.T, err error) (code connect.Code, reason string, fields []string) {
	t.Helper()
	var ce *connect.Error
	if !errors.As(err, &ce) {
		t.Fatalf("%v is no Connect error", err)
	}
	for _, d := range ce.Details() {
		v, err := d.Value()
		if err != nil {
			t.Fatal(err)
		}
		switch v := v.(type) {
		case *errdetails.ErrorInfo:
			reason = v.GetReason()
		case *errdetails.BadRequest:
			for _, f := range v.GetFieldViolations() {
				fields = append(fields, f.GetField()+" "+f.GetReason())
			}
		}
	}
	return ce.Code(), reason, fields
}

func TestErrorsKeepTheirDetails(t *testing.T) {
	s := &service{}
	srv := start(t, s)
	for name, options := range protocols {
		t.Run(name, func(t *testing.T) {
			client := partnerv1connect.NewReservationServiceClient(h2c(t), srv.URL, options...)
			_, err := client.UpsertReservation(t.Context(), &partnerv1.UpsertReservationRequest{})
			if code, reason, _ := details(t, err); code != connect.CodeUnauthenticated || reason != "invalidCredentials" {
				t.Errorf("no credential: %v %s", code, reason)
			}
			client = partnerv1connect.NewReservationServiceClient(h2c(t), srv.URL, append(options, connect.WithInterceptors(token{}))...)
			_, err = client.UpsertReservation(t.Context(), &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{State: "x", PmsNumber: strings.Repeat("x", 256)}})
			code, reason, fields := details(t, err)
			if diff := cmp.Diff([]string{"reservation.pmsNumber tooLong", "reservation.state wrongValue"}, fields); diff != "" || code != connect.CodeInvalidArgument || reason != "invalidFields" {
				t.Errorf("%v %s %s", code, reason, diff)
			}
			_, err = client.UpsertReservation(t.Context(), &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{PmsNumber: strings.Repeat("x", 2<<20)}})
			if code, reason, _ := details(t, err); code != connect.CodeResourceExhausted || reason != "bodyTooLarge" {
				t.Errorf("too large: %v %s", code, reason)
			}
			s.fail = errors.New("secret of the house")
			defer func() { s.fail = nil }()
			_, err = client.UpsertReservation(t.Context(), &partnerv1.UpsertReservationRequest{})
			if code, _, _ := details(t, err); code != connect.CodeInternal || strings.Contains(err.Error(), "secret") {
				t.Errorf("internal: %v", err)
			}
		})
	}
}

// post sends a body of a content type with an access token, and returns the status and the body of the answer.
func post(t *testing.T, srv *httptest.Server, procedure, kind, token, body string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+procedure, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Access-Token", token)
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, raw
}

// A list of masks of a wrong type is refused, although the masks of the entries could be read from the body.
func TestMasksOfAWrongType(t *testing.T) {
	srv := start(t, &service{})
	status, raw := post(t, srv, partnerv1connect.ReservationServiceBatchUpsertReservationsProcedure, "application/json", "at",
		`{"updateMasks":"state","reservations":[{"id":"1","state":"confirmed"}]}`)
	if status != http.StatusBadRequest || !bytes.Contains(raw, []byte("updateMasks")) || !bytes.Contains(raw, []byte("wrongType")) {
		t.Errorf("status %d: %s", status, raw)
	}
}

func TestBadBodies(t *testing.T) {
	srv := start(t, &service{})
	for _, c := range []struct {
		name, kind, body, auth string
		status                 int
		want                   []string
	}{
		{"JSON of wrong types", "application/json", `{"reservation":{"pmsNumber":1,"owing":"x"}}`, "at", 400, []string{"reservation.pmsNumber", "reservation.owing", "wrongType"}},
		{"no JSON", "application/json; charset=utf-8", `{`, "at", 400, []string{"invalid_argument", "badJson"}},
		{"no protobuf", "application/proto", "\xff\xff", "at", 400, []string{"invalid_argument", "invalidFields"}},
		{"broken text", "application/proto", "\x0a\x03\x2a\x01\xff", "at", 400, []string{"reservation.pmsNumber"}},
		{"no credential comes first", "application/json", `{`, "", 401, []string{"unauthenticated"}},
		{"too large", "application/json", `{"reservation":{"pmsNumber":"` + strings.Repeat("x", 1<<20) + `"}}`, "at", 429, []string{"resource_exhausted", "bodyTooLarge"}},
		{"too large protobuf", "application/proto", strings.Repeat("x", 1<<20+1), "at", 429, []string{"resource_exhausted", "bodyTooLarge"}},
		{"too large, of a stranger", "application/proto", strings.Repeat("x", 1<<20+1), "", 401, []string{"unauthenticated"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, raw := post(t, srv, partnerv1connect.ReservationServiceUpsertReservationProcedure, c.kind, c.auth, c.body)
			if status != c.status {
				t.Errorf("status %d, want %d: %s", status, c.status, raw)
			}
			for _, w := range c.want {
				// Details are shown in base64 and, for people, as JSON.
				if !bytes.Contains(raw, []byte(w)) {
					t.Errorf("%s lacks %s", raw, w)
				}
			}
		})
	}
}

func TestSlowBodyTimesOut(t *testing.T) {
	quick := start(t, &service{})
	srv := httptest.NewUnstartedServer(quick.Config.Handler)
	srv.Config.Protocols, srv.Config.ReadTimeout = connectrpc.Protocols(), 300*time.Millisecond
	srv.Start()
	t.Cleanup(srv.Close)
	for _, c := range []struct {
		name, kind string
		h2         bool
	}{{"Connect", "application/json", false}, {"Connect over HTTP/2", "application/json", true}, {"gRPC-Web", "application/grpc-web+proto", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from, to := io.Pipe()
			defer to.Close()
			go func() { _, _ = io.WriteString(to, "\x00\x00\x00\x00\x09ab") }() // the rest of the message never arrives
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+partnerv1connect.ReservationServiceUpsertReservationProcedure, from)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", c.kind)
			req.Header.Set("Access-Token", "at")
			client := srv.Client()
			if c.h2 {
				client = h2c(t)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			raw, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if c.kind == "application/json" {
				if resp.StatusCode != http.StatusGatewayTimeout || !bytes.Contains(raw, []byte(`"deadline_exceeded"`)) || !bytes.Contains(raw, []byte("bodyTooSlow")) {
					t.Errorf("%d %s", resp.StatusCode, raw)
				}
				return
			}
			if !bytes.Contains(raw, []byte("grpc-status: 4")) && resp.Header.Get("Grpc-Status") != "4" {
				t.Errorf("%v %s", resp.Header, raw)
			}
		})
	}
}

func TestGRPCGoClient(t *testing.T) {
	srv := start(t, &service{})
	conn, err := grpc.NewClient(strings.TrimPrefix(srv.URL, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "access-token", "at")
	resp, err := partnerv1.NewReservationServiceClient(conn).UpsertReservation(ctx, &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{PmsNumber: "17"}})
	if err != nil || resp.GetData().GetPmsNumber() != "17" {
		t.Errorf("%v, %v", resp, err)
	}
}
