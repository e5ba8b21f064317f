package e2etest

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/sandbox"
)

// Scopes are all scopes that an integration can have.
var Scopes = []string{"reservations:write", "reservations:read", "pins:read", "guests:read", "endpoints:write", "webhooks:write"}

// ConnectApp creates another partner app, connects it to the property and returns it as a caller. Without scopes, the app gets all scopes.
func ConnectApp(t testing.TB, w *World, name string, scopes ...string) Caller {
	t.Helper()
	app, err := adminv1.NewAppServiceClient(w.Socket).CreateApp(t.Context(), &adminv1.CreateAppRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if len(scopes) == 0 {
		scopes = Scopes
	}
	i, err := propertyv1.NewIntegrationServiceClient(w.Public).ConnectApp(w.Staff(t.Context()), &propertyv1.ConnectAppRequest{AppId: app.GetData().GetId(), Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	return Caller{Name: name, Headers: map[string]string{"client-token": app.GetClientToken(), "access-token": i.GetAccessToken()}}
}

// PushReservation sends a reservation as the sandbox's PMS. It adds defaults for required fields that are missing in fields. The test fails
// if the server refuses the reservation.
func PushReservation(t testing.TB, w *World, pmsID string, fields map[string]any) sandbox.Answer {
	t.Helper()
	all := map[string]any{
		"pmsNumber": "N-" + pmsID, "booker": map[string]any{"lastName": "Lovelace"},
		"fromDate": LocalDate(0), "toDate": LocalDate(2),
	}
	maps.Copy(all, fields)
	a, err := w.PMS.Push(t.Context(), pmsID, all)
	if err != nil || a.Status != 200 {
		t.Fatalf("push %s: %v %v", pmsID, a, err)
	}
	return a
}

// LocalDate returns the date that is ahead days after today, in the time zone of the sandbox's property.
func LocalDate(ahead int) string {
	zone, err := time.LoadLocation("Europe/Lisbon")
	if err != nil {
		panic(err) // the machine has no time zone database
	}
	return time.Now().In(zone).AddDate(0, 0, ahead).Format(time.DateOnly)
}

// ValueAt returns the value at a dotted path of a JSON object, or nil.
func ValueAt(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// ParseRequest parses a JSON text as a request of the RPC.
func ParseRequest(t testing.TB, r RPC, text string) proto.Message {
	t.Helper()
	req := r.Request()
	if err := protojson.Unmarshal([]byte(text), req); err != nil {
		t.Fatal(err)
	}
	return req
}

var timestampPattern = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*"`)

// MaskTimes replaces all timestamps in an answer by a fixed text, so that answers can be compared.
func MaskTimes(raw []byte) []byte { return timestampPattern.ReplaceAll(raw, []byte(`"TIME"`)) }

// PartnerView returns what a partner reads of the property, as text without timestamps, so that a test can compare two views: the first 200
// reservations, the endpoints, the webhooks and the integration.
func PartnerView(t testing.TB, w *World) string {
	t.Helper()
	var out strings.Builder
	for _, path := range []string{"/v1/reservations?pageSize=200", "/v1/endpoints", "/v1/webhooks", "/v1/integration"} {
		o, err := w.Do(t.Context(), w.Partner(), "GET", path, nil)
		if err != nil || !o.OK() {
			t.Fatal(o, err)
		}
		fmt.Fprintf(&out, "%s\n", MaskTimes(o.Raw))
	}
	return out.String()
}
