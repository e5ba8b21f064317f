package staff

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
