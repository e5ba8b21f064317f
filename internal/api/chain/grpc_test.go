package chain_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
)

// unfinished opens a unary call that sends headers but no message.
func unfinished(ctx context.Context, conn *grpc.ClientConn, method string) (grpc.ClientStream, error) {
	return conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, method)
}

func TestMessageArrivalTimesOut(t *testing.T) {
	conn, registry := start(t, &service{}, func(c *chain.Config) { c.ReceiveTimeout = 100 * time.Millisecond })
	for _, ctx := range []context.Context{authorized(t), t.Context()} {
		st, err := unfinished(ctx, conn, upsert)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.RecvMsg(&partnerv1.UpsertReservationResponse{}); status.Code(err) != codes.DeadlineExceeded && status.Code(err) != codes.Unauthenticated {
			t.Errorf("%v", err)
		}
	}
	// Streams have no such time limit: a stream continues after a unary call that began later has reached its limit.
	st, err := lockv1.NewBridgeServiceClient(conn).Connect(authorized(t))
	if err != nil {
		t.Fatal(err)
	}
	unary, err := unfinished(authorized(t), conn, upsert)
	if err != nil {
		t.Fatal(err)
	}
	if err := unary.RecvMsg(&partnerv1.UpsertReservationResponse{}); status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
	if err := st.Send(&lockv1.ConnectRequest{Epoch: 7}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Recv(); err != nil {
		t.Errorf("a stream: %v", err)
	}
	// The caller has its answer before the call is counted.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for rows(t, registry, "latchkey_rpc_calls_total") != 2 {
		if ctx.Err() != nil {
			t.Fatalf("%d rows of calls, want one for each code", rows(t, registry, "latchkey_rpc_calls_total"))
		}
	}
}

// The time limit for the message's arrival does not limit the call.
func TestArrivalLimitDoesNotLimitTheCall(t *testing.T) {
	var left time.Duration
	s := &service{seen: func(ctx context.Context) {
		at, _ := ctx.Deadline()
		left = time.Until(at)
	}}
	conn, _ := start(t, s, func(c *chain.Config) { c.ReceiveTimeout, c.Deadline = time.Minute, time.Hour })
	if _, err := partnerv1.NewReservationServiceClient(conn).UpsertReservation(authorized(t), &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{}}); err != nil {
		t.Fatal(err)
	}
	if left < 30*time.Minute {
		t.Errorf("the call has %v left", left)
	}
	ctx, cancel := context.WithTimeout(authorized(t), 10*time.Minute)
	defer cancel()
	if _, err := partnerv1.NewReservationServiceClient(conn).UpsertReservation(ctx, &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{}}); err != nil {
		t.Fatal(err)
	}
	if left > 10*time.Minute {
		t.Errorf("the caller's own deadline is gone: %v left", left)
	}
}

// TestUnfinishedCallsOfAnAddressAreBounded starts calls without a credential from one address and finishes none.
func TestUnfinishedCallsOfAnAddressAreBounded(t *testing.T) {
	conn, _ := start(t, &service{}, func(c *chain.Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	from := func(client string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "x-forwarded-for", client)
	}
	const begun, most = 100, 64
	answered := make(chan error, begun)
	for range begun {
		st, err := unfinished(from("203.0.113.7"), conn, lockv1.EnrolmentService_Enroll_FullMethodName)
		if err != nil {
			t.Fatal(err)
		}
		go func() { answered <- st.RecvMsg(&lockv1.EnrollResponse{}) }()
	}
	for range begun - most {
		if code, reason, _, id := statusParts(<-answered); code != codes.ResourceExhausted || reason != "rateLimited" || id == "" {
			t.Errorf("%v %s", code, reason)
		}
	}
	_, err := lockv1.NewEnrolmentServiceClient(conn).Enroll(from("203.0.113.8"), &lockv1.EnrollRequest{JoinCode: "lkj_x", CertificateRequest: []byte{1}, HpkePublicKey: make([]byte, 32)})
	if err != nil {
		t.Errorf("another address: %v", err)
	}
	if n := len(answered); n > 0 {
		t.Errorf("%d more were answered", n)
	}
}

// TestCallIsAuthenticatedOnce counts the authentications of a gRPC call.
func TestCallIsAuthenticatedOnce(t *testing.T) {
	judged := 0
	conn, _ := start(t, &service{}, func(c *chain.Config) {
		inner := c.Authenticators["latchkey.partner.v1"]
		c.Authenticators["latchkey.partner.v1"] = func(ctx context.Context, cr chain.Credentials) (actor.Actor, error) {
			judged++
			return inner(ctx, cr)
		}
	})
	if _, err := partnerv1.NewReservationServiceClient(conn).UpsertReservation(authorized(t), &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{}}); err != nil {
		t.Fatal(err)
	}
	if judged != 1 {
		t.Errorf("authenticated %d times", judged)
	}
}
