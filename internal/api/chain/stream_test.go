package chain_test

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"buf.build/go/protovalidate"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/inproc"
	"latchkey.dev/internal/credential"
)

// watcher sends two messages, and then waits until the call ends. A call that begins after message 2 ends at once.
type watcher struct {
	guestv1.UnimplementedMessageServiceServer
}

func (watcher) WatchMessages(r *guestv1.WatchMessagesRequest, st grpc.ServerStreamingServer[guestv1.WatchMessagesResponse]) error {
	if r.GetAfter() == 2 {
		return nil
	}
	for n := range int32(2) {
		if err := st.Send(&guestv1.WatchMessagesResponse{Data: &guestv1.Message{Number: n + 1}}); err != nil {
			return err
		}
	}
	<-st.Context().Done()
	return st.Context().Err()
}

// A stream in process delivers its messages in order, and ends when its caller, its handler or its credential does.
func TestStreamsInProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var revoked atomic.Bool
		c, err := chain.New(chain.Config{
			Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Validator: protovalidate.GlobalValidator,
			Authenticators: map[string]chain.Authenticator{"latchkey.guest.v1": func(_ context.Context, c chain.Credentials) (actor.Actor, error) {
				if revoked.Load() || c.Bearer != "lks_1" {
					return actor.Actor{}, credential.Refused()
				}
				return actor.Actor{Kind: actor.Guest}, nil
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		conn := inproc.New(c.Unary, c.Stream)
		to := c.Registrar(conn)
		guestv1.RegisterMessageServiceServer(to, watcher{})
		if err := to.Err(); err != nil {
			t.Fatal(err)
		}
		as := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer lks_1")
		watch := func(ctx context.Context, after int32) grpc.ServerStreamingClient[guestv1.WatchMessagesResponse] {
			st, err := guestv1.NewMessageServiceClient(conn).WatchMessages(ctx, &guestv1.WatchMessagesRequest{After: after})
			if err != nil {
				t.Fatal(err)
			}
			return st
		}
		two := func(st grpc.ServerStreamingClient[guestv1.WatchMessagesResponse]) {
			for want := range int32(2) {
				if got, err := st.Recv(); err != nil || got.GetData().GetNumber() != want+1 {
					t.Fatalf("%v, %v; want message %d", got, err, want+1)
				}
			}
		}
		ends := func(st grpc.ServerStreamingClient[guestv1.WatchMessagesResponse], want codes.Code) {
			if got, err := st.Recv(); status.Code(err) != want {
				t.Errorf("%v, %v; want %s", got, err, want)
			}
		}
		if _, err := watch(as, 2).Recv(); err != io.EOF {
			t.Errorf("a handler that has ended: %v", err)
		}
		ends(watch(t.Context(), 0), codes.Unauthenticated)
		ends(watch(as, -1), codes.InvalidArgument)

		ctx, leave := context.WithCancel(as)
		left := watch(ctx, 0)
		two(left)
		leave()
		ends(left, codes.Canceled)

		st := watch(as, 0)
		two(st)
		time.Sleep(time.Hour)
		began := time.Now()
		revoked.Store(true)
		ends(st, codes.Unauthenticated)
		if passed := time.Since(began); passed > 4*time.Second {
			t.Errorf("the stream of a revoked session of a guest goes on for %s", passed)
		}
	})
}

// A caller whose role changes has to call again, because what a stream sends may depend on the role.
func TestRoleOfAStreamChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var role atomic.Value
		role.Store("manager")
		c, err := chain.New(chain.Config{
			Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Validator: protovalidate.GlobalValidator,
			Authenticators: map[string]chain.Authenticator{"latchkey.guest.v1": func(context.Context, chain.Credentials) (actor.Actor, error) {
				return actor.Actor{Kind: actor.Staff, PropertyID: "prp_1", Role: role.Load().(string)}, nil
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		conn := inproc.New(c.Unary, c.Stream)
		to := c.Registrar(conn)
		guestv1.RegisterMessageServiceServer(to, watcher{})
		if err := to.Err(); err != nil {
			t.Fatal(err)
		}
		st, err := guestv1.NewMessageServiceClient(conn).WatchMessages(t.Context(), &guestv1.WatchMessagesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := st.Recv(); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		role.Store("housekeeping")
		if _, err := st.Recv(); status.Code(err) != codes.Unavailable || time.Since(began) > 20*time.Second {
			t.Errorf("the stream goes on for %s: %v", time.Since(began), err)
		}
	})
}
