package staff

import (
	"net/url"
	"testing"
	"time"

	"latchkey.dev/ent/membership"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/openid"
	"latchkey.dev/internal/test/oidctest"
)

const (
	bobEmail   = "bob@example.com"
	bobSubject = "subject of Bob"
)

// identityFixture is an installation with an identity provider, the owner Ada, and Bob, who is linked to his account there.
type identityFixture struct {
	*fixture
	at       *oidctest.Provider
	ada, bob Session
}

// eachWithProvider runs a test on every database.
func eachWithProvider(t *testing.T, f func(x *identityFixture)) {
	t.Helper()
	each(t, func(x *fixture) {
		at := oidctest.New(x.T, oidctest.Hooks{Subject: bobSubject, Email: bobEmail, Now: x.clock.Now})
		x.PublicURL = func() string { return publicURL }
		x.IdentityURL = func() string { return publicURL + "/app/login/oidc/callback" }
		x.Failed = NewFailures(x.DB, x.Keys, nil)
		x.Provider = providerOf(x, at)
		ada := x.owner("ada@example.com", hotel)
		i := &identityFixture{x, at, ada, x.member(as(ada, Owner), bobEmail, FrontDesk)}
		x.must(x.write(func(tx *db.Tx) error { return x.linkIdentity(tx, i.bob.PersonID, openid.Identity{Subject: bobSubject}) }))
		f(i)
	})
}

func providerOf(x *fixture, at *oidctest.Provider) *openid.Provider {
	return openid.New(openid.Options{Issuer: at.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Label: "Example", Now: x.clock.Now})
}

// visit is a sign-in that one browser began, and what it brings back from the provider.
type visit struct {
	state string
	back  url.Values
}

func (x *identityFixture) begin() visit {
	x.Helper()
	c, err := x.BeginIdentitySignIn(x.Context(), false)
	x.must(err)
	return x.signInThere(c)
}

// signInAgain signs in with a ceremony that asks the person to sign in again at the provider.
func (x *identityFixture) signInAgain() (Session, error) {
	x.Helper()
	c, err := x.BeginIdentitySignIn(x.Context(), true)
	x.must(err)
	a := x.signInThere(c).answer()
	a.Fresh = true
	return x.IdentitySignIn(x.Context(), a, "laptop")
}

// provedAt returns when the person of a session last proved who they are.
func (x *identityFixture) provedAt(s Session) time.Time {
	x.Helper()
	who, err := x.authenticate(s.Token, "")
	x.must(err)
	return who.ProvedAt
}

func (x *identityFixture) signInThere(c IdentityCeremony) visit {
	x.Helper()
	back, err := x.at.SignIn(c.URL)
	x.must(err)
	return visit{c.State, back}
}

func (b visit) answer() IdentityAnswer {
	return IdentityAnswer{State: b.state, Answer: openid.Answer{State: b.back.Get("state"), Code: b.back.Get("code"), Issuer: b.back.Get("iss")}, Network: network, Trace: traced}
}

func (x *identityFixture) finish(b visit) (Session, error) {
	return x.IdentitySignIn(x.Context(), b.answer(), "laptop")
}

func (x *identityFixture) signIn() (Session, error) {
	x.Helper()
	return x.finish(x.begin())
}

// link links the person of a session to who is at the provider.
func (x *identityFixture) link(s Session) error {
	x.Helper()
	c, err := x.BeginIdentityLink(x.Context(), s.PersonID, s.ID)
	x.must(err)
	link, err := x.PrepareIdentityLink(x.Context(), s.PersonID, s.ID, x.signInThere(c).answer())
	if err != nil {
		return err
	}
	return x.write(link)
}

func (x *identityFixture) person(subject, email string) {
	x.at.Set(func(h *oidctest.Hooks) { h.Subject, h.Email = subject, email })
}

// The subject names a person for good, whatever the address becomes.
func TestIdentitySignsIn(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		for _, email := range []string{bobEmail, "married@example.com", "ada@example.com"} {
			x.person(bobSubject, email)
			made, err := x.signIn()
			x.must(err)
			if made.PersonID != x.bob.PersonID || made.Token == "" || made.ID == x.bob.ID {
				x.Errorf("with %s: signed in as %+v", email, made)
			}
			who, err := x.authenticate(made.Token, hotel)
			x.must(err)
			if !who.SecondFactor.ConfirmedAt.IsZero() {
				x.Errorf("the sign-in counts as a second factor: %+v", who.SecondFactor)
			}
		}
		x.at.Set(func(h *oidctest.Hooks) { h.Algorithm = "ES256" })
		if made, err := x.signIn(); err != nil || made.PersonID != x.bob.PersonID {
			x.Errorf("with an elliptic key: %+v %v", made, err)
		}
	})
}

// Who is let in: a linked person who has access to a property. The address decides nothing.
func TestIdentityOfAPerson(t *testing.T) {
	x := func(change func(x *identityFixture), want fault.Reason) func(t *testing.T) {
		return func(t *testing.T) {
			eachWithProvider(t, func(x *identityFixture) {
				change(x)
				made, err := x.signIn()
				if want == "" {
					x.must(err)
					return
				}
				if !fault.Has(err, want) || made.Token != "" {
					x.Errorf("got %+v, %v", made, err)
				}
			})
		}
	}
	update := func(x *identityFixture, change func(tx *db.Tx) error) { x.must(x.write(change)) }
	unlink := func(x *identityFixture) {
		update(x, func(tx *db.Tx) error { return UnlinkIdentity(tx, x.bob.PersonID) })
	}
	t.Run("linked", x(func(*identityFixture) {}, ""))
	t.Run("another address", x(func(x *identityFixture) { x.person(bobSubject, "married@example.com") }, ""))
	t.Run("no address", x(func(x *identityFixture) { x.claim("email", nil) }, ""))
	t.Run("a stranger", x(func(x *identityFixture) { x.person("another", "eve@example.com") }, fault.IdentityUnknown))
	t.Run("the address of a person who is not linked", x(func(x *identityFixture) { x.person("subject of Ada", "ada@example.com") }, fault.IdentityUnknown))
	t.Run("the address of a linked person with another subject", x(func(x *identityFixture) { x.person("another", bobEmail) }, fault.IdentityUnknown))
	t.Run("after the link was removed", x(unlink, fault.IdentityUnknown))
	t.Run("linked again", x(func(x *identityFixture) {
		unlink(x)
		x.must(x.link(x.bob))
	}, ""))
	t.Run("disabled", x(func(x *identityFixture) {
		update(x, func(tx *db.Tx) error {
			return tx.Person.UpdateOneID(x.bob.PersonID).SetDisabledAt(noon).Exec(tx.Context())
		})
	}, fault.AccountDisabled))
	t.Run("without a property", x(func(x *identityFixture) {
		update(x, func(tx *db.Tx) error {
			return tx.Membership.Update().Where(membership.PersonID(x.bob.PersonID)).SetDisabledAt(noon).Exec(tx.Context())
		})
	}, fault.AccountDisabled))
}

// claim changes a claim of the provider's tokens; nil: there is none.
func (x *identityFixture) claim(name string, value any) {
	x.at.Set(func(h *oidctest.Hooks) { h.Claims = func(claims map[string]any) { claims[name] = value } })
}

// A person links the account while signed in. The account of another person is refused, and no other session can finish what one began.
func TestIdentityIsLinked(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		x.person("subject of Ada", "private@example.com")
		x.must(x.link(x.ada))
		made, err := x.signIn()
		x.must(err)
		if made.PersonID != x.ada.PersonID {
			x.Errorf("signed in as %s", made.PersonID)
		}
		if err := x.link(x.bob); !fault.Has(err, fault.IdentityTaken) {
			x.Errorf("the account of another person: %v", err)
		}
		c, err := x.BeginIdentityLink(x.Context(), x.ada.PersonID, x.ada.ID)
		x.must(err)
		x.person("subject of Eve", "eve@example.com")
		back := x.signInThere(c)
		for what, s := range map[string]Session{"another person": x.bob, "another session": made} {
			if _, err := x.PrepareIdentityLink(x.Context(), s.PersonID, s.ID, back.answer()); !fault.Has(err, fault.IdentityRefused) {
				x.Errorf("%s finishes it: %v", what, err)
			}
		}
		if _, err := x.finish(back); !fault.Has(err, fault.IdentityRefused) {
			x.Errorf("a sign-in finishes it: %v", err)
		}
	})
}

// The sign-in replaces the password and no second factor.
func TestIdentityIsNoSecondFactor(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		_, err := x.addPasskey(x.bob, newAuthenticator())
		x.must(err)
		made, err := x.signIn()
		x.must(err)
		if made.Token != "" || made.Challenge == "" || !made.EndsAt.Equal(noon.Add(challengeLife)) {
			x.Errorf("got %+v", made)
		}
		x.refused("the challenge as a token", made.Challenge)
	})
}

// A provider signs people in without a question while they are signed in there. Such a sign-in proves nothing, and a sign-in that must prove who the
// person is needs the time from the provider.
func TestSilentIdentitySignInProvesNothing(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		authTime := func(v any) {
			x.at.Set(func(h *oidctest.Hooks) { h.Claims = func(claims map[string]any) { claims["auth_time"] = v } })
		}
		silent, err := x.signIn()
		x.must(err)
		if at := x.provedAt(silent); !at.IsZero() {
			x.Errorf("a silent sign-in counts as a proof of %s", at)
		}
		proved, err := x.signInAgain()
		x.must(err)
		if at := x.provedAt(proved); !at.Equal(noon) {
			x.Errorf("a sign-in again counts as a proof of %s", at)
		}
		authTime(noon.Add(-time.Hour).Unix())
		if old, err := x.signIn(); err != nil || !x.provedAt(old).Equal(noon.Add(-time.Hour)) {
			x.Errorf("signed in there an hour ago: %v", err)
		}
		for what, at := range map[string]any{
			"no time": nil, "an hour ago": noon.Add(-time.Hour).Unix(), "15 minutes ago": noon.Add(-actor.StepUpWithin).Unix(), "a time to come": noon.Add(2 * time.Minute).Unix(),
			"a text": "2026-05-01T12:00:00Z", "a number without meaning": -1,
		} {
			authTime(at)
			for range 4 { // no failed attempts, which would stop the person after 20
				if made, err := x.signInAgain(); !fault.Has(err, fault.IdentityNotFresh) || made != (Session{}) {
					x.Errorf("%s: %+v, %v", what, made, err)
				}
			}
		}
		authTime(noon.Add(-actor.StepUpWithin + time.Second).Unix())
		if _, err := x.signInAgain(); err != nil {
			x.Errorf("almost 15 minutes ago: %v", err)
		}
		x.at.Set(func(h *oidctest.Hooks) { h.Claims = nil })
		c, err := x.BeginIdentitySignIn(x.Context(), true)
		x.must(err)
		if _, err := x.finish(x.signInThere(c)); !fault.Has(err, fault.IdentityRefused) {
			x.Errorf("a sign-in again that is finished as another one: %v", err)
		}
	})
}
