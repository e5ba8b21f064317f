package staff

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/web/kit"
)

// signIns is an API that signs everyone in, and that has the session of the sign-in.
type signIns struct{ sessions }

func (*signIns) SignIn(context.Context, *propertyv1.SignInRequest, ...grpc.CallOption) (*propertyv1.SignInResponse, error) {
	return &propertyv1.SignInResponse{Data: &propertyv1.SessionToken{Token: "lkx_1", EndsAt: timestamppb.New(noon.Add(time.Hour))}}, nil
}

// TestSessionCookie signs in and out over HTTP and over HTTPS. Scripts cannot read the cookie of the session. Over HTTPS, no other host of
// the domain can set it, and it is never sent without TLS.
func TestSessionCookie(t *testing.T) {
	api := &signIns{}
	k, err := kit.New(kit.Options{
		Logger: slog.New(slog.DiscardHandler), Secure: func(r *http.Request) bool { return r.TLS != nil }, Fault: fakeFault, Now: func() time.Time { return noon },
		As: func(ctx context.Context, _ *http.Request, _ kit.Credential) context.Context { return ctx },
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := New(k, API{Sessions: api})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, set string
		secure    bool
	}{
		{"HTTP", "lk-staff", false},
		{"HTTPS", "__Host-lk-staff", true},
	} {
		// post returns the cookies of the session that the answer sets. sent is the name of the one in the request.
		post := func(path, sent string) (set []*http.Cookie) {
			t.Helper()
			r, w := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(url.Values{"email": {"ada@example.com"}}.Encode())), httptest.NewRecorder()
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if c.secure {
				r.TLS = &tls.ConnectionState{}
			}
			if sent != "" {
				r.AddCookie(&http.Cookie{Name: sent, Value: "lkx_1"})
			}
			pages.ServeHTTP(w, r)
			if w.Code != http.StatusSeeOther {
				t.Fatalf("%s, %s: %d %s", c.name, path, w.Code, w.Body)
			}
			for _, cookie := range w.Result().Cookies() {
				if strings.TrimPrefix(cookie.Name, "__Host-") == "lk-staff" {
					set = append(set, cookie)
				}
			}
			return set
		}
		check := func(what string, set []*http.Cookie, value string) {
			t.Helper()
			if len(set) != 1 {
				t.Fatalf("%s, %s: %d cookies", c.name, what, len(set))
			}
			got := set[0]
			if got.Name != c.set || got.Value != value || got.Secure != c.secure || !got.HttpOnly || got.SameSite != http.SameSiteLaxMode || got.Path != "/" || got.Domain != "" {
				t.Errorf("%s, %s: %v", c.name, what, got)
			}
		}
		in := post("/app/login", "")
		check("sign in", in, "lkx_1")
		if !in[0].Expires.Equal(noon.Add(time.Hour)) {
			t.Errorf("%s: the cookie ends at %v", c.name, in[0].Expires)
		}
		api.ended = ""
		check("sign out", post("/app/logout", c.set), "")
		if api.ended != "ses_1" {
			t.Errorf("%s: the sign-out ended the session %q", c.name, api.ended)
		}
	}
	api.ended = ""
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/app/logout", nil)
	r.TLS = &tls.ConnectionState{}
	r.AddCookie(&http.Cookie{Name: "lk-staff", Value: "lkx_1"})
	pages.ServeHTTP(httptest.NewRecorder(), r)
	if api.ended != "" {
		t.Error("over HTTPS, a cookie without the prefix counts as the session")
	}
}
