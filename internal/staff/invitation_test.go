package staff

import (
	"fmt"
	"testing"
	"time"

	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// The link of an invitation is that of the person who invited last: a colleague gets another one, which ends when the colleague leaves.
func TestColleagueGetsAnotherLink(t *testing.T) {
	each(t, func(x *fixture) {
		ada := as(x.owner("ada@example.com", hotel), Owner)
		dan := as(x.member(ada, "dan@example.com", Manager), Manager)
		first, _, err := x.invite(ada, "bob@example.com", FrontDesk)
		x.must(err)
		second, isNew, err := x.invite(dan, "bob@example.com", FrontDesk)
		x.must(err)
		if !isNew || second.Secret == first.Secret || second.ID != first.ID {
			x.Errorf("the colleague got %+v, was %+v", second, first)
		}
		_, err = x.ViewInvitation(x.Context(), first.Secret)
		x.wantReason("the former link", err, fault.InvitationNotFound)
		lower := FrontDesk
		erin := as(x.member(ada, "erin@example.com", Manager), Manager)
		third, _, err := x.invite(erin, "carl@example.com", FrontDesk)
		x.must(err)
		x.must(x.change(ada, erin.PersonID, AccessChange{Role: &lower}))
		_, err = x.accept(third.Secret, password, "")
		x.wantReason("the link of a person with a lower role", err, fault.InvitationNotFound)
		x.must(x.remove(ada, dan.PersonID))
		_, err = x.ViewInvitation(x.Context(), second.Secret)
		x.wantReason("the link of a person who left", err, fault.InvitationNotFound)
	})
}

// The links of a token end with it: a thief of a token does not get back in by an invitation of their own.
func TestLinksEndWithTheirToken(t *testing.T) {
	each(t, func(x *fixture) {
		token := func(kind credential.Kind, ttl time.Duration) (made *credential.Row) {
			x.must(x.write(func(tx *db.Tx) (err error) {
				made, _, err = credential.Mint(tx, x.Keys, credential.Spec{Kind: kind, PropertyID: hotel, Role: credential.RoleOwner, TTL: ttl})
				return err
			}))
			return made
		}
		revoke := func(row *credential.Row) {
			x.must(x.write(func(tx *db.Tx) error { _, err := credential.Revoke(tx, row.ID); return err }))
		}
		script, operator, brief := token(credential.Staff, 0), token(credential.Operator, 0), token(credential.Staff, time.Hour)
		invite := func(author, email string) (Caller, Invitation) {
			by := Caller{Role: Owner, Author: author}
			i, _, err := x.invite(by, email, Manager)
			x.must(err)
			return by, i
		}
		byScript, bob := invite("staff:"+script.ID, "bob@example.com")
		_, carl := invite("staff:"+brief.ID, "carl@example.com")
		_, dan := invite("operator:"+operator.ID, "dan@example.com")
		bySocket, eve := invite("operator:socket", "eve@example.com")
		var first OwnerLink
		x.must(x.write(func(tx *db.Tx) (err error) {
			first, err = CreateOwnerLink(tx, x.Keys, hotel, "operator:"+operator.ID, traced)
			return err
		}))
		open := func(what string, want int) {
			x.Helper()
			list, err := ListInvitations(x.DB.View(x.Context()), x.Keys, hotel)
			if err != nil || len(list) != want {
				x.Errorf("%s: %d open invitations, %v, want %d", what, len(list), err, want)
			}
		}
		open("with valid tokens", 4)
		revoke(script)
		revoke(operator)
		x.clock.Advance(time.Hour)
		for what, i := range map[string]Invitation{"a revoked token": bob, "an expired token": carl, "a revoked token of an operator": dan} {
			_, err := x.ViewInvitation(x.Context(), i.Secret)
			x.wantReason("view the link of "+what, err, fault.InvitationNotFound)
			_, err = x.accept(i.Secret, password, "")
			x.wantReason("accept by the link of "+what, err, fault.InvitationNotFound)
		}
		_, _, err := x.AcceptOwnerLink(x.Context(), FirstOwner{PasswordSignIn: passwordSignIn("frank@example.com", password), Secret: first.Secret, Name: "Frank"})
		x.wantReason("the owner's link of a revoked token", err, fault.InvitationNotFound)
		x.wantReason("a new link", x.write(func(tx *db.Tx) error { _, err := Reinvite(tx, x.Keys, byScript, hotel, bob.ID); return err }), fault.InvitationNotFound)
		open("without", 1)
		if _, err := x.accept(eve.Secret, password, ""); err != nil {
			x.Errorf("an invitation from the socket: %v", err)
		}
		next, isNew, err := x.invite(bySocket, "bob@example.com", Manager)
		if err != nil || !isNew || next.ID == bob.ID {
			x.Errorf("an invitation after the ended one: %+v, new: %v, %v", next, isNew, err)
		}
	})
}

func TestInvitation(t *testing.T) {
	each(t, func(x *fixture) {
		ada := as(x.owner("ada@example.com", hotel), Owner)
		first, isNew, err := x.invite(ada, "Bob@example.com", FrontDesk)
		x.must(err)
		again, isNewAgain, err := x.invite(ada, " bob@EXAMPLE.com", FrontDesk)
		x.must(err)
		if !isNew || isNewAgain || again != first {
			x.Errorf("the same invitation again: %+v, was %+v", again, first)
		}
		seen, err := x.ViewInvitation(x.Context(), first.Secret)
		x.must(err)
		if seen.Email != "Bob@example.com" || seen.Role != FrontDesk || seen.PropertyName != "Property "+hotel || seen.Known || !seen.EndsAt.Equal(noon.Add(invitationLife)) {
			x.Errorf("the holder of the link sees %+v", seen)
		}
		other, isNew, err := x.invite(ada, "bob@example.com", Manager)
		x.must(err)
		if !isNew || other.ID != first.ID || other.Secret == first.Secret {
			x.Errorf("another role: %+v", other)
		}
		_, err = x.accept(first.Secret, password, "")
		x.wantReason("the link of the former role", err, fault.InvitationNotFound)
		var resent Invitation
		x.must(x.write(func(tx *db.Tx) error { resent, err = Reinvite(tx, x.Keys, ada, hotel, first.ID); return err }))
		_, err = x.accept(other.Secret, password, "")
		x.wantReason("the link before the new one", err, fault.InvitationNotFound)
		if _, _, err := x.AcceptOwnerLink(x.Context(), FirstOwner{PasswordSignIn: passwordSignIn("eve@example.com", password), Secret: resent.Secret, Name: "Eve"}); !fault.Has(err, fault.InvitationNotFound) {
			x.Errorf("an invitation makes an owner with another address: %v", err)
		}
		_, err = x.accept(resent.Secret, "short", "")
		x.wantReason("a short password", err, fault.InvalidFields)
		bob, err := x.accept(resent.Secret, password, "")
		x.must(err)
		if a, err := x.authenticate(bob.Token, hotel); err != nil || a.Role != string(Manager) {
			x.Errorf("the invited person is %+v, %v", a, err)
		}
		_, err = x.accept(resent.Secret, password, "")
		x.wantReason("a used link", err, fault.InvitationNotFound)
		_, _, err = x.invite(ada, "bob@example.com", FrontDesk)
		x.wantReason("invite a member", err, fault.AlreadyExists)

		late, _, err := x.invite(ada, "late@example.com", FrontDesk)
		x.must(err)
		x.clock.Advance(invitationLife)
		_, err = x.accept(late.Secret, password, "")
		x.wantReason("a link of seven days ago", err, fault.InvitationNotFound)
		if open, err := ListInvitations(x.DB.View(x.Context()), x.Keys, hotel); err != nil || len(open) != 0 {
			x.Errorf("open invitations: %+v, %v", open, err)
		}
		_, err = x.ViewInvitation(x.Context(), late.Secret)
		x.wantReason("view a link of seven days ago", err, fault.InvitationNotFound)
	})
}

func TestInvitationIsAcceptedOnce(t *testing.T) {
	each(t, func(x *fixture) {
		ada := as(x.owner("ada@example.com", hotel), Owner)
		i, _, err := x.invite(ada, "bob@example.com", FrontDesk)
		x.must(err)
		accept := func() error { _, err := x.accept(i.Secret, password, ""); return err }
		if errs := atOnce(accept, accept, accept); succeeded(errs) != 1 {
			x.Errorf("accepted by three at once: %v", errs)
		}
		i, _, err = x.invite(ada, "eve@example.com", FrontDesk)
		x.must(err)
		withdraw := func() error {
			return x.write(func(tx *db.Tx) error { return WithdrawInvitation(tx, ada, hotel, i.ID) })
		}
		errs := atOnce(withdraw, func() error { _, err := x.accept(i.Secret, password, ""); return err })
		members, err := ListMembers(x.DB.View(x.Context()), x.Keys, hotel)
		x.must(err)
		want := 2 // withdrawn
		if errs[1] == nil {
			want = 3 // accepted
		}
		if succeeded(errs) != 1 || len(members) != want {
			x.Errorf("withdrawn and accepted at once: %v, %d members, want %d", errs, len(members), want)
		}
		i, _, err = x.invite(ada, "carl@example.com", FrontDesk)
		x.must(err)
		x.must(withdraw())
		_, err = x.accept(i.Secret, password, "")
		x.wantReason("accept after the withdrawal", err, fault.InvitationNotFound)
		x.wantReason("withdraw again", withdraw(), fault.InvitationNotFound)
	})
}

// An expired invitation holds nothing back until the sweep deletes it: neither a role below its own nor a place among the open ones.
func TestExpiredInvitationsDoNotCount(t *testing.T) {
	each(t, func(x *fixture) {
		ada := as(x.owner("ada@example.com", hotel), Owner)
		bob := as(x.member(ada, "bob@example.com", Manager), Manager)
		former, _, err := x.invite(ada, "carl@example.com", Owner)
		x.must(err)
		for i := range maxInvitations - 1 {
			_, _, err := x.invite(ada, fmt.Sprintf("guest%d@example.com", i), FrontDesk)
			x.must(err)
		}
		_, _, err = x.invite(ada, "eve@example.com", FrontDesk)
		x.wantReason("one open invitation too many", err, fault.TooMany)
		x.clock.Advance(invitationLife)
		again, isNew, err := x.invite(bob, "carl@example.com", FrontDesk)
		x.must(err)
		if !isNew || again.ID == former.ID || again.Round != 0 {
			x.Errorf("the invitation after the expired one is %+v, new: %v", again, isNew)
		}
		_, _, err = x.invite(bob, "eve@example.com", FrontDesk)
		x.must(err)
	})
}

func TestManagersInviteBelowThem(t *testing.T) {
	each(t, func(x *fixture) {
		ada := as(x.owner("ada@example.com", hotel), Owner)
		bob := as(x.member(ada, "bob@example.com", Manager), Manager)
		for role, want := range map[Role]fault.Reason{Owner: fault.RoleAboveYours, Manager: fault.RoleAboveYours, FrontDesk: "", Housekeeping: ""} {
			_, _, err := x.invite(bob, string(role)+"@example.com", role)
			if want == "" && err != nil || want != "" && !fault.Has(err, want) {
				x.Errorf("a manager invites a %s: %v", role, err)
			}
		}
		i, _, err := x.invite(ada, "carl@example.com", Owner)
		x.must(err)
		_, _, err = x.invite(bob, "carl@example.com", FrontDesk)
		x.wantReason("a manager replaces the invitation of an owner", err, fault.RoleAboveYours)
		x.wantReason("a manager replaces the link of an owner", x.write(func(tx *db.Tx) error { _, err := Reinvite(tx, x.Keys, bob, hotel, i.ID); return err }), fault.RoleAboveYours)
		x.wantReason("a manager withdraws the invitation of an owner", x.write(func(tx *db.Tx) error { return WithdrawInvitation(tx, bob, hotel, i.ID) }), fault.RoleAboveYours)
		x.wantReason("an invitation of another property", x.write(func(tx *db.Tx) error { return WithdrawInvitation(tx, ada, hostel, i.ID) }), fault.InvitationNotFound)
	})
}
