package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/fault/envelope"
	"latchkey.dev/internal/sandbox"
)

// invite invites a person as an owner, and accepts the invitation.
func invite(t *testing.T, w *e2etest.World, owner signedIn, email, role string) signedIn {
	t.Helper()
	got := call(t, w, e2etest.REST, owner.at(w.PropertyID), "PersonService/InvitePerson", &propertyv1.InvitePersonRequest{Email: email, Role: role})
	invited, ok := got.Reply.(*propertyv1.InvitePersonResponse)
	if !ok {
		t.Fatalf("invite: %v", got)
	}
	secret := invited.GetLink().GetSecret()
	if !strings.HasSuffix(invited.GetLink().GetUrl(), "/app/invite/"+secret) || invited.GetMailed() {
		t.Errorf("invited: %v", invited)
	}
	seen, ok := call(t, w, e2etest.REST, e2etest.Anonymous(), sessionService+"GetInvitation", &propertyv1.GetInvitationRequest{Secret: secret}).Reply.(*propertyv1.GetInvitationResponse)
	if !ok || seen.GetData().GetEmail() != email || seen.GetData().GetRole() != role {
		t.Errorf("the holder of the link sees %v", seen)
	}
	accept := &propertyv1.AcceptInvitationRequest{Secret: secret, Name: "Bob", Password: password, Device: "test"}
	made, ok := call(t, w, e2etest.Connect, e2etest.Anonymous(), sessionService+"AcceptInvitation", accept).Reply.(*propertyv1.AcceptInvitationResponse)
	if !ok || made.GetPropertyId() != w.PropertyID {
		t.Fatalf("accept: %v", made)
	}
	if got := call(t, w, e2etest.GRPC, e2etest.Anonymous(), sessionService+"AcceptInvitation", accept); got.Reason != "invitationNotFound" {
		t.Errorf("accept again: %v", got)
	}
	return signedIn{email, made.GetData().GetToken(), made.GetData().GetSessionId()}
}

func personID(t *testing.T, w *e2etest.World, p signedIn) string {
	t.Helper()
	s, ok := call(t, w, e2etest.GRPC, p.at(""), sessionService+"GetSession", &propertyv1.GetSessionRequest{}).Reply.(*propertyv1.GetSessionResponse)
	if !ok {
		t.Fatal("no session")
	}
	return s.GetData().GetPerson().GetId()
}

// A removed person loses the property at once, and an open stream within five seconds. The other property of the person stays.
func TestRemovedPersonLosesAccess(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Server.Partner.Allow = []string{"127.0.0.1"} })
	other := w.OpenProperty()
	ada := signUp(t, w, "ada@example.com")
	bob := invite(t, w, ada, "bob@example.com", "frontDesk")
	carl := signUp(t, other, "carl@example.com")
	link := call(t, w, e2etest.GRPC, carl.at(other.PropertyID), "PersonService/InvitePerson", &propertyv1.InvitePersonRequest{Email: "bob@example.com", Role: "manager"}).Reply.(*propertyv1.InvitePersonResponse)
	if got := call(t, w, e2etest.GRPC, e2etest.Anonymous(), sessionService+"AcceptInvitation", &propertyv1.AcceptInvitationRequest{Secret: link.GetLink().GetSecret(), Password: password}); !got.OK() {
		t.Fatalf("join a second property: %v", got)
	}
	as := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+bob.token, "latchkey-property", w.PropertyID)
	stream, err := propertyv1.NewMessageServiceClient(w.Public).WatchConversations(as, &propertyv1.WatchConversationsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				ended <- err
				return
			}
		}
	}()
	remove := &propertyv1.RemovePersonRequest{Id: personID(t, w, bob)}
	if got := call(t, w, e2etest.REST, bob.at(w.PropertyID), "PersonService/RemovePerson", remove); got.Reason != "rightMissing" {
		t.Errorf("the front desk removes a person: %v", got)
	}
	began := time.Now()
	if got := call(t, w, e2etest.REST, ada.at(w.PropertyID), "PersonService/RemovePerson", remove); !got.OK() {
		t.Fatalf("remove: %v", got)
	}
	for _, p := range e2etest.Protocols {
		if got := call(t, w, p, bob.at(w.PropertyID), "SpaceService/ListSpaces", &propertyv1.ListSpacesRequest{}); got.Reason != "propertyNotFound" {
			t.Errorf("%s after the removal: %v", p, got)
		}
	}
	if got := call(t, w, e2etest.GRPC, bob.at(other.PropertyID), "SpaceService/ListSpaces", &propertyv1.ListSpacesRequest{}); !got.OK() {
		t.Errorf("the other property: %v", got)
	}
	select {
	case err := <-ended:
		if status.Code(err) != codes.NotFound || !fault.Has(envelope.FaultOf(err), fault.PropertyNotFound) {
			t.Errorf("the stream ends with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the stream of a removed person goes on")
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("the stream of a removed person goes on for %v, want at most 5 seconds", took)
	}
}

// The log says who joined by which link, who signed in and who failed to.
func TestAuditOfAccounts(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	ada := signUp(t, w, "ada@example.com")
	bob := invite(t, w, ada, "bob@example.com", "manager")
	who := "staff:" + personID(t, w, bob)
	signIn := func(password string) {
		call(t, w, e2etest.REST, e2etest.Anonymous(), sessionService+"SignIn", &propertyv1.SignInRequest{Email: "bob@example.com", Password: password})
	}
	signIn(password)
	signIn("not the password")
	call(t, w, e2etest.REST, bob.at(""), sessionService+"BeginTOTP", &propertyv1.BeginTOTPRequest{})
	call(t, w, e2etest.REST, bob.at(""), sessionService+"ConfirmTOTP", &propertyv1.ConfirmTOTPRequest{Code: "000000"})
	bob.token, _, _ = addApp(t, w, bob, time.Now)
	call(t, w, e2etest.GRPC, bob.at(""), sessionService+"ConfirmSecondFactor", &propertyv1.ConfirmSecondFactorRequest{Code: "aaaaa-aaaaa"})
	if got := call(t, w, e2etest.GRPC, bob.at(""), sessionService+"SignOutEverywhere", &propertyv1.SignOutEverywhereRequest{}); !got.OK() {
		t.Fatal(got)
	}
	want := map[string]bool{
		"operator:socket latchkey.admin.v1.OwnerService/CreateOwnerLink done":    false,
		who + " latchkey.property.v1.SessionService/AcceptInvitation done":       false,
		who + " latchkey.property.v1.SessionService/SignIn done":                 false,
		who + " latchkey.property.v1.SessionService/SignIn refused":              false,
		who + " latchkey.property.v1.SessionService/ConfirmTOTP refused":         false,
		who + " latchkey.property.v1.SessionService/ConfirmTOTP done":            false,
		who + " latchkey.property.v1.SessionService/ConfirmSecondFactor refused": false,
		who + " latchkey.property.v1.SessionService/SignOutEverywhere done":      false,
	}
	w.Await("the entries of an account", func(ctx context.Context) (bool, error) {
		list, err := propertyv1.NewAuditServiceClient(w.Public).ListEntries(w.Staff(ctx), &propertyv1.ListEntriesRequest{PageSize: 100})
		if err != nil {
			return false, err
		}
		for _, e := range list.GetData().GetList() {
			if key := e.GetActor() + " " + e.GetAction() + " " + e.GetOutcome(); !want[key] {
				if _, listed := want[key]; listed {
					want[key] = true
				}
			}
		}
		for _, found := range want {
			if !found {
				return false, nil
			}
		}
		return true, nil
	})
}

// A session does not survive as the same token what raises its worth, so a token that another person planted gains nothing.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	ada := signUp(t, w, "ada@example.com")
	planted := ada.at("").WithHeader("authorization", "Bearer lkd_"+strings.Repeat("a", 38))
	got, ok := call(t, w, e2etest.REST, planted, sessionService+"SignIn", &propertyv1.SignInRequest{Email: "ada@example.com", Password: password}).Reply.(*propertyv1.SignInResponse)
	if !ok || got.GetData().GetToken() == ada.token || strings.HasSuffix(got.GetData().GetToken(), strings.Repeat("a", 38)) {
		t.Errorf("a sign-in with a planted token: %v", ok)
	}
	if again := call(t, w, e2etest.REST, planted, sessionService+"GetSession", &propertyv1.GetSessionRequest{}); again.Code != codes.Unauthenticated {
		t.Errorf("the planted token after the sign-in: %v", again)
	}
}
