package web_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/web/staff"
)

// otherStaffPages are the pages of the dashboard that staffPages leaves out, with the test that opens each. They need a link, a state or an earlier
// step, or they are no pages. TestDashboardMatrix opens files, and addresses that only lead back to a page, for example after a new sign-in.
var otherStaffPages = map[string]string{
	"/app/login":                            "TestOwnerSignsIn",
	"/app/login/second":                     "TestOwnerSignsIn",
	"/app/login/oidc":                       "TestIdentityProvider",
	staff.IdentityPath:                      "TestIdentityProvider",
	"/app/first/{secret}":                   "TestOwnerSignsIn",
	staff.InvitationPath + "{secret}":       "TestOwnerInvites",
	"/app/{$}":                              "TestDashboardMatrix",
	"/app/confirm":                          "TestPasskey",
	"/app/live":                             "TestOtherPagesAreLive",
	"/app/reservations/{id}/open":           "TestDashboardMatrix",
	"/app/reservations/{id}/extend":         "TestDashboardMatrix",
	"/app/reservations/{id}/reveal":         "TestDashboardMatrix",
	"/app/reservations/{id}/replace":        "TestDashboardMatrix",
	"/app/reservations/{id}/guests/data":    "TestDashboardMatrix",
	"/app/reservations/{id}/guests/erase":   "TestDashboardMatrix",
	"/app/register/csv":                     "TestDashboardMatrix",
	"/app/locks/{id}/open":                  "TestDashboardMatrix",
	"/app/locks/{id}/backup":                "TestDashboardMatrix",
	"/app/codes/{id}/reveal":                "TestDashboardMatrix",
	"/app/spaces/rooms.csv":                 "TestDashboardMatrix",
	"/app/settings/questions/{id}":          "TestOwnerAsksGuests",
	"/app/settings/kiosks/{id}/poster":      "TestOwnerChangesSettings",
	"/app/settings/kiosks/{id}/poster.pdf":  "TestDashboardMatrix",
	"/app/settings/people/{id}":             "TestDashboardMatrix",
	"/app/settings/people/invitations/{id}": "TestDashboardMatrix",
}

// Each page of the dashboard is in the list of the browser matrix, or names the test that opens it.
func TestStaffPagesAreAllListed(t *testing.T) {
	pages, routed := http.NewServeMux(), map[string]bool{}
	for _, r := range staff.Routes() {
		if pattern, ok := strings.CutPrefix(r.Pattern, "GET "); ok {
			pages.Handle(r.Pattern, http.NotFoundHandler())
			routed[pattern] = true
		}
	}
	listed := map[string]bool{}
	for _, page := range staffPages {
		_, pattern := pages.Handler(httptest.NewRequest(http.MethodGet, "/app/"+page, nil))
		if pattern == "" {
			t.Errorf("the list has %s, which no route serves", page)
		}
		listed[strings.TrimPrefix(pattern, "GET ")] = true
	}
	tests := testSources(t)
	for pattern := range routed {
		test, other := otherStaffPages[pattern]
		if listed[pattern] == other {
			t.Errorf("%s must be in one of staffPages and otherStaffPages: %v, %v", pattern, listed[pattern], other)
		}
		if other && !strings.Contains(tests, "\nfunc "+test+"(t *testing.T) {") {
			t.Errorf("%s names the test %s, which does not exist", pattern, test)
		}
	}
	for pattern := range otherStaffPages {
		if !routed[pattern] {
			t.Errorf("otherStaffPages has %s, which is no route", pattern)
		}
	}
}

// testSources returns the tests of this package and of the package above, as text.
func testSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"*_test.go", "../*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

// staffIDs returns the names of ids in staffPages, each followed by its value: an object of each kind. It makes a code, because the world has none.
func (w *world) staffIDs() []string {
	w.t.Helper()
	ctx, must := w.Staff(w.t.Context()), func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	locks, err := propertyv1.NewLockServiceClient(w.Public).ListLocks(ctx, &propertyv1.ListLocksRequest{})
	must(err)
	bridges, err := propertyv1.NewBridgeServiceClient(w.Public).ListBridges(ctx, &propertyv1.ListBridgesRequest{})
	must(err)
	gates, err := propertyv1.NewGateServiceClient(w.Public).ListGates(ctx, &propertyv1.ListGatesRequest{})
	must(err)
	code, err := propertyv1.NewCodeServiceClient(w.Public).CreateCode(ctx, &propertyv1.CreateCodeRequest{Kind: "staff", Holder: "Rosa", AllRooms: true})
	must(err)
	// The room is one with a lock, because its page then shows more.
	spaces, err := propertyv1.NewSpaceServiceClient(w.Public).ListSpaces(ctx, &propertyv1.ListSpacesRequest{})
	must(err)
	room := spaces.GetData().GetList()[0].GetId()
	for _, s := range spaces.GetData().GetList() {
		for _, l := range locks.GetData().GetList() {
			if l.GetDoorId() == s.GetId() {
				room = s.GetId()
			}
		}
	}
	return []string{
		"LOCK", locks.GetData().GetList()[0].GetId(), "BRIDGE", bridges.GetData().GetList()[0].GetId(), "GATE", gates.GetData().GetList()[0].GetId(),
		"CODE", code.GetData().GetId(), "ROOM", room, "PMS", w.IntegrationID,
	}
}
