package chain_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
)

// Until includes the time that a call waits before its handler runs, and respects the caller's deadline.
func TestUntilCountsFromTheCallsArrival(t *testing.T) {
	const most = 20 * time.Second
	var authenticated, until time.Time
	s := &service{seen: func(ctx context.Context) { until = chain.ActionDeadline(ctx, most) }}
	conn, _ := start(t, s, func(cfg *chain.Config) {
		cfg.Authenticators["latchkey.partner.v1"] = func(ctx context.Context, c chain.Credentials) (actor.Actor, error) {
			authenticated = time.Now()
			return partnerOnly(ctx, c)
		}
	})
	call := func(ctx context.Context) {
		t.Helper()
		if _, err := partnerv1.NewReservationServiceClient(conn).UpsertReservation(metadata.AppendToOutgoingContext(ctx, "access-token", "at"), &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{}}); err != nil {
			t.Fatal(err)
		}
	}
	call(t.Context())
	if until.Add(-most).After(authenticated) {
		t.Errorf("counted from %v after the call's credential was judged", until.Add(-most).Sub(authenticated))
	}
	short, cancel := context.WithTimeout(t.Context(), most/2)
	defer cancel()
	call(short)
	if deadline, _ := short.Deadline(); until.After(deadline.Add(time.Second)) {
		t.Errorf("%v after the caller's own deadline", until.Sub(deadline))
	}
}
