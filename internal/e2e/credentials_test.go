package e2e

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// who is one kind of credential and what it is worth.
type who struct {
	e2etest.Caller
	area   string   // the one it is for; empty: none
	scopes []string // of a partner
	role   int      // of a token of staff
	person string   // the role of a signed-in person
}

// everybody makes one credential of every kind. The clock is moved past those that end.
func everybody(t *testing.T, a *e2etest.World, now *e2etest.Offset) []who {
	t.Helper()
	b := a.OpenProperty()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tokens, apps := adminv1.NewTokenServiceClient(a.Socket), adminv1.NewAppServiceClient(a.Socket)
	staff := func(role string, minutes int32) (id, token string) {
		answer, err := tokens.CreateStaffToken(ctx, &adminv1.CreateStaffTokenRequest{PropertyId: a.PropertyID, Role: role, TtlMinutes: minutes})
		must(err)
		return answer.GetData().GetId(), answer.GetToken()
	}
	operator := func(minutes int32) (id, token string) {
		answer, err := tokens.CreateOperatorToken(ctx, &adminv1.CreateOperatorTokenRequest{Name: "matrix", TtlMinutes: minutes})
		must(err)
		return answer.GetData().GetId(), answer.GetToken()
	}
	second, err := apps.CreateApp(ctx, &adminv1.CreateAppRequest{Name: "Revenue tool"})
	must(err)
	integrations := propertyv1.NewIntegrationServiceClient(a.Public)
	narrow, err := integrations.ConnectApp(a.Staff(ctx), &propertyv1.ConnectAppRequest{AppId: second.GetData().GetId(), Scopes: []string{"webhooks:write"}})
	must(err)
	third, err := apps.CreateApp(ctx, &adminv1.CreateAppRequest{Name: "Channel tool"})
	must(err)
	gone, err := integrations.ConnectApp(a.Staff(ctx), &propertyv1.ConnectAppRequest{AppId: third.GetData().GetId(), Scopes: e2etest.Scopes})
	must(err)
	_, err = integrations.RevokeAccessToken(a.Staff(ctx), &propertyv1.RevokeAccessTokenRequest{Id: gone.GetData().GetId()})
	must(err)
	ending, err := integrations.RotateAccessToken(a.Staff(ctx), &propertyv1.RotateAccessTokenRequest{Id: gone.GetData().GetId()})
	must(err)
	_, err = integrations.RotateAccessToken(a.Staff(ctx), &propertyv1.RotateAccessTokenRequest{Id: gone.GetData().GetId(), OverlapMinutes: 1})
	must(err)
	_, viewer := staff("viewer", 0)
	_, desk := staff("operator", 0)
	_, owner := staff("owner", 0)
	revokedID, revokedStaff := staff("owner", 0)
	_, err = tokens.RevokeStaffToken(ctx, &adminv1.RevokeStaffTokenRequest{PropertyId: a.PropertyID, Id: revokedID})
	must(err)
	_, endedStaff := staff("owner", 1)
	_, lasting := operator(0)
	revokedID, revokedOperator := operator(0)
	_, err = tokens.RevokeOperatorToken(ctx, &adminv1.RevokeOperatorTokenRequest{Id: revokedID})
	must(err)
	_, endedOperator := operator(1)

	signIn := func(token string) string {
		answer, err := adminv1.NewOperatorSessionServiceClient(a.Public).SignInOperator(ctx, &adminv1.SignInOperatorRequest{Token: token})
		must(err)
		return answer.GetToken()
	}
	operatorSession := signIn(lasting)
	endedID, endedToken := operator(0)
	sessionOfRevoked := signIn(endedToken)
	_, err = tokens.RevokeOperatorToken(ctx, &adminv1.RevokeOperatorTokenRequest{Id: endedID})
	must(err)

	tablet, tabletOfB := e2etest.EnrolTablet(t, a, "Lobby"), e2etest.EnrolTablet(t, b, "Lobby")
	e2etest.PushReservation(t, a, "MATRIX", map[string]any{"state": "confirmed"})
	e2etest.PushReservation(t, b, "MATRIX", map[string]any{"state": "confirmed"})
	endedSession := e2etest.EnrolTablet(t, a, "Attic").GuestSession(t, "N-MATRIX", "Lovelace")
	session, sessionOfB := tablet.GuestSession(t, "N-MATRIX", "Lovelace"), tabletOfB.GuestSession(t, "N-MATRIX", "Lovelace")
	mustEnd(t, a, endedSession)
	former := e2etest.EnrolTablet(t, a, "Cellar")
	_, err = propertyv1.NewKioskServiceClient(a.Public).ResetKiosk(a.Staff(ctx), &propertyv1.ResetKioskRequest{Id: former.ID})
	must(err)

	person, left := signUp(t, a, "ada@example.com"), signUp(t, a, "former@example.com")
	mustSignOut(t, a, left)

	out := []who{
		{Caller: e2etest.Anonymous()},
		{Caller: person.at(a.PropertyID), area: "property", person: "owner"},
		{Caller: left.at(a.PropertyID)},
		{Caller: named(a.Partner(), "app of A"), area: "partner", scopes: e2etest.Scopes},
		{Caller: e2etest.Bearer("bearer of A", a.AccessToken), area: "partner", scopes: e2etest.Scopes},
		{Caller: named(b.Partner(), "app of B"), area: "partner", scopes: e2etest.Scopes},
		{Caller: e2etest.Bearer("narrow app of A", narrow.GetAccessToken()), area: "partner", scopes: []string{"webhooks:write"}},
		{Caller: named(a.Scripts(), "api-key of A"), area: "partner", scopes: []string{"reservations:read", "pins:read", "guests:read"}},
		{Caller: e2etest.Bearer("viewer of A", viewer), area: "property", role: 1},
		{Caller: e2etest.Bearer("operator of A", desk), area: "property", role: 2},
		{Caller: e2etest.Bearer("owner of A", owner), area: "property", role: 3},
		{Caller: e2etest.Bearer("owner of B", b.StaffToken), area: "property", role: 3},
		{Caller: e2etest.Bearer("operator token", lasting), area: "admin"},
		{Caller: e2etest.Operator(), area: "admin"},
		{Caller: e2etest.Bearer("session of an operator", operatorSession), area: "admin"},
		{Caller: e2etest.Bearer("session of a revoked operator token", sessionOfRevoked)},
		{Caller: e2etest.Bearer("guest of A", session), area: "session"},
		{Caller: e2etest.Bearer("guest of B", sessionOfB), area: "session"},
		{Caller: e2etest.Bearer("tablet of A", tablet.Token), area: "kiosk"},
		{Caller: e2etest.Bearer("tablet of B", tabletOfB.Token), area: "kiosk"},
		{Caller: socket(e2etest.Bearer("owner over the socket", owner)), area: "property", role: 3},
		{Caller: socket(a.Partner()), area: "partner", scopes: e2etest.Scopes},
		{Caller: named(a.Partner().WithHeader("client-token", second.GetClientToken()), "token of A with another app")},
		{Caller: named(a.Partner().WithHeader("access-token", ""), "client token alone")},
		{Caller: named(e2etest.Bearer("", a.ClientToken), "client token as bearer")},
		{Caller: named(a.Partner().WithHeader("api-key", b.APIKey), "app of A with the api-key of B")},
		{Caller: named(a.Partner().WithHeader("authorization", "Bearer "+b.AccessToken), "two access tokens")},
		{Caller: named(e2etest.Anonymous().WithHeader("authorization", "Basic "+owner), "another scheme")},
		{Caller: named(e2etest.Anonymous().WithHeader("grpc-metadata-authorization", "Bearer "+owner), "a header that the gateway would pass")},
		{Caller: named(e2etest.Anonymous().WithHeader("api-key", "lkk_"+strings.Repeat("0", 32)), "garbage as api-key")},
		{Caller: named(a.Partner().WithHeader("access-token", a.AccessToken[:len(a.AccessToken)-1]+"0"), "mistyped access token")},
		{Caller: e2etest.Bearer("garbage", strings.Repeat("~", 4000))},
	}
	if spoilt := out[len(out)-2].Headers["access-token"]; spoilt == a.AccessToken {
		out[len(out)-2].Headers["access-token"] = a.AccessToken[:len(a.AccessToken)-1] + "1"
	}
	for name, token := range map[string]string{
		"revoked access token": gone.GetAccessToken(), "revoked staff": revokedStaff, "revoked operator": revokedOperator,
		"ended session": endedSession, "token of a reset kiosk": former.Token,
		"expired access token": ending.GetAccessToken(), "expired staff": endedStaff, "expired operator": endedOperator,
	} {
		if strings.HasPrefix(name, "expired") {
			mustServe(t, a, name, token)
		}
		out = append(out, who{Caller: e2etest.Bearer(name, token)})
	}
	for _, role := range []string{"manager", "frontDesk", "housekeeping"} {
		out = append(out, who{Caller: invite(t, a, person, role+"@example.com", role).at(a.PropertyID), area: "property", person: role})
	}
	now.Set(2 * time.Minute)
	return out
}

// mustEnd ends a guest's session by itself.
func mustEnd(t *testing.T, w *e2etest.World, token string) {
	t.Helper()
	r := e2etest.FindRPC("latchkey.guest.v1.StayService/EndSession")
	if got, err := w.Call(t.Context(), e2etest.GRPC, e2etest.Bearer("guest", token), r, r.Request()); err != nil || !got.OK() {
		t.Fatalf("a guest did not end a session: %v, %v", got, err)
	}
}

// mustServe sees to it that a token that will expire was worth something before.
func mustServe(t *testing.T, w *e2etest.World, name, token string) {
	t.Helper()
	for _, rpc := range []string{"latchkey.partner.v1.SpaceService/ListSpaces", "latchkey.property.v1.SpaceService/ListSpaces", "latchkey.admin.v1.AppService/ListApps"} {
		r := e2etest.FindRPC(rpc)
		if got, err := w.Call(context.Background(), e2etest.GRPC, e2etest.Bearer(name, token), r, r.Request()); err == nil && got.OK() {
			return
		}
	}
	t.Fatalf("%s was worth nothing before it expired", name)
}

func named(c e2etest.Caller, name string) e2etest.Caller { c.Name = name; return c }

func socket(c e2etest.Caller) e2etest.Caller {
	c.Headers, c.Socket, c.Name = maps.Clone(c.Headers), true, c.Name+" over the socket"
	return c
}
