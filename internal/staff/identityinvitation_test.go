package staff

import (
	"errors"
	"strings"
	"testing"

	"latchkey.dev/ent/person"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/oidctest"
)

// inviteTo invites a person to a property, and returns the secret of the link.
func (x *identityFixture) inviteTo(by Session, propertyID, email string) string {
	x.Helper()
	var i Invitation
	x.must(x.write(func(tx *db.Tx) (err error) {
		i, _, err = Invite(tx, x.Keys, as(by, Owner), propertyID, email, FrontDesk)
		return err
	}))
	return i.Secret
}

func (x *identityFixture) beginJoin(secret string) visit {
	x.Helper()
	c, err := x.BeginIdentityInvitation(x.Context(), secret, nil)
	x.must(err)
	return x.signInThere(c)
}

func (x *identityFixture) finishJoin(secret string, b visit) (Session, error) {
	made, propertyID, err := x.AcceptInvitationByIdentity(x.Context(), IdentityAcceptance{IdentityAnswer: b.answer(), Secret: secret, Name: " Carla ", Device: "laptop"})
	if err == nil && propertyID == "" {
		x.Error("no property")
	}
	return made, err
}

func (x *identityFixture) join(secret string) (Session, error) {
	x.Helper()
	return x.finishJoin(secret, x.beginJoin(secret))
}

// people counts the people of the installation.
func (x *identityFixture) people() int {
	return x.DB.View(x.Context()).Person.Query().CountX(x.Context())
}

// A new person joins with the account of the invited address, and signs in with it from then on. No password opens the account, so its link
// to the provider is not removed.
func TestInvitationIsAcceptedAtTheProvider(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		secret := x.inviteTo(x.ada, hotel, "carla@example.com")
		x.person("subject of Carla", "Carla@Example.com")
		made, err := x.join(secret)
		x.must(err)
		if who, err := x.authenticate(made.Token, hotel); err != nil || who.Role != string(FrontDesk) {
			x.Errorf("the new person: %+v, %v", who, err)
		}
		if _, err := x.BeginIdentityInvitation(x.Context(), secret, nil); !fault.Has(err, fault.InvitationNotFound) {
			x.Errorf("the link works again: %v", err)
		}
		x.person("subject of Carla", "married@example.com")
		if again, err := x.signIn(); err != nil || again.PersonID != made.PersonID {
			x.Errorf("signed in as %+v, %v", again, err)
		}
		for _, guess := range []string{"", password} {
			if _, err := x.SignIn(x.Context(), passwordSignIn("carla@example.com", guess)); !fault.Has(err, fault.InvalidCredentials) {
				x.Errorf("the password %q: %v", guess, err)
			}
		}
		if err := x.write(func(tx *db.Tx) error { return UnlinkIdentity(tx, made.PersonID) }); !fault.Has(err, fault.PasswordMissing) {
			x.Errorf("the only way in is removed: %v", err)
		}
	})
}

// A person who joined at the provider sets a first password, which needs the second factor, and with which the link to the provider can be
// removed.
func TestFirstPassword(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		x.person("subject of Carla", "carla@example.com")
		made, err := x.join(x.inviteTo(x.ada, hotel, "carla@example.com"))
		x.must(err)
		change := func(c PasswordChange) error {
			c.Network, c.Trace = network, traced
			c.Who.PersonID, c.Who.TokenID, c.Who.ProvedAt = made.PersonID, made.ID, x.provedAt(made)
			store, err := x.PreparePasswordChange(x.Context(), c)
			if err != nil {
				return err
			}
			return x.write(func(tx *db.Tx) error {
				next, err := store(tx)
				if err == nil {
					made = next
				}
				return err
			})
		}
		for what, c := range map[string]struct {
			PasswordChange
			want fault.Reason
		}{
			"a guessed password":   {PasswordChange{Password: password, NewPassword: "another long password"}, fault.InvalidFields},
			"a password too short": {PasswordChange{NewPassword: "short"}, fault.InvalidFields},
			"a second factor confirmed too long ago": {PasswordChange{
				NewPassword: password, Who: actor.Actor{SecondFactor: actor.SecondFactor{Enrolled: true, ConfirmedAt: x.clock.Now().Add(-actor.StepUpWithin)}},
			}, fault.SecondFactorRequired},
			"a second factor not confirmed": {
				PasswordChange{NewPassword: password, Who: actor.Actor{SecondFactor: actor.SecondFactor{Enrolled: true}}}, fault.SecondFactorRequired,
			},
		} {
			if err := change(c.PasswordChange); !fault.Has(err, c.want) {
				x.Errorf("%s: got %v", what, err)
			}
		}
		x.clock.Advance(actor.StepUpWithin)
		if err := change(PasswordChange{NewPassword: password}); !fault.Has(err, fault.SignInAgain) {
			x.Errorf("15 minutes after the sign-in, without a second factor: %v", err)
		}
		made, err = x.signIn()
		x.must(err)
		if err := change(PasswordChange{NewPassword: password}); !fault.Has(err, fault.SignInAgain) {
			x.Errorf("after a silent sign-in: %v", err)
		}
		made, err = x.signInAgain()
		x.must(err)
		former := made.Token
		raced, err := x.PreparePasswordChange(x.Context(), PasswordChange{
			Who: actor.Actor{PersonID: made.PersonID, TokenID: made.ID, ProvedAt: x.clock.Now()}, NewPassword: "another long password", Trace: traced,
		})
		x.must(err)
		x.must(change(PasswordChange{NewPassword: password}))
		if err := x.write(func(tx *db.Tx) error { _, err := raced(tx); return err }); err == nil || err.Error() != credential.Refused().Error() {
			x.Errorf("a second first password: %v", err)
		}
		x.refused("the session before", former)
		if _, err := x.SignIn(x.Context(), passwordSignIn("carla@example.com", password)); err != nil {
			x.Errorf("sign in with the first password: %v", err)
		}
		if err := change(PasswordChange{NewPassword: "another long password"}); !fault.Has(err, fault.InvalidFields) {
			x.Errorf("a second password without the first one: %v", err)
		}
		x.must(x.write(func(tx *db.Tx) error { return UnlinkIdentity(tx, made.PersonID) }))
	})
}

// Who may not join with an account at the provider. The invitation goes on, and no person is created or linked.
func TestInvitationIsRefusedAtTheProvider(t *testing.T) {
	for what, c := range map[string]struct {
		address string // to which the invitation is sent
		before  func(x *identityFixture)
		want    fault.Reason
	}{
		"another address": {"carla@example.com", func(x *identityFixture) { x.person("subject of Eve", "eve@example.com") }, fault.IdentityAddress},
		"no verified address": {"carla@example.com", func(x *identityFixture) {
			x.at.Set(func(h *oidctest.Hooks) {
				h.Subject, h.Email, h.Unverified = "subject of Carla", "carla@example.com", true
			})
		}, fault.IdentityAddress},
		"no address":    {"carla@example.com", func(x *identityFixture) { x.claim("email", nil) }, fault.IdentityAddress},
		"another nonce": {"carla@example.com", func(x *identityFixture) { x.claim("nonce", strings.Repeat("n", 43)) }, fault.IdentityRefused},
		"an unlisted key": {"carla@example.com", func(x *identityFixture) {
			x.at.Set(func(h *oidctest.Hooks) { h.Stranger = true })
		}, fault.IdentityRefused},
		// Another person may have made the account, and know its password.
		"a known person who is not linked":          {"ada@example.com", func(x *identityFixture) { x.person("subject of Ada", "ada@example.com") }, fault.IdentityUnknown},
		"a person who is linked to another account": {bobEmail, func(x *identityFixture) { x.person("another", bobEmail) }, fault.IdentityUnknown},
		"the account of a person with another address": {"carla@example.com", func(x *identityFixture) {
			x.person(bobSubject, "carla@example.com")
		}, fault.IdentityTaken},
		"a person with an app": {bobEmail, func(x *identityFixture) {
			x.must(x.write(func(tx *db.Tx) error {
				return tx.Person.UpdateOneID(x.bob.PersonID).SetTotpConfirmedAt(noon).Exec(tx.Context())
			}))
		}, fault.SecondFactorRequired},
		"a person who is disabled": {bobEmail, func(x *identityFixture) {
			x.must(x.write(func(tx *db.Tx) error { return disable(tx, x.bob.PersonID) }))
		}, fault.AccountDisabled},
	} {
		t.Run(what, func(t *testing.T) {
			eachWithProvider(t, func(x *identityFixture) {
				hanna := x.owner("hanna@example.com", hostel)
				secret := x.inviteTo(hanna, hostel, c.address)
				c.before(x)
				people, linked := x.people(), x.linked()
				if made, err := x.join(secret); !fault.Has(err, c.want) || made != (Session{}) {
					x.Errorf("got %+v, %v", made, err)
				}
				if x.people() != people || x.linked() != linked {
					x.Error("a person was created or linked")
				}
				if _, err := x.ViewInvitation(x.Context(), secret); err != nil {
					x.Errorf("the invitation afterwards: %v", err)
				}
			})
		})
	}
}

func disable(tx *db.Tx, personID string) error {
	return tx.Person.UpdateOneID(personID).SetDisabledAt(noon).Exec(tx.Context())
}

// linked counts the people who are linked to an identity.
func (x *identityFixture) linked() int {
	return x.DB.View(x.Context()).Person.Query().Where(person.IdentityMACNotNil()).CountX(x.Context())
}

// An inviter always has the link, and so can make an account with the address of another person, whose password the inviter knows. The
// owner of the address never gets into that account by the provider.
func TestInviterCannotTakeAnAddress(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		made := x.member(as(x.ada, Owner), "victim@example.com", Manager)
		hanna := x.owner("hanna@example.com", hostel)
		x.person("subject of the victim", "victim@example.com")
		for what, enter := range map[string]func() (Session, error){
			"an invitation": func() (Session, error) { return x.join(x.inviteTo(hanna, hostel, "victim@example.com")) },
			"a sign-in":     x.signIn,
		} {
			if s, err := enter(); !fault.Has(err, fault.IdentityUnknown) || s != (Session{}) {
				x.Errorf("%s: %+v, %v", what, s, err)
			}
		}
		if who, err := x.authenticate(made.Token, hostel); err == nil && who.Role != "" {
			x.Errorf("the account that the inviter made has the role %s at the other property", who.Role)
		}
	})
}

// A person who is linked joins another property, and stays one person.
func TestKnownPersonAcceptsAtTheProvider(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		hanna, people := x.owner("hanna@example.com", hostel), x.people()
		made, err := x.join(x.inviteTo(hanna, hostel, bobEmail))
		x.must(err)
		for _, propertyID := range []string{hotel, hostel} {
			if who, err := x.authenticate(made.Token, propertyID); err != nil || who.ID == "" || made.PersonID != x.bob.PersonID {
				x.Errorf("at %s: %+v, %v", propertyID, who, err)
			}
		}
		if x.people() != people {
			x.Error("another person was created")
		}
	})
}

// The name of a new person is checked before the person visits the provider. That of a known one is ignored.
func TestNameIsCheckedBeforeTheVisit(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		unknown, known := x.inviteTo(x.ada, hotel, "carla@example.com"), x.inviteTo(x.owner("hanna@example.com", hostel), hostel, bobEmail)
		for _, test := range []struct {
			secret, name string
			want         fault.Reason // of the field
		}{
			{unknown, " ", fault.Required}, {unknown, strings.Repeat("é", maxName+1), fault.TooLong}, {unknown, strings.Repeat("é", maxName), ""}, {known, "", ""},
		} {
			_, err := x.BeginIdentityInvitation(x.Context(), test.secret, &test.name)
			var got fault.Reason
			if f := (*fault.Fault)(nil); errors.As(err, &f) && len(f.Fields) == 1 && f.Fields[0].Path == "name" {
				got, err = f.Fields[0].Reason, nil
			}
			if got != test.want || err != nil {
				x.Errorf("the name %q: %q, %v, want %q", test.name, got, err, test.want)
			}
		}
	})
}

// A ceremony counts for its own invitation: neither for another one, nor for a sign-in, nor once more.
func TestInvitationKeepsItsCeremony(t *testing.T) {
	eachWithProvider(t, func(x *identityFixture) {
		x.person("subject of Carla", "carla@example.com")
		first := x.inviteTo(x.ada, hotel, "carla@example.com")
		second := x.inviteTo(x.ada, hotel, "dora@example.com")
		if _, err := x.finishJoin(first, x.beginJoin(second)); !fault.Has(err, fault.IdentityRefused) {
			x.Errorf("the ceremony of another invitation: %v", err)
		}
		if _, err := x.finishJoin(first, x.begin()); !fault.Has(err, fault.IdentityRefused) {
			x.Errorf("the ceremony of a sign-in: %v", err)
		}
		if _, err := x.finish(x.beginJoin(first)); !fault.Has(err, fault.IdentityRefused) {
			x.Errorf("a sign-in with the ceremony of an invitation: %v", err)
		}
		if _, err := x.BeginIdentityInvitation(x.Context(), "lki_guess", nil); !fault.Has(err, fault.InvitationNotFound) {
			x.Errorf("a guessed link: %v", err)
		}
		b := x.beginJoin(first)
		_, err := x.finishJoin(first, b)
		x.must(err)
		third := x.inviteTo(x.ada, hotel, "emil@example.com")
		if _, err := x.finishJoin(third, b); !fault.Has(err, fault.IdentityRefused) {
			x.Errorf("a used ceremony: %v", err)
		}
	})
}
