package staff

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

// invited is an API with one invitation of a new person, and with an identity provider at which no name is valid but Carla.
type invited struct {
	propertyv1.SessionServiceClient
	propertyv1.IdentityServiceClient
}

func (invited) GetInvitation(context.Context, *propertyv1.GetInvitationRequest, ...grpc.CallOption) (*propertyv1.GetInvitationResponse, error) {
	return &propertyv1.GetInvitationResponse{Data: &propertyv1.InvitationForPerson{PropertyName: "Hostel Miramar", Email: "carla@example.com", Role: "frontDesk"}}, nil
}

func (invited) GetIdentityProvider(context.Context, *propertyv1.GetIdentityProviderRequest, ...grpc.CallOption) (*propertyv1.GetIdentityProviderResponse, error) {
	return &propertyv1.GetIdentityProviderResponse{Data: &propertyv1.IdentityProvider{Issuer: "https://id.example", Label: "Hotel Office"}}, nil
}

func (invited) BeginIdentitySignIn(_ context.Context, r *propertyv1.BeginIdentitySignInRequest, _ ...grpc.CallOption) (*propertyv1.BeginIdentitySignInResponse, error) {
	if r.GetInvitation() != "s" || r.GetName() != "Carla" {
		return nil, fault.Fields(fault.Field{Path: "name", Reason: fault.Required})
	}
	return &propertyv1.BeginIdentitySignInResponse{Data: &propertyv1.IdentityCeremony{State: "state", Url: "https://id.example/sign-in"}}, nil
}

// A name that the API refuses shows the form again, and the person does not visit the identity provider.
func TestJoinAtTheProviderNeedsAName(t *testing.T) {
	for name, want := range map[string]struct {
		status int
		text   string
	}{
		"":      {http.StatusUnprocessableEntity, `id="f-name-wrong"`},
		"Carla": {http.StatusOK, `href="https://id.example/sign-in"`},
	} {
		w := serve(t, API{Sessions: invited{}, Identities: invited{}}, InvitationPath+"s", url.Values{"do": {"provider"}, "name": {name}, "key": {strings.Repeat("A", 26)}})
		if w.Code != want.status || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("the name %q: %d, want %d and %s: %s", name, w.Code, want.status, want.text, w.Body)
		}
	}
}

// The form of the first owner names all wrong fields at once, although the API checks those of the property last.
func TestFirstOwnerNamesAllWrongFields(t *testing.T) {
	f := &fakeAPI{refuses: fault.Fields(fault.Field{Path: "email", Reason: fault.WrongValue}, fault.Field{Path: "password", Reason: fault.TooShort})}
	form := url.Values{"propertyName": {"Hostel"}, "timeZone": {"Europe/Nowhere"}, "name": {"Ada"}, "email": {"ada"}, "password": {"short"}}
	marked := func(address string) (ids []string) {
		w := f.post(t, address, form)
		if w.Code != http.StatusUnprocessableEntity {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		for _, id := range []string{"f-propertyName", "f-timeZone", "f-name", "f-email", "f-password"} {
			if strings.Contains(w.Body.String(), `id="`+id+`-wrong"`) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	if got := strings.Join(marked("/app/first/s?new"), " "); got != "f-timeZone f-email f-password" {
		t.Errorf("a wrong time zone: %s", got)
	}
	form.Set("propertyName", "")
	form.Set("timeZone", "")
	if got := strings.Join(marked("/app/first/s?new"), " "); got != "f-propertyName f-timeZone f-email f-password" {
		t.Errorf("no property: %s", got)
	}
	if got := strings.Join(marked("/app/first/s"), " "); got != "f-email f-password" {
		t.Errorf("a link to a property: %s", got)
	}
}
