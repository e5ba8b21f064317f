package staff

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/test/dbtest"
)

const (
	hotel    = "prp_1"
	hostel   = "prp_2"
	network  = "192.0.2.7/32"
	password = "correct horse battery"
)

// traced is the origin of calls whose origin no test checks.
var traced = Trace{Action: "test", From: "192.0.2.7"}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fixture is an installation with two properties and a fixed clock.
type fixture struct {
	*testing.T
	*Service
	clock *clock.Fixed
}

// each runs a test on every database.
func each(t *testing.T, f func(x *fixture)) {
	t.Helper()
	at := clock.At(noon)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		at.Set(noon)
		for _, p := range []string{hotel, hostel} {
			dbtest.InsertOnce(t, d, "properties", dbtest.Values{"id": p, "name": "Property " + p})
		}
		f(&fixture{t, &Service{DB: d, Keys: dbtest.Keys(t, d, hotel, hostel)}, at})
	}, dbtest.Clock(at))
}

func (x *fixture) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func (x *fixture) write(f func(tx *db.Tx) error) error { return x.DB.Write(x.Context(), f) }

// link makes a link for an owner of a property.
func (x *fixture) link(propertyID string) (l OwnerLink) {
	x.Helper()
	x.must(x.write(func(tx *db.Tx) (err error) {
		l, err = CreateOwnerLink(tx, x.Keys, propertyID, "test", traced)
		return err
	}))
	return l
}

// owner makes a person the owner of a property.
func (x *fixture) owner(email, propertyID string) Session {
	x.Helper()
	l := x.link(propertyID)
	made, _, err := x.AcceptOwnerLink(x.Context(), FirstOwner{PasswordSignIn: passwordSignIn(email, password), Secret: l.Secret, Name: "Ada"})
	x.must(err)
	return made
}

func passwordSignIn(email, password string) PasswordSignIn {
	return PasswordSignIn{Email: email, Password: password, Network: network, Device: "laptop", Trace: traced}
}

func (x *fixture) authenticate(token, propertyID string) (actor.Actor, error) {
	return Authenticate(x.DB.View(x.Context()), x.Keys, token, propertyID)
}

func (x *fixture) refused(what, token string) {
	x.Helper()
	if _, err := x.authenticate(token, hotel); !fault.Has(err, fault.InvalidCredentials) {
		x.Errorf("%s: got %v", what, err)
	}
}

func TestSessionEnds(t *testing.T) {
	each(t, func(x *fixture) {
		s := x.owner("ada@example.com", hotel)
		a, err := x.authenticate(s.Token, hotel)
		x.must(err)
		if a.Kind != actor.Staff || a.PersonID != s.PersonID || a.ID != s.PersonID || a.Role != string(Owner) || a.PropertyID != hotel || a.TokenID != s.ID || a.SecondFactor.Enrolled {
			x.Errorf("the actor is %+v", a)
		}
		if _, err := x.authenticate(s.Token, hostel); !fault.Has(err, fault.PropertyNotFound) {
			x.Errorf("another property: %v", err)
		}
		x.refused("a cut token", s.Token[:len(s.Token)-1])
		x.refused("another token", keyring.NewToken(keyring.PersonSession))
		x.refused("another kind of token", "lks_"+strings.TrimPrefix(s.Token, "lkd_"))

		// A used session lasts 12 hours, an unused one half an hour.
		for range 24 {
			a, err := x.authenticate(s.Token, hotel)
			x.must(err)
			if !UseIsOld(a, x.DB.View(x.Context()).Now()) && !x.DB.View(x.Context()).Now().Equal(noon) {
				x.Error("the use of a session is not due to be stored")
			}
			x.must(x.write(func(tx *db.Tx) error { return MarkUsed(tx, a) }))
			x.clock.Advance(sessionIdle - time.Second)
		}
		x.must(func() error { _, err := x.authenticate(s.Token, hotel); return err }())
		x.clock.Set(noon.Add(sessionLife))
		x.refused("after 12 hours", s.Token)

		x.clock.Set(noon)
		idle, err := x.SignIn(x.Context(), passwordSignIn("ADA@example.com", password))
		x.must(err)
		x.clock.Advance(sessionIdle)
		x.refused("after half an hour", idle.Token)
	})
}

func TestSessionsAreBounded(t *testing.T) {
	each(t, func(x *fixture) {
		first := x.owner("ada@example.com", hotel)
		for range maxSessions {
			x.clock.Advance(time.Second)
			if _, err := x.SignIn(x.Context(), passwordSignIn("ada@example.com", password)); err != nil {
				x.Fatal(err)
			}
		}
		x.refused("the oldest of too many", first.Token)
		rows, err := ListSessions(x.DB.View(x.Context()), first.PersonID)
		if err != nil || len(rows) != maxSessions {
			x.Errorf("%d sessions, %v", len(rows), err)
		}
		other := x.owner("bob@example.com", hotel)
		if err := x.write(func(tx *db.Tx) error { return EndSession(tx, other.PersonID, rows[0].ID) }); !fault.Has(err, fault.SessionNotFound) {
			x.Errorf("another person ends a session: %v", err)
		}
		x.must(x.write(func(tx *db.Tx) error { return EndAllSessions(tx, first.PersonID) }))
		if rows, err := ListSessions(x.DB.View(x.Context()), first.PersonID); err != nil || len(rows) != 0 {
			x.Errorf("%d sessions after signing out everywhere, %v", len(rows), err)
		}
		x.must(func() error { _, err := x.authenticate(other.Token, hotel); return err }())
	})
}

// A known address joins a second property with its password, and with no other.
func TestOwnerLink(t *testing.T) {
	each(t, func(x *fixture) {
		x.owner("ada@example.com", hotel)
		var first, second OwnerLink
		x.must(x.write(func(tx *db.Tx) (err error) {
			if first, err = CreateOwnerLink(tx, x.Keys, hostel, "test", traced); err != nil {
				return err
			}
			second, err = CreateOwnerLink(tx, x.Keys, hostel, "test", traced)
			return err
		}))
		join := func(secret, password string) (Session, error) {
			s, _, err := x.AcceptOwnerLink(x.Context(), FirstOwner{PasswordSignIn: passwordSignIn("ada@example.com", password), Secret: secret, Name: "Ada"})
			return s, err
		}
		for what, c := range map[string]struct {
			secret, password string
			want             fault.Reason
		}{
			"a replaced link":  {first.Secret, password, fault.InvitationNotFound},
			"no link":          {keyring.NewToken(keyring.PersonLink), password, fault.InvitationNotFound},
			"another password": {second.Secret, "some other password", fault.InvalidCredentials},
			"a short password": {second.Secret, "short", fault.InvalidFields},
		} {
			if _, err := join(c.secret, c.password); !fault.Has(err, c.want) {
				x.Errorf("%s: %v, want %s", what, err, c.want)
			}
		}
		s, err := join(second.Secret, password)
		x.must(err)
		roles, err := PropertyRoles(x.DB.View(x.Context()), s.PersonID)
		if err != nil || len(roles) != 2 || roles[0].PropertyID != hotel || roles[1].PropertyID != hostel || roles[1].Role != Owner {
			x.Errorf("roles %+v, %v", roles, err)
		}
		if _, err := join(second.Secret, password); !fault.Has(err, fault.InvitationNotFound) {
			x.Errorf("a used link: %v", err)
		}
		var late OwnerLink
		x.must(x.write(func(tx *db.Tx) (err error) {
			late, err = CreateOwnerLink(tx, x.Keys, "", "test", traced)
			return err
		}))
		x.clock.Advance(ownerLinkLife)
		if _, err := join(late.Secret, password); !fault.Has(err, fault.InvitationNotFound) {
			x.Errorf("a link of yesterday: %v", err)
		}
	})
}

// Guessing waits longer and longer, also for an address that no person has, and also after a restart: the counts are in the database.
func TestGuessingIsSlowed(t *testing.T) {
	each(t, func(x *fixture) {
		s := x.owner("ada@example.com", hotel)
		again := &Service{DB: x.DB, Keys: x.Keys} // as after a restart
		for i := range 5 {
			for _, email := range []string{"ada@example.com", "unknown@example.com"} {
				if _, err := again.SignIn(x.Context(), passwordSignIn(email, "wrong password")); !errors.Is(err, errSignIn) {
					x.Fatalf("failure %d of %s: %v", i+1, email, err)
				}
			}
		}
		for _, email := range []string{"ada@example.com", "unknown@example.com"} {
			_, err := x.SignIn(x.Context(), passwordSignIn(email, password))
			f, ok := fault.Of(err)
			if !ok || f.Reason != fault.TooManyAttempts || f.RetryAfter != time.Minute {
				x.Errorf("the right password of %s right after five wrong ones: %v", email, err)
			}
		}
		elsewhere := passwordSignIn("ada@example.com", password)
		elsewhere.Network = "198.51.100.1/32"
		if _, err := x.SignIn(x.Context(), elsewhere); err != nil {
			x.Errorf("from another network: %v", err)
		}
		x.clock.Advance(time.Minute)
		if _, err := x.SignIn(x.Context(), passwordSignIn("ada@example.com", password)); err != nil {
			x.Errorf("after the pause: %v", err)
		}
		x.must(x.write(func(tx *db.Tx) error {
			return tx.Person.UpdateOneID(s.PersonID).SetDisabledAt(tx.Now()).Exec(tx.Context())
		}))
		if _, err := x.SignIn(x.Context(), passwordSignIn("ada@example.com", password)); !errors.Is(err, errSignIn) {
			x.Errorf("a disabled person: %v", err)
		}
		x.refused("the session of a disabled person", s.Token)
	})
}

// A guesser with many networks never shuts a person out of a network from which the person signed in during the last 30 days.
func TestGuessingLocksNoPersonOut(t *testing.T) {
	each(t, func(x *fixture) {
		x.owner("ada@example.com", hotel)
		from := func(network, password string) error {
			c := passwordSignIn("ada@example.com", password)
			c.Network = network
			_, err := x.SignIn(x.Context(), c)
			return err
		}
		const office = "192.0.2.80/32"
		x.must(from(office, password))
		guess := func() {
			x.Helper()
			for i := range 100 {
				if err := from(fmt.Sprintf("198.51.100.%d/32", i), "wrong password"); !errors.Is(err, errSignIn) {
					x.wantReason("a guess", err, fault.TooManyAttempts)
				}
				x.clock.Advance(time.Minute)
			}
		}
		guess()
		x.wantReason("from a new network", from("203.0.113.5/32", password), fault.TooManyAttempts)
		x.must(from(office, password))
		x.wantReason("from a new network, after the person signed in", from("203.0.113.6/32", password), fault.TooManyAttempts)
		x.must(x.write(func(tx *db.Tx) error { _, err := DeleteExpired(tx, tx.Now(), 1000); return err }))
		guess()
		for range 5 {
			if err := from(office, "wrong password"); !errors.Is(err, errSignIn) {
				x.Errorf("a wrong password in a known network: %v", err)
			}
		}
		x.wantReason("after five wrong passwords in a known network", from(office, password), fault.TooManyAttempts)
		x.clock.Advance(knownNetwork.Period)
		guess()
		x.wantReason("30 days later", from(office, password), fault.TooManyAttempts)
	})
}

// Attempts at the same time do not all pass before one of them is counted.
func TestAttemptsAtTheSameTimeAreCounted(t *testing.T) {
	each(t, func(x *fixture) {
		x.owner("ada@example.com", hotel)
		failed := make(chan error)
		for range 12 {
			go func() {
				_, err := x.SignIn(context.WithoutCancel(x.Context()), passwordSignIn("ada@example.com", "wrong password"))
				failed <- err
			}()
		}
		compared := 0
		for range 12 {
			if err := <-failed; errors.Is(err, errSignIn) {
				compared++
			} else if !fault.Has(err, fault.TooManyAttempts) {
				x.Errorf("got %v", err)
			}
		}
		if compared != 5 {
			x.Errorf("%d passwords were compared, want 5", compared)
		}
	})
}

func TestDeleteExpired(t *testing.T) {
	each(t, func(x *fixture) {
		x.owner("ada@example.com", hotel)
		x.must(x.write(func(tx *db.Tx) error { _, err := CreateOwnerLink(tx, x.Keys, hotel, "test", traced); return err }))
		if _, err := x.SignIn(x.Context(), passwordSignIn("ada@example.com", "wrong password")); err == nil {
			x.Fatal("signed in")
		}
		remove := func() (n int) {
			x.must(x.write(func(tx *db.Tx) (err error) {
				n, err = DeleteExpired(tx, tx.Now(), 100)
				return err
			}))
			return n
		}
		if n := remove(); n != 0 {
			x.Errorf("deleted %d at once", n)
		}
		x.clock.Advance(3 * 24 * time.Hour)
		if n := remove(); n == 0 {
			x.Error("deleted nothing")
		}
		x.must(func() error { _, err := x.SignIn(x.Context(), passwordSignIn("ada@example.com", password)); return err }())
		x.must(x.write(func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), "DELETE FROM memberships WHERE property_id = $1", hotel)
			return err
		}))
		x.clock.Advance(30*24*time.Hour + time.Second)
		remove()
		for _, table := range []string{"people", "person_sessions", "person_invitations", "sign_in_attempts"} {
			var n int
			if _, err := x.DB.View(x.Context()).ReadOne("SELECT count(*) FROM "+table, nil, &n); err != nil || n != 0 {
				x.Errorf("%s has %d rows, %v", table, n, err)
			}
		}
	})
}
