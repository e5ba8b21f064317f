package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

const (
	sessionService = "latchkey.property.v1.SessionService/"
	password       = "correct horse battery"
)

// signedIn is a person with a session.
type signedIn struct {
	email, token, sessionID string
}

// at returns the person as a caller that works for a property; "": for none.
func (p signedIn) at(propertyID string) e2etest.Caller {
	c := e2etest.Bearer("session of "+p.email, p.token)
	if propertyID == "" {
		return c
	}
	return c.WithHeader("latchkey-property", propertyID)
}

// signUp makes a person the owner of a world's property.
func signUp(t testing.TB, w *e2etest.World, email string) signedIn {
	t.Helper()
	link, err := adminv1.NewOwnerServiceClient(w.Socket).CreateOwnerLink(t.Context(), &adminv1.CreateOwnerLinkRequest{PropertyId: w.PropertyID})
	if err != nil {
		t.Fatal(err)
	}
	made, err := propertyv1.NewSessionServiceClient(w.Public).CreateFirstOwner(t.Context(), &propertyv1.CreateFirstOwnerRequest{
		Secret: link.GetData().GetSecret(), Email: email, Name: "Ada", Password: password, Device: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	if made.GetPropertyId() != w.PropertyID {
		t.Fatalf("owner of %s, want %s", made.GetPropertyId(), w.PropertyID)
	}
	return signedIn{email, made.GetData().GetToken(), made.GetData().GetSessionId()}
}

// addApp adds an authenticator app to a person. It returns the person's new token, a function that returns the app's present code, and the recovery
// codes.
func addApp(t *testing.T, w *e2etest.World, p signedIn, now func() time.Time) (token string, code func() string, recovery []string) {
	t.Helper()
	begun := call(t, w, e2etest.REST, p.at(""), sessionService+"BeginTOTP", &propertyv1.BeginTOTPRequest{}).Reply.(*propertyv1.BeginTOTPResponse)
	code = func() string {
		c, err := totp.GenerateCode(begun.GetData().GetSecret(), now())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	confirmed, ok := call(t, w, e2etest.REST, p.at(""), sessionService+"ConfirmTOTP", &propertyv1.ConfirmTOTPRequest{Code: code()}).Reply.(*propertyv1.ConfirmTOTPResponse)
	if !ok {
		t.Fatal("the app was not confirmed")
	}
	return confirmed.GetData().GetToken(), code, confirmed.GetRecoveryCodes()
}

func mustSignOut(t *testing.T, w *e2etest.World, p signedIn) {
	t.Helper()
	if got := call(t, w, e2etest.GRPC, p.at(""), sessionService+"EndSession", &propertyv1.EndSessionRequest{Id: p.sessionID}); !got.OK() {
		t.Fatalf("sign out: %v", got)
	}
}

// call calls an RPC by its name.
func call(t *testing.T, w *e2etest.World, p e2etest.Protocol, c e2etest.Caller, name string, req proto.Message) e2etest.Outcome {
	t.Helper()
	if !strings.HasPrefix(name, "latchkey.") {
		name = "latchkey.property.v1." + name
	}
	got, err := w.Call(t.Context(), p, c, e2etest.FindRPC(name), req)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return got
}

// TestFirstOwner follows the first owner of an installation from the link to calls with a session, over every protocol.
func TestFirstOwner(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	link, err := adminv1.NewOwnerServiceClient(w.Socket).CreateOwnerLink(t.Context(), &adminv1.CreateOwnerLinkRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if url := link.GetData().GetUrl(); !strings.HasSuffix(url, "/app/first/"+link.GetData().GetSecret()+"?new") || !strings.HasPrefix(url, "http") {
		t.Errorf("the link is %q", url)
	}
	create := &propertyv1.CreateFirstOwnerRequest{
		Secret: link.GetData().GetSecret(), Email: "Ada@Example.com", Name: "Ada Lovelace", Password: password, PropertyName: "Hostel Miramar", TimeZone: "Europe/Nowhere",
	}
	if got := call(t, w, e2etest.REST, e2etest.Anonymous(), sessionService+"CreateFirstOwner", create); got.Fields["timeZone"] != "wrongValue" {
		t.Errorf("a wrong time zone: %v", got)
	}
	create.TimeZone = "Europe/Lisbon"
	got := call(t, w, e2etest.REST, e2etest.Anonymous(), sessionService+"CreateFirstOwner", create)
	made, ok := got.Reply.(*propertyv1.CreateFirstOwnerResponse)
	if !ok {
		t.Fatalf("create: %v", got)
	}
	if got := call(t, w, e2etest.REST, e2etest.Anonymous(), sessionService+"CreateFirstOwner", create); got.Reason != "invitationNotFound" {
		t.Errorf("the link works twice: %v", got)
	}
	signIn := &propertyv1.SignInRequest{Email: " ada@example.COM", Password: password, Device: "laptop"}
	for _, p := range e2etest.Protocols {
		got := call(t, w, p, e2etest.Anonymous(), sessionService+"SignIn", signIn)
		in, ok := got.Reply.(*propertyv1.SignInResponse)
		if !ok {
			t.Fatalf("%s: %v", p, got)
		}
		if in.GetData().GetToken() == made.GetData().GetToken() {
			t.Error("a sign-in repeats the token of another session")
		}
		ada := signedIn{"ada", in.GetData().GetToken(), in.GetData().GetSessionId()}
		session := call(t, w, p, ada.at(""), sessionService+"GetSession", &propertyv1.GetSessionRequest{}).Reply.(*propertyv1.GetSessionResponse).GetData()
		if session.GetPerson().GetName() != "Ada Lovelace" || session.GetPerson().GetEmail() != "Ada@Example.com" || session.GetSession().GetDevice() != "laptop" ||
			len(session.GetProperties()) != 1 || session.GetProperties()[0].GetName() != "Hostel Miramar" || session.GetProperties()[0].GetRole() != "owner" {
			t.Errorf("%s: %v", p, session)
		}
		own := made.GetPropertyId()
		if got := call(t, w, p, ada.at(own), "PropertyService/GetProperty", &propertyv1.GetPropertyRequest{}); !got.OK() ||
			got.Reply.(*propertyv1.GetPropertyResponse).GetData().GetId() != own {
			t.Errorf("%s, own property: %v", p, got)
		}
		if got := call(t, w, p, ada.at(w.PropertyID), "PropertyService/GetProperty", &propertyv1.GetPropertyRequest{}); got.Code != codes.NotFound || got.Reason != "propertyNotFound" {
			t.Errorf("%s, another's property: %v", p, got)
		}
		if got := call(t, w, p, ada.at(""), "PropertyService/GetProperty", &propertyv1.GetPropertyRequest{}); got.Reason != "propertyRequired" {
			t.Errorf("%s, no property: %v", p, got)
		}
		if got := call(t, w, p, ada.at(own), "latchkey.admin.v1.PropertyService/ListProperties", &adminv1.ListPropertiesRequest{}); got.Code != codes.Unauthenticated {
			t.Errorf("%s, another area: %v", p, got)
		}
		mustSignOut(t, w, ada)
		for _, q := range e2etest.Protocols {
			if got := call(t, w, q, ada.at(own), "PropertyService/GetProperty", &propertyv1.GetPropertyRequest{}); got.Code != codes.Unauthenticated {
				t.Errorf("%s after the sign-out over %s: %v", q, p, got)
			}
		}
	}
	wrong := call(t, w, e2etest.REST, e2etest.Anonymous(), sessionService+"SignIn", &propertyv1.SignInRequest{Email: "ada@example.com", Password: "not her password"})
	unknown := call(t, w, e2etest.REST, e2etest.Anonymous(), sessionService+"SignIn", &propertyv1.SignInRequest{Email: "bob@example.com", Password: "not her password"})
	if wrong.Code != codes.Unauthenticated || wrong.Message != unknown.Message || wrong.Reason != unknown.Reason || wrong.HTTP != unknown.HTTP {
		t.Errorf("a wrong password: %v; an unknown address: %v", wrong, unknown)
	}
}

// TestChangedPasswordEndsEverySession changes a password with two sessions, one of which may be a copied one.
func TestChangedPasswordEndsEverySession(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	ada := signUp(t, w, "ada@example.com")
	const other = "staple battery horse"
	change := func(from, to string) e2etest.Outcome {
		return call(t, w, e2etest.GRPC, ada.at(""), sessionService+"ChangePassword", &propertyv1.ChangePasswordRequest{Password: from, NewPassword: to})
	}
	if got := change(other, other); got.Fields["password"] != "wrongValue" {
		t.Errorf("a wrong present password: %v", got)
	}
	got := change(password, other)
	next, ok := got.Reply.(*propertyv1.ChangePasswordResponse)
	if !ok || next.GetData().GetToken() == ada.token {
		t.Fatalf("change: %v", got)
	}
	if got := call(t, w, e2etest.GRPC, ada.at(""), sessionService+"GetSession", &propertyv1.GetSessionRequest{}); got.Code != codes.Unauthenticated {
		t.Errorf("the former token: %v", got)
	}
	ada.token = next.GetData().GetToken()
	if got := call(t, w, e2etest.GRPC, ada.at(""), sessionService+"ListSessions", &propertyv1.ListSessionsRequest{}); len(got.Reply.(*propertyv1.ListSessionsResponse).GetData().GetList()) != 1 {
		t.Errorf("sessions: %v", got.Reply)
	}
	for tried, want := range map[string]codes.Code{password: codes.Unauthenticated, other: codes.OK} {
		if got := call(t, w, e2etest.GRPC, e2etest.Anonymous(), sessionService+"SignIn", &propertyv1.SignInRequest{Email: "ada@example.com", Password: tried}); got.Code != want {
			t.Errorf("sign in: %v, want %v", got, want)
		}
	}
}

// TestStepUp opens a door with a second factor that was confirmed long ago, and again.
func TestStepUp(t *testing.T) {
	t.Parallel()
	now := &e2etest.Offset{}
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Options.Clock = now })
	ada := signUp(t, w, "ada@example.com")
	open := func() e2etest.Outcome {
		return call(t, w, e2etest.REST, ada.at(w.PropertyID), "LockService/UnlockLock", &propertyv1.UnlockLockRequest{Id: "lck_0"})
	}
	if got := open(); got.Reason != "lockNotFound" {
		t.Errorf("without a second factor: %v", got)
	}
	token, code, recovery := addApp(t, w, ada, now.Now)
	if len(recovery) != 10 {
		t.Fatalf("%d recovery codes", len(recovery))
	}
	ada.token = token
	if got := open(); got.Reason != "lockNotFound" {
		t.Errorf("right after the code: %v", got)
	}
	now.Set(15 * time.Minute)
	if got := open(); got.Code != codes.PermissionDenied || got.Reason != "secondFactorRequired" {
		t.Errorf("after 15 minutes: %v", got)
	}
	if got := call(t, w, e2etest.GRPC, ada.at(""), sessionService+"DisableTOTP", &propertyv1.DisableTOTPRequest{}); got.Reason != "secondFactorRequired" {
		t.Errorf("disable the app after 15 minutes: %v", got)
	}
	if got := call(t, w, e2etest.REST, ada.at(w.PropertyID), "MailService/GetMail", &propertyv1.GetMailRequest{Id: "mai_0"}); got.Reason != "secondFactorRequired" {
		t.Errorf("read a mail after 15 minutes: %v", got)
	}
	again, ok := call(t, w, e2etest.GRPC, ada.at(""), sessionService+"ConfirmSecondFactor", &propertyv1.ConfirmSecondFactorRequest{Code: code()}).Reply.(*propertyv1.ConfirmSecondFactorResponse)
	if !ok {
		t.Fatal("the second factor was not confirmed again")
	}
	if got := open(); got.Code != codes.Unauthenticated {
		t.Errorf("the former token: %v", got)
	}
	ada.token = again.GetData().GetToken()
	if got := open(); got.Reason != "lockNotFound" {
		t.Errorf("after the step-up: %v", got)
	}
	waiting := call(t, w, e2etest.Connect, e2etest.Anonymous(), sessionService+"SignIn", &propertyv1.SignInRequest{Email: "ada@example.com", Password: password}).Reply.(*propertyv1.SignInResponse)
	if waiting.GetData().GetToken() != "" {
		t.Error("the password alone gives a session")
	}
	done := call(t, w, e2etest.Connect, e2etest.Anonymous(), sessionService+"FinishSignIn", &propertyv1.FinishSignInRequest{Challenge: waiting.GetData().GetChallenge(), Code: recovery[3]})
	if in, ok := done.Reply.(*propertyv1.FinishSignInResponse); !ok || in.GetData().GetToken() == "" {
		t.Errorf("a recovery code: %v", done)
	}
}

// TestSignInAgain changes the ways to sign in of a person without a second factor, and the people of the property, 15 minutes after the
// sign-in, and after the next sign-in.
func TestSignInAgain(t *testing.T) {
	t.Parallel()
	now := &e2etest.Offset{}
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Options.Clock, c.Server.PublicURL = now, "https://checkin.example.com" })
	ada := signUp(t, w, "ada@example.com")
	now.Set(15 * time.Minute)
	begin := map[string]proto.Message{
		sessionService + "BeginTOTP":               &propertyv1.BeginTOTPRequest{},
		"PasskeyService/BeginPasskeyRegistration":  &propertyv1.BeginPasskeyRegistrationRequest{},
		"IdentityService/BeginIdentityLink":        &propertyv1.BeginIdentityLinkRequest{},
		"IdentityService/DeleteIdentityLink":       &propertyv1.DeleteIdentityLinkRequest{},
		"PasskeyService/FinishPasskeyRegistration": &propertyv1.FinishPasskeyRegistrationRequest{State: "s", Credential: "{}", Name: "phone"},
	}
	for rpc, request := range begin {
		for _, by := range e2etest.Protocols {
			if got := call(t, w, by, ada.at(""), rpc, request); got.Code != codes.PermissionDenied || got.Reason != "signInAgain" {
				t.Errorf("%s, 15 minutes after the sign-in: %v", rpc, got)
			}
		}
	}
	people := map[string]proto.Message{
		"PersonService/InvitePerson":   &propertyv1.InvitePersonRequest{Email: "grace@example.com", Role: "owner"},
		"PersonService/ReinvitePerson": &propertyv1.ReinvitePersonRequest{Id: "inv_0"},
		"PersonService/UpdatePerson":   &propertyv1.UpdatePersonRequest{Id: "per_0", Role: new("owner")},
		"PersonService/RemovePerson":   &propertyv1.RemovePersonRequest{Id: "per_0"},
	}
	for rpc, request := range people {
		if got := call(t, w, e2etest.REST, ada.at(w.PropertyID), rpc, request); got.Code != codes.PermissionDenied || got.Reason != "signInAgain" {
			t.Errorf("%s, 15 minutes after the sign-in: %v", rpc, got)
		}
	}
	setting := func(on bool) e2etest.Outcome {
		return call(t, w, e2etest.REST, ada.at(w.PropertyID), "PropertyService/UpdateProperty", &propertyv1.UpdatePropertyRequest{Settings: &propertyv1.PropertySettings{AccessStepUp: &on}})
	}
	open := func() e2etest.Outcome {
		return call(t, w, e2etest.REST, ada.at(w.PropertyID), "LockService/UnlockLock", &propertyv1.UnlockLockRequest{Id: "lck_0"})
	}
	if got := open(); got.Reason != "signInAgain" {
		t.Errorf("open a door, 15 minutes after the sign-in: %v", got)
	}
	if got := setting(false); got.Reason != "signInAgain" {
		t.Errorf("switch step-up off, 15 minutes after the sign-in: %v", got)
	}
	if got := setting(true); got.Code != codes.OK {
		t.Errorf("keep step-up on: %v", got)
	}
	in := call(t, w, e2etest.REST, e2etest.Anonymous(), sessionService+"SignIn", &propertyv1.SignInRequest{Email: "ada@example.com", Password: password}).Reply.(*propertyv1.SignInResponse)
	ada.token = in.GetData().GetToken()
	if got := open(); got.Reason != "lockNotFound" {
		t.Errorf("open a door after the sign-in: %v", got)
	}
	if got := setting(false); got.Code != codes.OK {
		t.Errorf("switch step-up off after the sign-in: %v", got)
	}
	for rpc, request := range begin {
		if got := call(t, w, e2etest.GRPC, ada.at(""), rpc, request); got.Reason == "signInAgain" || got.Code == codes.Unauthenticated {
			t.Errorf("%s after the sign-in: %v", rpc, got)
		}
	}
	for rpc, request := range people {
		if got := call(t, w, e2etest.REST, ada.at(w.PropertyID), rpc, request); got.Reason == "signInAgain" || got.Code == codes.Unauthenticated {
			t.Errorf("%s after the sign-in: %v", rpc, got)
		}
	}
	now.Set(40 * time.Minute)
	if got := open(); got.Reason != "lockNotFound" {
		t.Errorf("open a door with the step-up off: %v", got)
	}
}
