package staff

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

func TestAccessChangeProblem(t *testing.T) {
	owner, manager, script := Caller{PersonID: "prs_1", Role: Owner}, Caller{PersonID: "prs_1", Role: Manager}, Caller{Role: Owner}
	active := func(r Role) Access { return Access{Role: r} }
	disabled := func(r Role) Access { return Access{r, true} }
	for what, c := range map[string]struct {
		by       Caller
		person   string
		from, to Access
		owners   int
		want     fault.Reason
	}{
		"an owner promotes":                        {owner, "prs_2", active(FrontDesk), active(Owner), 1, ""},
		"an owner demotes another owner":           {owner, "prs_2", active(Owner), active(Manager), 1, ""},
		"an owner demotes the last other owner":    {owner, "prs_2", active(Owner), active(Manager), 0, fault.LastOwner},
		"an owner disables the last other owner":   {owner, "prs_2", active(Owner), disabled(Owner), 0, fault.LastOwner},
		"an owner removes the last other owner":    {owner, "prs_2", active(Owner), Access{}, 0, fault.LastOwner},
		"an owner removes a disabled owner":        {owner, "prs_2", disabled(Owner), Access{}, 0, ""},
		"an owner enables an owner":                {owner, "prs_2", disabled(Owner), active(Owner), 0, ""},
		"an owner demotes themselves":              {owner, "prs_1", active(Owner), active(Manager), 5, fault.OwnMembership},
		"an owner removes themselves":              {owner, "prs_1", active(Owner), Access{}, 5, fault.OwnMembership},
		"an owner disables themselves":             {owner, "prs_1", active(Owner), disabled(Owner), 5, fault.OwnMembership},
		"no change of the last owner":              {owner, "prs_1", active(Owner), active(Owner), 0, ""},
		"a manager changes a role below":           {manager, "prs_2", active(FrontDesk), active(Housekeeping), 1, ""},
		"a manager removes a role below":           {manager, "prs_2", active(FrontDesk), Access{}, 1, ""},
		"a manager makes a manager":                {manager, "prs_2", active(FrontDesk), active(Manager), 1, fault.RoleAboveYours},
		"a manager makes an owner":                 {manager, "prs_2", active(FrontDesk), active(Owner), 1, fault.RoleAboveYours},
		"a manager disables a manager":             {manager, "prs_2", active(Manager), disabled(Manager), 1, fault.RoleAboveYours},
		"a manager removes an owner":               {manager, "prs_2", active(Owner), Access{}, 1, fault.RoleAboveYours},
		"a manager makes themselves owner":         {manager, "prs_1", active(Manager), active(Owner), 1, fault.OwnMembership},
		"the front desk":                           {Caller{PersonID: "prs_1", Role: FrontDesk}, "prs_2", active(Housekeeping), Access{}, 1, fault.RoleAboveYours},
		"a caller who was removed":                 {Caller{PersonID: "prs_1"}, "prs_2", active(Housekeeping), Access{}, 1, fault.RoleAboveYours},
		"an owner's script demotes":                {script, "prs_1", active(Owner), active(Manager), 1, ""},
		"an owner's script removes the last owner": {script, "prs_1", active(Owner), Access{}, 0, fault.LastOwner},
	} {
		err := accessChangeProblem(c.by, c.person, c.from, c.to, c.owners)
		if c.want == "" && err != nil || c.want != "" && !fault.Has(err, c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

// as returns a signed-in person as the caller that manages people.
func as(s Session, role Role) Caller { return Caller{s.PersonID, role, author(s.PersonID)} }

func (x *fixture) invite(by Caller, email string, role Role) (i Invitation, isNew bool, err error) {
	x.Helper()
	err = x.write(func(tx *db.Tx) error {
		i, isNew, err = Invite(tx, x.Keys, by, hotel, email, role)
		return err
	})
	return i, isNew, err
}

func (x *fixture) accept(secret, password, code string) (Session, error) {
	s, _, err := x.AcceptInvitation(x.Context(), Acceptance{PasswordSignIn: passwordSignIn("", password), Secret: secret, Name: "Bob", Code: code})
	return s, err
}

// member invites a person and accepts the invitation.
func (x *fixture) member(by Caller, email string, role Role) Session {
	x.Helper()
	i, _, err := x.invite(by, email, role)
	x.must(err)
	s, err := x.accept(i.Secret, password, "")
	x.must(err)
	return s
}

func (x *fixture) change(by Caller, personID string, c AccessChange) error {
	return x.write(func(tx *db.Tx) error {
		_, err := ChangeMember(tx, x.Keys, by, hotel, personID, c)
		return err
	})
}

func (x *fixture) remove(by Caller, personID string) error {
	return x.write(func(tx *db.Tx) error { return RemoveMember(tx, x.Keys, by, hotel, personID) })
}

func (x *fixture) wantReason(what string, err error, want fault.Reason) {
	x.Helper()
	if !fault.Has(err, want) {
		x.Errorf("%s: %v, want %s", what, err, want)
	}
}

// A known address proves its password and its second factor before it joins another property.
func TestKnownPersonAcceptsInvitation(t *testing.T) {
	each(t, func(x *fixture) {
		x.Failed = NewFailures(x.DB, x.Keys, nil)
		secret, recovery, session := x.enrol(x.owner("ada@example.com", hostel))
		bob := as(x.owner("bob@example.com", hotel), Owner)
		i, _, err := x.invite(bob, "ADA@example.com", Housekeeping)
		x.must(err)
		if seen, err := x.ViewInvitation(x.Context(), i.Secret); err != nil || !seen.Known {
			x.Errorf("the link says %+v, %v", seen, err)
		}
		_, err = x.accept(i.Secret, "some other password", "")
		x.wantReason("another password", err, fault.InvalidCredentials)
		for range 6 { // a right password without a code is no failed attempt
			_, err = x.accept(i.Secret, password, "")
			x.wantReason("no code", err, fault.SecondFactorRequired)
		}
		waiting := len(x.Failed.queue)
		if _, err = x.accept(i.Secret, password, "000000"); !isWrongCode(err) {
			x.Errorf("a wrong code: %v", err)
		}
		if n := len(x.Failed.queue); n != waiting+1 {
			x.Errorf("%d entries wait after a wrong code, want %d", n, waiting+1)
		}
		if _, err := x.authenticate(session.Token, hotel); !fault.Has(err, fault.PropertyNotFound) {
			x.Errorf("a failed attempt opens the property: %v", err)
		}
		x.clock.Advance(time.Minute)
		s, err := x.accept(i.Secret, password, x.code(secret))
		x.must(err)
		if a, err := x.authenticate(s.Token, hotel); err != nil || a.Role != string(Housekeeping) || !a.SecondFactor.Suffices(x.DB.View(x.Context()).Now()) {
			x.Errorf("the session is %+v, %v", a, err)
		}
		x.must(x.remove(bob, s.PersonID))
		i, _, err = x.invite(bob, "ada@example.com", FrontDesk)
		x.must(err)
		if _, err := x.accept(i.Secret, password, recovery[0]); err != nil {
			x.Errorf("with a recovery code: %v", err)
		}
	})
}

func TestAccessOfAPersonEnds(t *testing.T) {
	each(t, func(x *fixture) {
		ada := as(x.owner("ada@example.com", hotel), Owner)
		bob := x.member(ada, "bob@example.com", Manager)
		x.owner("bob@example.com", hostel)
		by := as(bob, Manager)
		yes, no, desk := true, false, FrontDesk
		open, _, err := x.invite(by, "friend@example.com", FrontDesk)
		x.must(err)

		x.must(x.change(ada, bob.PersonID, AccessChange{Disabled: &yes}))
		if _, err := x.authenticate(bob.Token, hotel); !fault.Has(err, fault.PropertyNotFound) {
			x.Errorf("a disabled person: %v", err)
		}
		if _, err := x.authenticate(bob.Token, hostel); err != nil {
			x.Errorf("the other property of a disabled person: %v", err)
		}
		_, err = x.accept(open.Secret, password, "")
		x.wantReason("an invitation of a disabled person", err, fault.InvitationNotFound)
		_, _, err = x.invite(by, "friend@example.com", FrontDesk)
		x.wantReason("a disabled person invites with a call that was authorized before", err, fault.RoleAboveYours)

		x.must(x.change(ada, bob.PersonID, AccessChange{Disabled: &no, Role: &desk}))
		if a, err := x.authenticate(bob.Token, hotel); err != nil || a.Role != string(FrontDesk) {
			x.Errorf("an enabled person: %+v, %v", a, err)
		}
		x.must(x.remove(ada, bob.PersonID))
		if _, err := x.authenticate(bob.Token, hotel); !fault.Has(err, fault.PropertyNotFound) {
			x.Errorf("a removed person: %v", err)
		}
		x.wantReason("remove a person again", x.remove(ada, bob.PersonID), fault.PersonNotFound)
		x.wantReason("remove a person of another property", x.remove(ada, x.owner("eve@example.com", hostel).PersonID), fault.PersonNotFound)
		members, err := ListMembers(x.DB.View(x.Context()), x.Keys, hotel)
		if err != nil || len(members) != 1 || members[0].ID != ada.PersonID || members[0].Email != "ada@example.com" {
			x.Errorf("members %+v, %v", members, err)
		}
		var reader *ent.Token
		x.must(x.write(func(tx *db.Tx) (err error) {
			reader, _, err = credential.CreateStaffToken(tx, x.Keys, hotel, "Night audit", credential.RoleViewer, 0)
			return err
		}))
		if names, err := Names(x.DB.View(x.Context()), x.Keys, hotel, []string{author(reader.ID)}); err != nil || len(names) != 1 || names[author(reader.ID)] != "Night audit" {
			x.Errorf("names of tokens %v, %v", names, err)
		}
		if names, err := Names(x.DB.View(x.Context()), x.Keys, hostel, []string{author(reader.ID)}); err != nil || len(names) != 0 {
			x.Errorf("names of tokens of another property %v, %v", names, err)
		}
		recorded := []string{ada.Author, by.Author, author(x.owner("mallory@example.com", hostel).PersonID), "staff:tok_1", "pms", ""}
		names, err := Names(x.DB.View(x.Context()), x.Keys, hotel, recorded)
		if err != nil || len(names) != 2 || names[ada.Author] != members[0].Name || names[by.Author] != "Bob" {
			x.Errorf("names %v, %v", names, err)
		}
		x.clock.Advance(400 * 24 * time.Hour)
		x.must(x.write(func(tx *db.Tx) error { _, err := DeleteFormer(tx, tx.Now().Add(-time.Hour), 10); return err }))
		if names, err := Names(x.DB.View(x.Context()), x.Keys, hotel, recorded); err != nil || len(names) != 1 {
			x.Errorf("names %v after the audit log was deleted, %v", names, err)
		}
	})
}

// The link of an owner makes a member owner, also one whose access is disabled. The audit log has it.
func TestOwnerLinkOfAMember(t *testing.T) {
	each(t, func(x *fixture) {
		ada := as(x.owner("ada@example.com", hotel), Owner)
		bob := x.member(ada, "bob@example.com", FrontDesk)
		yes, desk := true, FrontDesk
		for _, c := range []AccessChange{{}, {Role: &desk, Disabled: &yes}} {
			x.must(x.change(ada, bob.PersonID, c))
			before := len(x.entries(hotel))
			s := x.owner("bob@example.com", hotel)
			if a, err := x.authenticate(s.Token, hotel); err != nil || s.PersonID != bob.PersonID || a.Role != string(Owner) {
				x.Errorf("after %+v: %+v, %v", c, a, err)
			}
			if list := x.entries(hotel)[before:]; len(list) != 2 || !strings.HasPrefix(list[1], author(bob.PersonID)+" ") {
				x.Errorf("the audit log: %q", list)
			}
		}
		members, err := ListMembers(x.DB.View(x.Context()), x.Keys, hotel)
		if err != nil || len(members) != 2 {
			x.Errorf("members %+v, %v", members, err)
		}
	})
}

// A person who joins by another way has no second invitation that would bring them back after they were removed.
func TestJoiningEndsOtherInvitations(t *testing.T) {
	each(t, func(x *fixture) {
		ada := as(x.owner("ada@example.com", hotel), Owner)
		i, _, err := x.invite(ada, "bob@example.com", FrontDesk)
		x.must(err)
		bob := x.owner("bob@example.com", hotel)
		x.must(x.remove(ada, bob.PersonID))
		_, err = x.accept(i.Secret, password, "")
		x.wantReason("a former invitation", err, fault.InvitationNotFound)
	})
}

// atOnce runs functions at the same time and returns their errors, in the order of the functions.
func atOnce(all ...func() error) []error {
	errs := make([]error, len(all))
	var ran sync.WaitGroup
	for i, f := range all {
		ran.Go(func() { errs[i] = f() })
	}
	ran.Wait()
	return errs
}

func succeeded(errs []error) (n int) {
	for _, err := range errs {
		if err == nil {
			n++
		}
	}
	return n
}

// Of two owners who demote each other at the same time, one stays owner.
func TestLastOwnerIsKept(t *testing.T) {
	each(t, func(x *fixture) {
		ada, bob := as(x.owner("ada@example.com", hotel), Owner), as(x.owner("bob@example.com", hotel), Owner)
		desk, yes := FrontDesk, true
		for round := range 6 {
			errs := atOnce(
				func() error { return x.change(ada, bob.PersonID, AccessChange{Role: &desk}) },
				func() error {
					if round%2 == 0 {
						return x.remove(bob, ada.PersonID)
					}
					return x.change(bob, ada.PersonID, AccessChange{Disabled: &yes})
				})
			members, err := ListMembers(x.DB.View(x.Context()), x.Keys, hotel)
			x.must(err)
			owners := slices.DeleteFunc(members, func(m Member) bool { return !m.isActiveOwner() })
			if len(owners) != 1 || succeeded(errs) != 1 {
				x.Fatalf("round %d: %d owners, %v", round, len(owners), errs)
			}
			script := Caller{Role: Owner, Author: "operator:socket"}
			owner, no := Owner, false
			x.must(x.change(script, bob.PersonID, AccessChange{Role: &owner, Disabled: &no}))
			if err := x.change(script, ada.PersonID, AccessChange{Role: &owner, Disabled: &no}); fault.Has(err, fault.PersonNotFound) {
				x.owner("ada@example.com", hotel)
			}
		}
	})
}
