package e2e

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	"latchkey.dev/internal/e2e/e2etest"
)

var roles = map[string]int{"viewer": 1, "operator": 2, "owner": 3}

// rolesWith has the roles whose people have each right. It is written by hand and apart from package staff, so that a slip there is seen.
var rolesWith = map[string][]string{
	"self":              {"owner", "manager", "frontDesk", "housekeeping"},
	"readProperty":      {"owner", "manager", "frontDesk", "housekeeping"},
	"readLocks":         {"owner", "manager", "frontDesk", "housekeeping"},
	"readReservations":  {"owner", "manager", "frontDesk"},
	"readAccess":        {"owner", "manager", "frontDesk"},
	"readGuests":        {"owner", "manager", "frontDesk"},
	"readNotices":       {"owner", "manager", "frontDesk"},
	"manageNotices":     {"owner", "manager", "frontDesk"},
	"manageCheckIns":    {"owner", "manager", "frontDesk"},
	"writeMessages":     {"owner", "manager", "frontDesk"},
	"manageAccess":      {"owner", "manager", "frontDesk"},
	"revealPins":        {"owner", "manager", "frontDesk"},
	"openDoors":         {"owner", "manager", "frontDesk"},
	"readAudit":         {"owner", "manager"},
	"inspectRegister":   {"owner", "manager"},
	"eraseGuests":       {"owner", "manager"},
	"manageLocks":       {"owner", "manager"},
	"manageSpaces":      {"owner", "manager"},
	"manageBridges":     {"owner", "manager"},
	"manageSettings":    {"owner", "manager"},
	"managePeople":      {"owner", "manager"},
	"manageCredentials": {"owner"},
}

// expected is the whole rule: a credential of another area is invalid, and a missing scope, role or right is named.
func expected(r rule, w who, p e2etest.Protocol) codes.Code {
	switch {
	case r.area == "bridge":
		return codes.Unimplemented
	case r.area == "enrol" && (p != e2etest.GRPC || w.Socket):
		return codes.Unimplemented
	case r.area == "enrol", r.area == "guest":
		return r.wants
	case r.area == "person" && w.area == "property":
		if w.person == "" {
			return codes.PermissionDenied
		}
		return r.wants
	case w.area != r.area:
		return codes.Unauthenticated
	case r.area == "partner" && r.need != "" && !slices.Contains(w.scopes, r.need):
		return codes.PermissionDenied
	case r.area == "property" && w.person != "":
		if right, _ := strings.CutSuffix(r.right, stepUp); !slices.Contains(rolesWith[right], w.person) {
			return codes.PermissionDenied
		}
	case r.area == "property" && w.role < roles[r.need]:
		return codes.PermissionDenied
	}
	return r.wants
}

// statuses are those of REST for the codes of the matrix.
var statuses = map[codes.Code]int{ok: 200, invalid: 400, notFound: 404, codes.FailedPrecondition: 409, codes.Unauthenticated: 401, codes.PermissionDenied: 403}

// callRow sends the request of a row.
func callRow(t *testing.T, w *e2etest.World, r e2etest.RPC, row rule, c e2etest.Caller, p e2etest.Protocol) e2etest.Outcome {
	t.Helper()
	req := r.Request()
	if row.body == untouched {
		c = c.WithHeader("idempotency-key", "no key")
	} else if err := protojson.Unmarshal([]byte(row.body), req); err != nil {
		t.Fatal(err)
	}
	got, err := w.Call(t.Context(), p, c, r, req)
	if err != nil {
		t.Fatalf("%s as %s: %v", p, c.Name, err)
	}
	return got
}

func try(t *testing.T, w *e2etest.World, r e2etest.RPC, row rule, c who, p e2etest.Protocol) {
	t.Helper()
	got, want := callRow(t, w, r, row, c.Caller, p), expected(row, c, p)
	if got.Code != want {
		t.Errorf("%s as %s: %v; want %s", p, c.Name, got, want)
		return
	}
	if p == e2etest.REST && got.HTTP != statuses[want] {
		t.Errorf("%s as %s: status %d; want %d", p, c.Name, got.HTTP, statuses[want])
	}
	reason := map[codes.Code]string{codes.Unauthenticated: "invalidCredentials", codes.PermissionDenied: map[string]string{"partner": "scopeMissing", "property": "roleMissing", "person": "personRequired", "session": "mainGuestOnly"}[row.area]}[want]
	if reason == "roleMissing" && c.person != "" {
		reason = "rightMissing"
	}
	if reason != "" && got.Reason != reason {
		t.Errorf("%s as %s: reason %q; want %q", p, c.Name, got.Reason, reason)
	}
	if want == codes.Unauthenticated && !strings.HasPrefix(got.Message, "valid credential required") {
		t.Errorf("%s as %s: message %q", p, c.Name, got.Message)
	}
	if want != ok && want != codes.Unimplemented && (got.RequestID == "" || got.RequestID != got.Header.Get("X-Request-Id")) {
		t.Errorf("%s as %s: request id %q in the answer, %q in the header", p, c.Name, got.RequestID, got.Header.Get("X-Request-Id"))
	}
}
