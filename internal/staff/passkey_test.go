package staff

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent/person"
	"latchkey.dev/ent/usedchallenge"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// A passkey signs a person in with both factors, and confirms them again.
func TestPasskeySignsIn(t *testing.T) {
	eachWithPasskey(t, func(x *fixture, s Session, a *authenticator) {
		enrolled := func(token string) actor.SecondFactor {
			x.Helper()
			who, err := x.authenticate(token, hotel)
			x.must(err)
			return who.SecondFactor
		}
		for range 3 {
			a.count++
			made, err := x.passkeySignIn(a)
			x.must(err)
			if made.Token == "" || made.PersonID != s.PersonID {
				x.Fatalf("signed in as %+v", made)
			}
			if f := enrolled(made.Token); !f.Enrolled || !f.Suffices(x.clock.Now()) {
				x.Errorf("the second factor is %+v", f)
			}
		}
		x.clock.Advance(20 * time.Minute)
		if f := enrolled(s.Token); f.Suffices(x.clock.Now()) {
			x.Error("a passkey still counts after 20 minutes")
		}
		begun, err := x.BeginPasskeyConfirmation(x.Context(), s.PersonID, s.ID)
		x.must(err)
		a.count++
		answer := a.sign(begun)
		confirm := func(s Session) (made Session, err error) {
			err = x.write(func(tx *db.Tx) error {
				made, err = x.ConfirmWithPasskey(tx, s.PersonID, s.ID, answer)
				return err
			})
			return made, err
		}
		made, err := confirm(s)
		x.must(err)
		if f := enrolled(made.Token); !f.Suffices(x.clock.Now()) {
			x.Errorf("after a confirmation: %+v", f)
		}
		x.refused("the session before the confirmation", s.Token)
		if _, err := x.passkeySignIn(a); !fault.Has(err, fault.InvalidCredentials) {
			x.Errorf("the same sign count twice: %v", err)
		}
		if _, err := confirm(made); !fault.Has(err, fault.PasskeyRefused) {
			x.Errorf("the same answer in another session: %v", err)
		}
		list, err := ListPasskeys(x.DB.View(x.Context()), x.Keys, s.PersonID)
		x.must(err)
		if len(list) != 1 || list[0].UsedAt == nil || list[0].Name != "My phone" || list[0].Synced() {
			x.Errorf("listed %+v", list)
		}
	})
}

// What an attacker may send in place of the answer of the right browser.
func TestPasskeyRefused(t *testing.T) {
	eachWithPasskey(t, func(x *fixture, s Session, a *authenticator) {
		begin := func() Ceremony {
			c, err := x.BeginPasskeySignIn(x.Context())
			x.must(err)
			return c
		}
		replayed := a.sign(begin())
		_, err := x.PasskeySignIn(x.Context(), replayed, "", traced)
		x.must(err)
		for what, answer := range map[string]func(b authenticator) Answer{
			"wrong origin":          func(b authenticator) Answer { b.origin = "https://evil.example"; return b.sign(begin()) },
			"http":                  func(b authenticator) Answer { b.origin = "http://checkin.example.com"; return b.sign(begin()) },
			"wrong relying party":   func(b authenticator) Answer { b.rpID = "evil.example"; return b.sign(begin()) },
			"user not verified":     func(b authenticator) Answer { b.flags = userPresent; return b.sign(begin()) },
			"user not present":      func(b authenticator) Answer { b.flags = userVerified; return b.sign(begin()) },
			"backup flag changed":   func(b authenticator) Answer { b.flags |= backupable; return b.sign(begin()) },
			"backed up but may not": func(b authenticator) Answer { b.flags |= backedUp; return b.sign(begin()) },
			"another key":           func(b authenticator) Answer { b.key = newAuthenticator().key; return b.sign(begin()) },
			"unknown passkey":       func(b authenticator) Answer { b.id = []byte("another"); return b.sign(begin()) },
			"another person":        func(b authenticator) Answer { b.user = []byte("prs_0"); return b.sign(begin()) },
			"no person":             func(b authenticator) Answer { b.user = nil; return b.sign(begin()) },
			"replayed":              func(authenticator) Answer { return replayed },
			"another state":         func(b authenticator) Answer { answer := b.sign(begin()); answer.State = begin().State; return answer },
			"a made-up state": func(b authenticator) Answer {
				c := begin()
				c.State = newState(noon.Add(time.Hour), challengeLife)
				return b.sign(c)
			},
			"no state":              func(b authenticator) Answer { c := begin(); c.State = ""; return b.sign(c) },
			"no JSON":               func(authenticator) Answer { return Answer{begin().State, "{"} },
			"registration's answer": func(b authenticator) Answer { return b.create(begin()) },
			"another ceremony's one": func(b authenticator) Answer {
				c, _ := x.BeginPasskeyConfirmation(x.Context(), s.PersonID, s.ID)
				return b.sign(c)
			},
		} {
			b := *a
			b.count = a.count + 1
			if made, err := x.PasskeySignIn(x.Context(), answer(b), "", traced); !fault.Has(err, fault.InvalidCredentials) {
				x.Errorf("%s: %+v, %v", what, made, err)
			}
		}
		late := a.sign(begin())
		x.clock.Advance(challengeLife)
		if _, err := x.PasskeySignIn(x.Context(), late, "", traced); !fault.Has(err, fault.InvalidCredentials) {
			x.Errorf("after five minutes: %v", err)
		}
	})
}

// A sign count that goes back shows a copied passkey. The attempt is refused and recorded.
func TestCopiedPasskey(t *testing.T) {
	eachWithPasskey(t, func(x *fixture, s Session, a *authenticator) {
		copied := *a
		a.count = 7
		_, err := x.passkeySignIn(a)
		x.must(err)
		for _, count := range []uint32{0, 6, 7} {
			copied.count = count
			if _, err := x.passkeySignIn(&copied); !fault.Has(err, fault.InvalidCredentials) {
				x.Errorf("count %d: %v", count, err)
			}
			if n := len(x.Failed.queue); n != 1 {
				x.Fatalf("%d refusals wait for the audit log", n)
			}
			x.Failed.record(x.Context(), <-x.Failed.queue)
		}
		refusal := author(s.PersonID) + " test refused " + traced.From
		if got := x.entries(hotel); !slices.Contains(got, refusal) {
			x.Errorf("the audit log has %q", got)
		}
	})
}

// A deleted passkey, and the passkey of a person who is disabled, open no session.
func TestPasskeyEnds(t *testing.T) {
	eachWithPasskey(t, func(x *fixture, s Session, a *authenticator) {
		x.must(x.write(func(tx *db.Tx) error {
			return tx.Person.Update().Where(person.ID(s.PersonID)).SetDisabledAt(tx.Now()).Exec(tx.Context())
		}))
		if _, err := x.passkeySignIn(a); !fault.Has(err, fault.InvalidCredentials) {
			x.Errorf("a disabled person: %v", err)
		}
		x.must(x.write(func(tx *db.Tx) error {
			return tx.Person.Update().Where(person.ID(s.PersonID)).ClearDisabledAt().Exec(tx.Context())
		}))
		_, err := x.passkeySignIn(a)
		x.must(err)
		list, err := ListPasskeys(x.DB.View(x.Context()), x.Keys, s.PersonID)
		x.must(err)
		eve := x.owner("eve@example.com", hostel)
		remove := func(personID string) error {
			return x.write(func(tx *db.Tx) error { return DeletePasskey(tx, personID, list[0].ID) })
		}
		if err := remove(eve.PersonID); !fault.Has(err, fault.PasskeyNotFound) {
			x.Errorf("another person's passkey: %v", err)
		}
		err = x.write(func(tx *db.Tx) error {
			_, err := RenamePasskey(tx, x.Keys, eve.PersonID, list[0].ID, "mine")
			return err
		})
		if !fault.Has(err, fault.PasskeyNotFound) {
			x.Errorf("another person's passkey: %v", err)
		}
		x.must(remove(s.PersonID))
		if _, err := x.passkeySignIn(a); !fault.Has(err, fault.InvalidCredentials) {
			x.Errorf("a deleted passkey: %v", err)
		}
		if who, err := x.authenticate(s.Token, hotel); err != nil || who.SecondFactor.Enrolled {
			x.Errorf("after the last passkey: %+v, %v", who.SecondFactor, err)
		}
		// The recovery codes ended with it, so the next passkey comes with new ones.
		made, err := x.addPasskey(s, newAuthenticator())
		x.must(err)
		if len(made.RecoveryCodes) != recoveryCodes {
			x.Errorf("%d recovery codes", len(made.RecoveryCodes))
		}
	})
}

// A registration belongs to the session that began it, works once, and adds no passkey twice.
func TestPasskeyRegistration(t *testing.T) {
	eachWithPasskey(t, func(x *fixture, s Session, a *authenticator) {
		eve := x.owner("eve@example.com", hostel)
		begun, err := x.BeginPasskey(x.Context(), s.PersonID, s.ID)
		x.must(err)
		refused := func(what string, s Session, answer Answer) {
			x.Helper()
			if _, err := x.finishPasskey(s, answer); !fault.Has(err, fault.PasskeyRefused) {
				x.Errorf("%s: %v", what, err)
			}
		}
		b := newAuthenticator()
		refused("another person", eve, b.create(begun))
		refused("the same passkey", s, a.create(begun))
		unverified := newAuthenticator()
		unverified.flags = userPresent
		refused("user not verified", s, unverified.create(begun))
		elsewhere := newAuthenticator()
		elsewhere.origin = "https://evil.example"
		refused("wrong origin", s, elsewhere.create(begun))
		odd := newAuthenticator()
		odd.flags |= backedUp
		refused("backed up but may not", s, odd.create(begun))
		signIn, err := x.BeginPasskeySignIn(x.Context())
		x.must(err)
		refused("another ceremony", s, b.create(Ceremony{signIn.State, begun.Options}))
		answer := b.create(begun)
		made, err := x.finishPasskey(s, answer)
		x.must(err)
		if made.RecoveryCodes != nil {
			x.Error("recovery codes with the second passkey")
		}
		refused("replayed", made.Session, answer)
	})
}

// A person with a passkey and no app needs a second step after the password: the passkey or a recovery code.
func TestPasswordAndPasskey(t *testing.T) {
	each(t, func(x *fixture) {
		x.PublicURL = func() string { return publicURL }
		s := x.owner("ada@example.com", hotel)
		added, err := x.addPasskey(s, newAuthenticator())
		x.must(err)
		waiting, err := x.SignIn(x.Context(), passwordSignIn("ada@example.com", password))
		x.must(err)
		if waiting.Token != "" || waiting.Challenge == "" {
			x.Fatalf("the password alone: %+v", waiting)
		}
		if _, err := x.FinishSignIn(x.Context(), waiting.Challenge, "123456", traced); !isWrongCode(err) {
			x.Errorf("a code of no app: %v", err)
		}
		made, err := x.FinishSignIn(x.Context(), waiting.Challenge, added.RecoveryCodes[0], traced)
		x.must(err)
		// A recovery code is no code of a new authenticator app.
		x.must(x.write(func(tx *db.Tx) error { _, err := BeginTOTP(tx, x.Keys, made.PersonID); return err }))
		confirm, err := x.PrepareTOTP(x.Context(), made.PersonID, made.ID, added.RecoveryCodes[1])
		x.must(err)
		if err := x.write(func(tx *db.Tx) error { _, _, err := confirm(tx); return err }); !isWrongCode(err) {
			x.Errorf("a recovery code in place of the first code: %v", err)
		}
		members, err := ListMembers(x.DB.View(x.Context()), x.Keys, hotel)
		x.must(err)
		if len(members) != 1 || !members[0].HasSecondFactor {
			x.Errorf("the members are %+v", members)
		}
	})
}

// Used challenges are deleted after their end.
func TestUsedChallengesEnd(t *testing.T) {
	eachWithPasskey(t, func(x *fixture, _ Session, _ *authenticator) {
		count := func() int {
			n, err := x.DB.View(x.Context()).UsedChallenge.Query().Where(usedchallenge.IDNEQ("")).Count(x.Context())
			x.must(err)
			return n
		}
		x.must(x.write(func(tx *db.Tx) error { _, err := DeleteExpired(tx, noon, 10); return err }))
		if n := count(); n != 1 {
			x.Errorf("%d used challenges after a registration", n)
		}
		x.must(x.write(func(tx *db.Tx) error { _, err := DeleteExpired(tx, noon.Add(time.Hour), 10); return err }))
		if n := count(); n != 0 {
			x.Errorf("%d used challenges an hour later", n)
		}
	})
}

func TestRelyingParty(t *testing.T) {
	for address, want := range map[string][2]string{
		"https://checkin.example.com":      {"checkin.example.com", "https://checkin.example.com"},
		"https://checkin.example.com:8443": {"checkin.example.com", "https://checkin.example.com:8443"},
		"http://localhost:8080":            {"localhost", "http://localhost:8080"},
		"http://127.0.0.1:8080":            {"localhost", "http://localhost:8080"},
		"http://[::1]:8080":                {"localhost", "http://localhost:8080"},
		"https://192.0.2.7":                {"", ""},
		"https://[2001:db8::1]":            {"", ""},
		"":                                 {"", ""},
	} {
		if host, origin := relyingPartyOf(address); host != want[0] || want[0] != "" && origin != want[1] {
			t.Errorf("%s: %s, %s", address, host, origin)
		}
	}
	s := &Service{PublicURL: func() string { return "https://192.0.2.7" }}
	if _, err := s.relyingParty(); !fault.Has(err, fault.PasskeysUnavailable) {
		t.Error(err)
	}
}
