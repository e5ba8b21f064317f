package e2e

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/gen/latchkey/property/v1/propertyv1connect"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// Staff see what changes at their property, over gRPC and Connect, and nothing of another property.
func TestWatch(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Server.Partner.Allow = []string{"127.0.0.1"} })
	other := w.OpenProperty()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := func(ctx context.Context, topics ...string) func() (*propertyv1.WatchResponse, error) {
		t.Helper()
		st, err := propertyv1.NewEventServiceClient(w.Public).Watch(ctx, &propertyv1.WatchRequest{Topics: topics})
		if err != nil {
			t.Fatal(err)
		}
		return st.Recv
	}
	// until reads messages until one names an id of a topic, and returns all ids that it read.
	until := func(recv func() (*propertyv1.WatchResponse, error), topic, id string) (ids []string) {
		t.Helper()
		for {
			m, err := recv()
			if err != nil {
				t.Fatalf("waiting for %s of %s: %v", id, topic, err)
			}
			for _, c := range m.GetChanges() {
				ids = append(ids, c.GetIds()...)
				if c.GetTopic() == topic && (slices.Contains(c.GetIds(), id) || id == "" && c.GetEverything()) {
					return ids
				}
			}
		}
	}
	own, foreign := open(w.Staff(ctx)), open(other.Staff(ctx))
	until(own, "reservations", "")
	until(foreign, "reservations", "")
	page, err := propertyv1connect.NewEventServiceClient(http.DefaultClient, w.Base).Watch(withBearer(ctx, w.StaffToken), &propertyv1.WatchRequest{Topics: []string{"reservations"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = page.Close() }()
	onPage := func() (*propertyv1.WatchResponse, error) {
		if !page.Receive() {
			return nil, page.Err()
		}
		return page.Msg(), nil
	}
	until(onPage, "reservations", "")

	stay, _ := e2etest.PushReservation(t, w, "W-1", map[string]any{"state": "confirmed"}).Data()["id"].(string)
	until(onPage, "reservations", stay)
	until(own, "reservations", stay)
	gate := func(w *e2etest.World) string {
		t.Helper()
		made, err := propertyv1.NewGateServiceClient(w.Public).CreateGate(w.Staff(t.Context()), &propertyv1.CreateGateRequest{Name: "Side door"})
		if err != nil {
			t.Fatal(err)
		}
		return made.GetData().GetId()
	}
	mine := gate(w)
	until(own, "spaces", mine)
	if ids := until(foreign, "spaces", gate(other)); slices.Contains(ids, mine) || slices.Contains(ids, stay) {
		t.Errorf("another property is shown %v", ids)
	}

	token := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+w.AccessToken)
	if _, err := open(token)(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a partner watches: %v", err)
	}
	if _, err := open(w.Staff(ctx), "elevators")(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an unknown topic: %v", err)
	}
}

// withBearer sends a token with calls of a generated Connect client.
func withBearer(ctx context.Context, token string) context.Context {
	ctx, info := connect.NewClientContext(ctx)
	info.RequestHeader().Set("authorization", "Bearer "+token)
	return ctx
}
