package staff

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// sessions answers each call of a session with a fault.
type sessions struct {
	propertyv1.SessionServiceClient
	fault *fault.Fault // nil: the call works
	ended string
}

func (s *sessions) GetSession(context.Context, *propertyv1.GetSessionRequest, ...grpc.CallOption) (*propertyv1.GetSessionResponse, error) {
	if s.fault != nil {
		return nil, s.fault
	}
	return &propertyv1.GetSessionResponse{Data: &propertyv1.CurrentSession{Session: &propertyv1.Session{Id: "ses_1"}}}, nil
}

func (s *sessions) EndSession(_ context.Context, r *propertyv1.EndSessionRequest, _ ...grpc.CallOption) (*propertyv1.EndSessionResponse, error) {
	s.ended = r.GetId()
	return &propertyv1.EndSessionResponse{}, nil
}

// A sign-out that fails does not look like one that worked: the session goes on, and the page says so.
func TestSignOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  *fault.Fault
		status int
		ended  string
		drops  bool
	}{
		{name: "works", status: http.StatusSeeOther, ended: "ses_1", drops: true},
		{name: "the session has ended before", fault: fault.New(fault.Unauthenticated, fault.InvalidCredentials, "ended"), status: http.StatusSeeOther, drops: true},
		{name: "the service is away", fault: fault.New(fault.Unavailable, "", "away"), status: http.StatusServiceUnavailable},
	} {
		api := &sessions{fault: c.fault}
		k, err := kit.New(kit.Options{
			Logger: slog.New(slog.DiscardHandler), Secure: func(*http.Request) bool { return false }, Now: func() time.Time { return noon },
			As: func(ctx context.Context, _ *http.Request, _ kit.Credential) context.Context { return ctx },
			Fault: func(err error) *fault.Fault {
				var f *fault.Fault
				errors.As(err, &f)
				return f
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		pages, err := New(k, API{Sessions: api})
		if err != nil {
			t.Fatal(err)
		}
		r, w := httptest.NewRequest(http.MethodPost, "/app/logout", nil), httptest.NewRecorder()
		r.AddCookie(&http.Cookie{Name: sessionCookie, Value: "token"})
		pages.ServeHTTP(w, r)
		drops := false
		for _, cookie := range w.Result().Cookies() {
			drops = drops || cookie.Name == sessionCookie && cookie.MaxAge < 0
		}
		if w.Code != c.status || api.ended != c.ended || drops != c.drops {
			t.Errorf("%s: %d, ended %q, drops the cookie %v", c.name, w.Code, api.ended, drops)
		}
	}
}

// noProvider is an API without an identity provider.
type noProvider struct {
	propertyv1.IdentityServiceClient
}

func (noProvider) GetIdentityProvider(context.Context, *propertyv1.GetIdentityProviderRequest, ...grpc.CallOption) (*propertyv1.GetIdentityProviderResponse, error) {
	return &propertyv1.GetIdentityProviderResponse{}, nil
}

// A form that is sent after its session has ended leads back to its page, and the sign-in page says that nothing was saved.
func TestPostAfterTheSession(t *testing.T) {
	api := API{Sessions: &sessions{fault: fault.New(fault.Unauthenticated, fault.InvalidCredentials, "ended")}}
	for path, page := range map[string]string{
		"/app/spaces": "/app/spaces", "/app/spaces/read": "/app/spaces", "/app/spaces/rooms/spc_1/lock": "/app/spaces/rooms/spc_1",
		"/app/settings/kiosks/kio_1": "/app/settings/kiosks", "/app/settings/integrations/int_1/test": "/app/settings/integrations",
		"/app/account/passkeys/begin": "/app/account/passkeys", "/app/reservations/rsv_1/open": "/app/reservations/rsv_1/open", "/app/property": "/app",
	} {
		want := listURL("/app/login", "ended", "yes", "to", page)
		if page == "/app" {
			want = "/app/login?ended=yes"
		}
		w := serve(t, api, path, url.Values{"x": {"y"}})
		if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != want {
			t.Errorf("POST %s: %d to %q, want %q", path, w.Code, got, want)
		}
	}
	if got := serve(t, api, "/app/spaces?page=2", nil).Header().Get("Location"); got != "/app/login?to=%2Fapp%2Fspaces%3Fpage%3D2" {
		t.Errorf("GET leads to %s", got)
	}
	body := serve(t, API{Sessions: &sessions{fault: fault.New(fault.Unauthenticated, "", "ended")}, Identities: noProvider{}}, "/app/login?ended=yes&to=%2Fapp%2Fspaces", nil).Body.String()
	for _, text := range []string{"You were signed out", "Nothing was saved; sign in to go on.", `action="/app/login?to=%2Fapp%2Fspaces"`} {
		if !strings.Contains(body, text) {
			t.Errorf("the sign-in page does not have %q: %s", text, body)
		}
	}
}
