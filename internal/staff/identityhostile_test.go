package staff

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent/person"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/oidctest"
)

// An answer that a hostile provider, browser or network made is refused: it opens no session and links no person.
func TestHostileIdentity(t *testing.T) {
	long := strings.Repeat("s", 256)
	eachWithProvider(t, func(x *identityFixture) {
		claims := func(change func(c map[string]any)) func() visit {
			return func() visit {
				x.at.Set(func(h *oidctest.Hooks) { h.Claims = change })
				return x.begin()
			}
		}
		hooks := func(change func(h *oidctest.Hooks)) func() visit {
			return func() visit {
				x.at.Set(change)
				return x.begin()
			}
		}
		with := func(change func(b *visit)) func() visit {
			return func() visit {
				b := x.begin()
				change(&b)
				return b
			}
		}
		cases := map[string]func() visit{
			"another issuer":             claims(func(c map[string]any) { c["iss"] = "https://evil.example" }),
			"no issuer":                  claims(func(c map[string]any) { c["iss"] = nil }),
			"another nonce":              claims(func(c map[string]any) { c["nonce"] = strings.Repeat("n", 43) }),
			"no nonce":                   claims(func(c map[string]any) { c["nonce"] = nil }),
			"another audience":           claims(func(c map[string]any) { c["aud"] = "another client" }),
			"no audience":                claims(func(c map[string]any) { c["aud"] = nil }),
			"several audiences":          claims(func(c map[string]any) { c["aud"] = []string{oidctest.ClientID, "another client"} }),
			"for another party":          claims(func(c map[string]any) { c["azp"] = "another client" }),
			"expired":                    claims(func(c map[string]any) { c["exp"] = noon.Add(-time.Second).Unix() }),
			"no end":                     claims(func(c map[string]any) { c["exp"] = nil }),
			"of tomorrow":                claims(func(c map[string]any) { c["nbf"] = noon.Add(time.Hour).Unix() }),
			"no subject":                 claims(func(c map[string]any) { c["sub"] = nil }),
			"a long subject":             claims(func(c map[string]any) { c["sub"] = long }),
			"a subject that is a number": claims(func(c map[string]any) { c["sub"] = 7 }),

			"no signature":                 hooks(func(h *oidctest.Hooks) { h.Algorithm = "none" }),
			"the public key as the secret": hooks(func(h *oidctest.Hooks) { h.Algorithm = "HS256" }),
			"a key that is not listed":     hooks(func(h *oidctest.Hooks) { h.Stranger = true }),

			"the state of another sign-in": with(func(b *visit) { b.back["state"] = x.begin().back["state"] }),
			"no state":                     with(func(b *visit) { b.back.Del("state") }),
			"another browser":              with(func(b *visit) { b.state = x.begin().state }),
			"no browser":                   with(func(b *visit) { b.state = "" }),
			"a made-up state":              with(func(b *visit) { b.state = newState(noon, identityLife) }),
			"a state without an end":       with(func(b *visit) { b.state = newState(noon, 100*identityLife) }),
			"the state of a passkey": with(func(b *visit) {
				c, err := x.BeginPasskeySignIn(x.Context())
				x.must(err)
				b.state = c.State
			}),
			"another provider":            with(func(b *visit) { b.back.Set("iss", "https://evil.example") }),
			"no provider":                 with(func(b *visit) { b.back.Del("iss") }),
			"the code of another sign-in": with(func(b *visit) { b.back["code"] = x.begin().back["code"] }),
			"a made-up code":              with(func(b *visit) { b.back.Set("code", "made up") }),
			"a used code": with(func(b *visit) {
				used := x.begin()
				b.back["code"] = used.back["code"]
				// Another call redeemed it with the right verifier, so that only the second use is wrong.
				_, err := x.Provider.Redeem(x.Context(), x.flowOf(ceremony{kind: identitySignIn}, used.state), used.answer().Answer)
				x.must(err)
				*b = used
			}),
		}
		n := 0
		for what, make := range cases {
			x.at.Set(func(h *oidctest.Hooks) { *h = oidctest.Hooks{Subject: bobSubject, Email: bobEmail, Now: x.clock.Now} })
			a := make().answer()
			n++
			a.Network = fmt.Sprintf("192.0.2.%d/32", n)
			if made, err := x.IdentitySignIn(x.Context(), a, "laptop"); !fault.Has(err, fault.IdentityRefused) || made != (Session{}) {
				x.Errorf("%s: got %+v, %v", what, made, err)
			}
		}
		x.at.Set(func(h *oidctest.Hooks) { *h = oidctest.Hooks{Subject: bobSubject, Email: bobEmail, Now: x.clock.Now} })
		if linked, err := x.DB.View(x.Context()).Person.Query().Where(person.IdentityMACNotNil()).Count(x.Context()); err != nil || linked != 1 {
			x.Errorf("%d people are linked, %v; want Bob alone", linked, err)
		}
		if made, err := x.signIn(); err != nil || made.PersonID != x.bob.PersonID {
			x.Errorf("a right answer afterwards: %+v, %v", made, err)
		}
	})
}

// An answer counts once and for ten minutes.
func TestIdentityAnswerCountsOnce(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		b, late := x.begin(), x.begin()
		_, err := x.finish(b)
		x.must(err)
		if _, err := x.finish(b); !fault.Has(err, fault.IdentityRefused) {
			x.Errorf("a second time: %v", err)
		}
		x.clock.Advance(identityLife - time.Second)
		if _, err := x.finish(x.begin()); err != nil {
			x.Errorf("a new one: %v", err)
		}
		x.clock.Advance(time.Second)
		if _, err := x.finish(late); !fault.Has(err, fault.IdentityRefused) {
			x.Errorf("after ten minutes: %v", err)
		}
	})
}

// Failed sign-ins are slowed down by network, those of a provider that is down are not, and a known person's are in the audit log.
func TestIdentityAttempts(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		_, err := x.signIn()
		x.must(err)
		x.person("another", bobEmail)
		waiting := len(x.Failed.queue)
		for range 20 {
			if _, err := x.signIn(); !fault.Has(err, fault.IdentityUnknown) {
				x.Fatal(err)
			}
		}
		if n := len(x.Failed.queue); n != waiting+20 {
			x.Errorf("%d failures wait for the audit log, want 20", n-waiting)
		}
		x.Failed.record(x.Context(), <-x.Failed.queue)
		if got, want := x.entries(hotel), author(x.bob.PersonID)+" test refused 192.0.2.7"; got[len(got)-1] != want {
			x.Errorf("the audit log has %q, want %q", got, want)
		}
		if _, err := x.signIn(); !fault.Has(err, fault.TooManyAttempts) {
			x.Errorf("the 21st: %v", err)
		}
		x.clock.Advance(time.Minute)
		x.person(bobSubject, bobEmail)
		if _, err := x.signIn(); err != nil {
			x.Errorf("after the pause: %v", err)
		}
	})
}

// A provider that is down is said so, and counts against no network.
func TestIdentityProviderIsDown(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		var begun []visit
		for range 21 {
			begun = append(begun, x.begin())
		}
		x.at.Set(func(h *oidctest.Hooks) {
			h.Before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/keys" {
					return false
				}
				http.Error(w, "down", http.StatusBadGateway)
				return true
			}
		})
		for range 21 {
			if _, err := x.signIn(); !fault.Has(err, fault.ProviderUnavailable) {
				x.Fatalf("without keys: %v", err)
			}
		}
		x.at.CloseClientConnections()
		x.at.Listener.Close()
		for _, b := range begun {
			if _, err := x.finish(b); !fault.Has(err, fault.ProviderUnavailable) {
				x.Fatal(err)
			}
		}
		x.Provider = nil
		if _, err := x.BeginIdentitySignIn(x.Context(), false); !fault.Has(err, fault.ProviderMissing) {
			x.Errorf("without a provider: %v", err)
		}
	})
}
