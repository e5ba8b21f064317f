package e2e

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// connectApp makes one more partner app of a property and calls as it.
func connectApp(t *testing.T, w *e2etest.World, name string, scopes ...string) e2etest.Caller {
	t.Helper()
	app, err := adminv1.NewAppServiceClient(w.Socket).CreateApp(t.Context(), &adminv1.CreateAppRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if len(scopes) == 0 {
		scopes = allScopes
	}
	i, err := propertyv1.NewIntegrationServiceClient(w.Public).ConnectApp(w.Staff(t.Context()), &propertyv1.ConnectAppRequest{AppId: app.GetData().GetId(), Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	return e2etest.Caller{Name: name, Headers: map[string]string{"client-token": app.GetClientToken(), "access-token": i.GetAccessToken()}}
}

// parsed is a request written as JSON.
func parsed(t *testing.T, r e2etest.RPC, text string) proto.Message {
	t.Helper()
	req := r.Request()
	if err := protojson.Unmarshal([]byte(text), req); err != nil {
		t.Fatal(err)
	}
	return req
}
