package chain_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/fault"
)

// TestUnknownMethodNamesAreBounded calls methods with very long unknown names.
func TestUnknownMethodNamesAreBounded(t *testing.T) {
	var log bytes.Buffer
	c, err := chain.New(chain.Config{
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: prometheus.NewRegistry(), Validator: protovalidate.GlobalValidator, Limits: chain.Limits{PerMinute: 1, Burst: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(203, 0, 113, 7), Port: 4711}})
	call := func(method string) error {
		_, err := c.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: method}, nil)
		return err
	}
	long := "/" + strings.Repeat("é", 2000)
	err = call(long)
	if code, _, _, _ := statusParts(err); code != codes.Unimplemented || len(err.Error()) > 400 || !strings.Contains(err.Error(), long[:100]) {
		t.Errorf("a long name: %d bytes, %.500v", len(err.Error()), err)
	}
	if code, _, _, _ := statusParts(call("/short.Service/Nothing")); code != codes.Unimplemented {
		t.Errorf("a short one: %v", code)
	}
	if code, reason, _, _ := statusParts(call("/short.Service/Nothing")); code != codes.ResourceExhausted || reason != "rateLimited" {
		t.Errorf("one too many: %v %v", code, reason)
	}
	if lines := log.String(); strings.Count(lines, "msg=call") != 3 || len(lines) > 1500 {
		t.Errorf("logged: %.1600s", lines)
	}
}

// TestRefusedCallsDoNotUseUpTheLimitOfOthers exhausts the limit for refused calls of one address. Guests at the same
// address, whose calls need no credential, have a separate limit.
func TestRefusedCallsDoNotUseUpTheLimitOfOthers(t *testing.T) {
	c, err := chain.New(chain.Config{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Validator: protovalidate.GlobalValidator, Limits: chain.Limits{PerMinute: 1, Burst: 2},
		Authenticators: map[string]chain.Authenticator{"latchkey.partner.v1": partnerOnly},
	})
	if err != nil {
		t.Fatal(err)
	}
	reg := c.Registrar(grpc.NewServer())
	partnerv1.RegisterReservationServiceServer(reg, &service{})
	guestv1.RegisterSmartKeyServiceServer(reg, guestv1.UnimplementedSmartKeyServiceServer{})
	if err := reg.Err(); err != nil {
		t.Fatal(err)
	}
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(203, 0, 113, 7), Port: 4711}})
	ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("access-token", "revoked"))
	call := func(method string, req any) codes.Code {
		_, err := c.Unary(ctx, req, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) {
			return &guestv1.GreetResponse{}, nil
		})
		code, _, _, _ := statusParts(err)
		return code
	}
	const read, nothing, greet = partnerv1.ReservationService_GetReservation_FullMethodName, "/no.Service/Nothing", guestv1.SmartKeyService_Greet_FullMethodName
	greeting := &guestv1.GreetRequest{Token: []byte("t"), Door: make([]byte, 8)}
	for i, step := range []struct {
		method string
		req    any
		want   codes.Code
	}{
		{read, &partnerv1.GetReservationRequest{Id: "rsv_1"}, codes.Unauthenticated},
		{nothing, nil, codes.Unimplemented},
		{read, &partnerv1.GetReservationRequest{Id: "rsv_1"}, codes.ResourceExhausted},
		{nothing, nil, codes.ResourceExhausted},
		{greet, greeting, codes.OK}, {greet, greeting, codes.OK}, {greet, greeting, codes.ResourceExhausted},
	} {
		if got := call(step.method, step.req); got != step.want {
			t.Errorf("%d %s: %v, want %v", i, step.method, got, step.want)
		}
	}
}

// TestGuessesAreCountedByAddress tries invalid credentials from one address. Callers with valid ones are still served.
func TestGuessesAreCountedByAddress(t *testing.T) {
	c, err := chain.New(chain.Config{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Validator: protovalidate.GlobalValidator, Limits: chain.Limits{PerMinute: 1, Burst: 2},
		Authenticators: map[string]chain.Authenticator{"latchkey.partner.v1": partnerOnly},
	})
	if err != nil {
		t.Fatal(err)
	}
	partnerv1.RegisterReservationServiceServer(c.Registrar(grpc.NewServer()), &service{})
	call := func(host byte, token string) (codes.Code, string) {
		ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(203, 0, 113, host), Port: 4711}})
		ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("access-token", token))
		_, err := c.Unary(ctx, &partnerv1.GetReservationRequest{Id: "rsv_1"}, &grpc.UnaryServerInfo{FullMethod: partnerv1.ReservationService_GetReservation_FullMethodName},
			func(context.Context, any) (any, error) { return &partnerv1.GetReservationResponse{}, nil })
		code, reason, _, _ := statusParts(err)
		return code, reason
	}
	for _, step := range []struct {
		host  byte
		token string
		want  codes.Code
	}{
		{7, "one", codes.Unauthenticated}, {7, "two", codes.Unauthenticated}, {7, "three", codes.ResourceExhausted},
		{8, "one", codes.Unauthenticated}, {7, "at", codes.OK},
	} {
		if code, reason := call(step.host, step.token); code != step.want || (code == codes.ResourceExhausted) != (reason == "rateLimited") {
			t.Errorf("%+v: %v %s", step, code, reason)
		}
	}
}

func TestIdempotencyKeys(t *testing.T) {
	c, err := chain.New(chain.Config{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Validator: protovalidate.GlobalValidator,
		Authenticators: map[string]chain.Authenticator{"latchkey.partner.v1": partnerOnly},
	})
	if err != nil {
		t.Fatal(err)
	}
	partnerv1.RegisterReservationServiceServer(c.Registrar(grpc.NewServer()), &service{})
	call := func(keys ...string) (got string, err error) {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.MD{"access-token": {"at"}, "idempotency-key": keys})
		_, err = c.Unary(ctx, &partnerv1.UpsertReservationRequest{}, &grpc.UnaryServerInfo{FullMethod: upsert}, func(ctx context.Context, _ any) (any, error) {
			got = chain.From(ctx).IdempotencyKey()
			return &partnerv1.UpsertReservationResponse{}, nil
		})
		return got, err
	}
	for _, good := range []string{"k", strings.Repeat("x", 255)} {
		if got, err := call(good); err != nil || got != good {
			t.Errorf("%q: %q, %v", good, got, err)
		}
	}
	for _, bad := range [][]string{{""}, {"with space"}, {"ctl\x01"}, {"ü"}, {strings.Repeat("x", 256)}, {"one", "two"}} {
		_, err := call(bad...)
		if _, reason, fields, _ := statusParts(err); reason != "invalidFields" || len(fields) != 1 || !strings.HasPrefix(fields[0], "Idempotency-Key") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// The cause of a fault is logged and never sent to the caller.
func TestCausesAreLogged(t *testing.T) {
	for kind, want := range map[fault.Kind]bool{fault.Unavailable: true, fault.Aborted: true, fault.Deadline: true, fault.Internal: true, fault.Invalid: false, fault.NotFound: false} {
		var log bytes.Buffer
		s := &service{fail: fault.New(kind, fault.UnavailableReason, "sorry").With(errors.New("disk on fire"))}
		conn, _ := start(t, s, func(c *chain.Config) {
			c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		})
		_, err := partnerv1.NewReservationServiceClient(conn).UpsertReservation(authorized(t), &partnerv1.UpsertReservationRequest{})
		if err == nil || strings.Contains(err.Error(), "fire") {
			t.Errorf("%v: the caller is statusParts %v", kind, err)
		}
		if got := strings.Contains(log.String(), "disk on fire"); got != want {
			t.Errorf("%v: logged %q", kind, log.String())
		}
	}
}
