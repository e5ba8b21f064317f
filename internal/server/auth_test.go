package server_test

import (
	"context"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/server"
)

// operatorOf makes a property and returns the operators' socket, and a context in which its operator works for that property.
func operatorOf(t *testing.T, n *node) (*grpc.ClientConn, context.Context) {
	t.Helper()
	socket := connect(t, "unix:"+n.SocketPath())
	name, zone := "Hostel", "Europe/Lisbon"
	p, err := adminv1.NewPropertyServiceClient(socket).CreateProperty(t.Context(), &adminv1.CreatePropertyRequest{Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone}})
	if err != nil {
		t.Fatal(err)
	}
	return socket, metadata.AppendToOutgoingContext(t.Context(), chain.HeaderProperty, p.GetData().GetId())
}

// The operator on the server's machine works for a property without a token; no other caller does.
func TestAnOperatorWorksForAPropertyOverTheSocketAlone(t *testing.T) {
	n := open(t, settings(t, ""), server.Options{})
	socket, works := operatorOf(t, n)
	list := func(ctx context.Context, conn *grpc.ClientConn) codes.Code {
		_, err := propertyv1.NewSpaceServiceClient(conn).ListSpaces(ctx, &propertyv1.ListSpacesRequest{})
		return status.Code(err)
	}
	other := metadata.AppendToOutgoingContext(t.Context(), chain.HeaderProperty, "prp_none")
	twice := metadata.AppendToOutgoingContext(works, chain.HeaderProperty, "prp_none")
	wrong := metadata.AppendToOutgoingContext(works, "authorization", "Bearer lkp_wrong")
	for name, tt := range map[string]struct {
		ctx  context.Context
		conn *grpc.ClientConn
		want codes.Code
	}{
		"over the socket":                     {works, socket, codes.OK},
		"over TCP":                            {works, connect(t, n.GRPCAddr()), codes.Unauthenticated},
		"over the socket, without property":   {t.Context(), socket, codes.Unauthenticated},
		"over the socket, an unknown one":     {other, socket, codes.NotFound},
		"over the socket, two properties":     {twice, socket, codes.Unauthenticated},
		"over the socket, with a wrong token": {wrong, socket, codes.Unauthenticated},
	} {
		if got := list(tt.ctx, tt.conn); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	if _, err := propertyv1.NewGateServiceClient(socket).CreateGate(works, &propertyv1.CreateGateRequest{Name: "Front"}); err != nil {
		t.Errorf("a change: %v", err)
	}
	tokens, err := n.Database().View(t.Context()).Token.Query().Count(t.Context())
	if err != nil || tokens != 0 {
		t.Errorf("%d tokens were made, %v", tokens, err)
	}
}

// Views of the sign-in page take nothing from the calls that an address has without a credential.
func TestLoginPageIsNoCall(t *testing.T) {
	c := settings(t, "")
	c.Rate.PerMinute, c.Rate.Burst = 1, 2
	n := open(t, c, server.Options{})
	for i, step := range []struct {
		path   string
		status int
	}{
		{"/app/login", 200}, {"/app/login", 200}, {"/app/login", 200},
		{"/v1/property/identityProvider", 200}, {"/v1/property/identityProvider", 200}, {"/v1/property/identityProvider", 429}, {"/app/login", 200},
	} {
		res, err := http.Get("http://" + n.HTTPAddr() + step.path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != step.status {
			t.Errorf("%d. %s: %d, want %d", i, step.path, res.StatusCode, step.status)
		}
	}
}
