package openid

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/test/oidctest"
)

const back = "https://checkin.example.com/callback"

var (
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	flow = Flow{State: strings.Repeat("s", 43), Nonce: strings.Repeat("n", 43), Verifier: oauth2.GenerateVerifier(), RedirectURL: back}
)

// client returns a provider as the server uses it, with a clock.
func client(at *oidctest.Provider) (*Provider, *clock.Fixed) {
	now := clock.At(noon)
	at.Set(func(h *oidctest.Hooks) { h.Now = now.Now })
	return New(Options{Issuer: at.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Now: now.Now}), now
}

// signIn walks one flow.
func signIn(t *testing.T, p *Provider, at *oidctest.Provider) (Identity, error) {
	t.Helper()
	address, err := p.SignInURL(t.Context(), flow)
	if err != nil {
		return Identity{}, err
	}
	q, err := at.SignIn(address)
	if err != nil {
		t.Fatal(err)
	}
	return p.Redeem(t.Context(), flow, Answer{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss")})
}

func person() oidctest.Hooks { return oidctest.Hooks{Subject: "subject", Email: "bob@example.com"} }

// A token endpoint that does not work proves nothing, takes a bounded time and memory, and cannot send the secret and the code elsewhere.
func TestHostileTokenEndpoint(t *testing.T) {
	at := oidctest.New(t, person())
	p, _ := client(at)
	p.limit = 300 * time.Millisecond
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		}
	}
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, ErrUnavailable},
		"hangs":        {func(_ http.ResponseWriter, r *http.Request) { hang(r) }, ErrUnavailable},
		"is huge":      {text(`{"id_token":"` + strings.Repeat("a", 2*maxAnswer) + `"}`), ErrUnavailable},
		"fails":        {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }, ErrUnavailable},
		"speaks HTML":  {text("<html>"), ErrUnavailable},
		"has no token": {text(`{"access_token":"a","token_type":"Bearer"}`), ErrRefused},
		"has a number": {text(`{"access_token":"a","token_type":"Bearer","id_token":7}`), ErrRefused},
		"has no JWT":   {text(`{"access_token":"a","token_type":"Bearer","id_token":"a.b.c"}`), ErrRefused},
	} {
		at.Set(func(h *oidctest.Hooks) {
			h.Before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/token" {
					return false
				}
				c.answer(w, r)
				return true
			}
		})
		if who, err := signIn(t, p, at); !errors.Is(err, c.want) || who != (Identity{}) {
			t.Errorf("a token endpoint that %s: %+v, %.300v", what, who, err)
		}
	}
	if elsewhere.Load() > 0 {
		t.Error("the client followed a redirect")
	}
	at.Set(func(h *oidctest.Hooks) { h.Before = nil })
	p.limit = callTime
	if who, err := signIn(t, p, at); err != nil || who != (Identity{Subject: "subject", Email: "bob@example.com"}) {
		t.Errorf("afterwards: %+v, %v", who, err)
	}
}

// Keys that cannot be loaded mean that the provider does not work. A key that is not among them means that the token is wrong.
func TestHostileKeyEndpoint(t *testing.T) {
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		}
	}
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"redirects":    {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/moved", http.StatusFound) }, ErrUnavailable},
		"hangs":        {func(_ http.ResponseWriter, r *http.Request) { hang(r) }, ErrUnavailable},
		"is huge":      {text(`{"keys":["` + strings.Repeat("a", 2*maxAnswer) + `"]}`), ErrUnavailable},
		"fails":        {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) }, ErrUnavailable},
		"speaks HTML":  {text("<html>"), ErrUnavailable},
		"has no key":   {text(`{"keys":[]}`), ErrRefused},
		"has a secret": {text(`{"keys":[{"kty":"oct","kid":"rsa","k":"c2VjcmV0"}]}`), ErrRefused},
	} {
		t.Run(what, func(t *testing.T) {
			at := oidctest.New(t, person())
			p, _ := client(at)
			p.limit = 300 * time.Millisecond
			at.Set(func(h *oidctest.Hooks) {
				h.Before = func(w http.ResponseWriter, r *http.Request) bool {
					if r.URL.Path == "/keys" {
						c.answer(w, r)
					}
					return r.URL.Path == "/keys"
				}
			})
			who, err := signIn(t, p, at)
			if !errors.Is(err, c.want) || who != (Identity{}) {
				t.Errorf("%+v, %.300v", who, err)
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("the error repeats what the provider sent: %d bytes", len(err.Error()))
			}
			at.Set(func(h *oidctest.Hooks) { h.Before = nil })
			p.limit = callTime
			if c.want == ErrUnavailable && what != "hangs" { // the call that hangs goes on for its time, and later callers wait for it
				who, err := signIn(t, p, at)
				for range 20 { // a load of the keys that has not ended yet serves later callers too
					if err == nil {
						break
					}
					who, err = signIn(t, p, at)
				}
				if err != nil || who.Subject != "subject" {
					t.Errorf("afterwards: %+v, %v", who, err)
				}
			}
		})
	}
}

// Metadata of another issuer, or with addresses less protected than the issuer, is refused.
func TestHostileMetadata(t *testing.T) {
	for what, change := range map[string]func(at *oidctest.Provider){
		"another issuer":       func(at *oidctest.Provider) { set(at, "issuer", "https://evil.example") },
		"a plain token":        func(at *oidctest.Provider) { set(at, "token_endpoint", "http://evil.example/token") },
		"plain keys":           func(at *oidctest.Provider) { set(at, "jwks_uri", "http://evil.example/keys") },
		"a script":             func(at *oidctest.Provider) { set(at, "authorization_endpoint", "javascript:alert(1)") },
		"a user":               func(at *oidctest.Provider) { set(at, "authorization_endpoint", "https://a:b@evil.example") },
		"no token endpoint":    func(at *oidctest.Provider) { set(at, "token_endpoint", "") },
		"too much":             func(at *oidctest.Provider) { set(at, "more", strings.Repeat("a", 2*maxAnswer)) },
		"a redirect elsewhere": func(at *oidctest.Provider) { at.Set(func(h *oidctest.Hooks) { h.Before = redirect }) },
		"a server that hangs": func(at *oidctest.Provider) {
			at.Set(func(h *oidctest.Hooks) {
				h.Before = func(_ http.ResponseWriter, r *http.Request) bool { hang(r); return true }
			})
		},
	} {
		t.Run(what, func(t *testing.T) {
			at := oidctest.New(t, person())
			p, _ := client(at)
			p.limit = 300 * time.Millisecond
			change(at)
			if address, err := p.SignInURL(t.Context(), flow); !errors.Is(err, ErrUnavailable) || address != "" {
				t.Errorf("%q, %.300v", address, err)
			}
		})
	}
}

// hang answers when the client has left, which the server notices after the body was read.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func set(at *oidctest.Provider, name, value string) {
	at.Set(func(h *oidctest.Hooks) { h.Discovery = func(d map[string]any) { d[name] = value } })
}

func redirect(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path == "/moved" {
		return false
	}
	http.Redirect(w, r, "/moved", http.StatusFound)
	return true
}

// A provider that was down is asked again after a pause, and metadata that cannot be refreshed is used on.
func TestProviderComesBack(t *testing.T) {
	at := oidctest.New(t, person())
	p, now := client(at)
	var asked atomic.Int32
	down := func(is bool) {
		at.Set(func(h *oidctest.Hooks) {
			h.Before = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasPrefix(r.URL.Path, "/.well-known/") {
					return false
				}
				asked.Add(1)
				if is {
					http.Error(w, "down", http.StatusServiceUnavailable)
				}
				return is
			}
		})
	}
	expect := func(what string, calls int32, want error) {
		t.Helper()
		if _, err := signIn(t, p, at); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
		if n := asked.Swap(0); n != calls {
			t.Errorf("%s: %d calls, want %d", what, n, calls)
		}
	}
	down(true)
	expect("down", 1, ErrUnavailable)
	down(false)
	expect("at once", 0, ErrUnavailable)
	now.Advance(retryAfter)
	expect("after a pause", 1, nil)
	down(true)
	now.Advance(refreshAfter)
	expect("down again", 1, nil)
	expect("and again", 0, nil)
}

// A caller waits for metadata no longer than the call lasts, and the next caller is not held up.
func TestCallerLeaves(t *testing.T) {
	at := oidctest.New(t, person())
	p, _ := client(at)
	at.Set(func(h *oidctest.Hooks) {
		h.Before = func(_ http.ResponseWriter, r *http.Request) bool { hang(r); return true }
	})
	ctx, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer leave()
	if _, err := p.SignInURL(ctx, flow); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	at.Set(func(h *oidctest.Hooks) { h.Before = nil })
	if _, err := signIn(t, p, at); err != nil {
		t.Errorf("the next caller: %v", err)
	}
}

// The address rules of the server apply to each connection.
func TestDialDecides(t *testing.T) {
	at := oidctest.New(t, person())
	refused := errors.New("refused")
	p := New(Options{Issuer: at.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Now: time.Now, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused }})
	if _, err := p.SignInURL(t.Context(), flow); !errors.Is(err, ErrUnavailable) || !errors.Is(err, refused) {
		t.Error(err)
	}
}

// sameQuery reports whether two addresses have the same parameters.
func sameQuery(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := url.Parse(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := url.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return x.Query().Encode() == y.Query().Encode()
}

// The address of the sign-in asks for a code with PKCE, and shows neither verifier nor secret.
func TestSignInURL(t *testing.T) {
	at := oidctest.New(t, person())
	p, _ := client(at)
	address, err := p.SignInURL(t.Context(), flow)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"response_type": "code", "code_challenge_method": "S256", "code_challenge": oauth2.S256ChallengeFromVerifier(flow.Verifier),
		"state": flow.State, "nonce": flow.Nonce, "redirect_uri": back, "scope": "openid email", "client_id": oidctest.ClientID,
	} {
		if got := u.Query().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	fresh := flow
	fresh.Fresh = true
	again, err := p.SignInURL(t.Context(), fresh)
	if want := address + "&max_age=0&prompt=login"; err != nil || !sameQuery(t, again, want) || u.Query().Has("prompt") || u.Query().Has("max_age") {
		t.Errorf("to sign in again: %s, %v, want %s", again, err, want)
	}
	if strings.Contains(address, flow.Verifier) || strings.Contains(address, url.QueryEscape(oidctest.ClientSecret)) {
		t.Errorf("%s shows a secret", address)
	}
}
