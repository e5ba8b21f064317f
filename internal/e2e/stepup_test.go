package e2e

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// TestStepUpOfEveryCall makes every call of the property API as people with a proof of 15 minutes ago. Calls with step-up are refused, and
// no others. After the second factor is confirmed again, the same calls are answered.
func TestStepUpOfEveryCall(t *testing.T) {
	t.Parallel()
	now := &e2etest.Offset{}
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Options.Clock = now })
	withApp, withoutApp := signUp(t, w, "ada@example.com"), signUp(t, w, "bob@example.com")
	var code func() string
	withApp.token, code, _ = addApp(t, w, withApp, now.Now)
	const confirm, again = "secondFactorRequired", "signInAgain"
	calls := 0
	for _, tt := range []struct {
		name                   string
		by                     func() signedIn
		self, people, property string // the reasons of the refusals, for calls about the own account, about people and others; empty: none
	}{
		{"a second factor of 15 minutes ago", func() signedIn { now.Set(15 * time.Minute); return withApp }, confirm, confirm, confirm},
		{"a sign-in of 15 minutes ago, no second factor", func() signedIn { return withoutApp }, again, again, again},
		{"a second factor of now", func() signedIn {
			got := call(t, w, e2etest.GRPC, withApp.at(""), sessionService+"ConfirmSecondFactor", &propertyv1.ConfirmSecondFactorRequest{Code: code()})
			confirmed, ok := got.Reply.(*propertyv1.ConfirmSecondFactorResponse)
			if !ok {
				t.Fatalf("confirm the second factor: %v", got)
			}
			withApp.token = confirmed.GetData().GetToken()
			return withApp
		}, "", "", ""},
	} {
		caller := tt.by().at(w.PropertyID)
		for _, r := range e2etest.RPCs() {
			row := matrix[r.Name]
			if row.area != "property" && row.area != "person" || r.Streams() {
				continue
			}
			wantCode, want := row.wants, ""
			if strings.HasSuffix(row.right, stepUp) {
				calls++
				want = map[string]string{"property": tt.property, "person": tt.self}[row.area]
				if row.right == "managePeople"+stepUp {
					want = tt.people
				}
			}
			switch {
			case want != "":
				wantCode = codes.PermissionDenied
			case strings.HasSuffix(r.Name, "/CreateRecoveryCodes"):
				wantCode = ok // the row of the matrix is about a person without a second factor
			}
			got := callRow(t, w, r, row, caller, e2etest.GRPC)
			if got.Code != wantCode || want != "" && got.Reason != want {
				t.Errorf("%s, %s: %v; want %s %s", tt.name, r.Name, got, wantCode, want)
			}
		}
	}
	if calls == 0 {
		t.Error("no call needs step-up")
	}
}
