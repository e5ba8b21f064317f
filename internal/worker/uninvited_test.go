package worker

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// switchOff switches the invitations off.
func (p *post) switchOff() {
	p.Helper()
	write(p.T, p.d, func(tx *db.Tx) error {
		return tx.Integration.UpdateOneID("int_one").ClearInvitationsAt().Exec(tx.Context())
	})
}

// Without invitations, too, the code of a guest who checked in here is mailed to the address that the PMS adds later, and then to another one.
func TestKeyFollowsTheAddressWithoutInvitations(t *testing.T) {
	eachPost(t, func(p *post) {
		p.switchOff()
		p.room("spc_one", "Room 204")
		stay := p.book("1", "", -time.Hour, started("spc_one"))
		dbtest.Insert(p, p.d, "stays", dbtest.Values{"id": "sty_one", "property_id": "prp_one", "reservation_id": stay, "began_at": p.clock.Now()})
		change := func(email string) {
			p.change("1", email, -time.Hour, started("spc_one"))
			p.invite()
			p.publish()
			p.clock.Advance(keyPatience)
		}
		p.publish()
		p.invite()
		p.clock.Advance(keyPatience)
		if all := p.deliver(); len(all) != 1 || all[0].Failure != string(mail.FailedAddress) {
			p.Fatalf("%d mails without an address", len(all))
		}
		change("ana@example.com")
		change("ana@example.com")
		if all := p.deliver(); len(all) != 2 || all[1].Kind != string(mail.Key) || p.text(all[1]).To != "ana@example.com" {
			p.Fatalf("%d mails after the PMS added the address, want 2", len(all))
		}
		change("bea@example.com")
		change("bea@example.com")
		if all := p.deliver(); len(all) != 3 || p.text(all[2]).To != "bea@example.com" {
			p.Fatalf("%d mails after the PMS changed the address, want 3", len(all))
		}
		if works := p.working(); !slices.Equal(works, []bool{false, true}) {
			p.Errorf("links: %v", works)
		}
	})
}

// A guest who got the code by mail reads of a move, also to a room without a lock, after the invitations were switched off.
func TestKeyFollowsTheStayWithoutInvitations(t *testing.T) {
	eachPost(t, func(p *post) {
		p.room("spc_one", "Room 204")
		p.rooms("spc_two", "Room 305")
		p.book("1", "ana@example.com", -time.Hour, started("spc_one"))
		p.publish()
		p.clock.Advance(keyPatience)
		p.deliver()
		p.switchOff()
		p.change("1", "ana@example.com", -time.Hour, started("spc_two"))
		p.publish()
		p.invite()
		p.clock.Advance(keyPatience)
		p.wantMails("after the move", "key ana@example.com", "keyChanged ana@example.com")
		p.change("1", "bea@example.com", -time.Hour, started("spc_two"))
		p.publish()
		p.invite()
		p.clock.Advance(keyPatience)
		if all := p.deliver(); len(all) != 3 || all[2].Kind != string(mail.KeyChanged) || all[2].State != string(mail.InBox) || p.text(all[2]).To != "bea@example.com" {
			p.Errorf("%d mails after the PMS changed the address, want 3", len(all))
		}
	})
}

// A link that staff mailed follows the dates of the stay, and ends with it, also without invitations. It is no invitation.
func TestLinksFollowTheStayWithoutInvitations(t *testing.T) {
	eachPost(t, func(p *post) {
		p.switchOff()
		stay := p.book("1", "ana@example.com", 5*day)
		write(p.T, p.d, func(tx *db.Tx) error {
			_, err := p.mails.OrderLink(tx, mail.LinkOrder{PropertyID: "prp_one", ReservationID: stay})
			return err
		})
		p.deliver()
		p.invite()
		p.change("1", "ana@example.com", 40*day)
		p.invite()
		link := p.d.View(p.Context()).GuestLink.Query().OnlyX(p.Context())
		row := p.d.View(p.Context()).Reservation.GetX(p.Context(), stay)
		if want := row.ToAt.Add(7 * day); !link.ExpiresAt.Equal(want) {
			p.Errorf("the link ends at %v, want %v", link.ExpiresAt, want)
		}
		p.change("1", "ana@example.com", 40*day, canceled, func(patch reservation.Patch) { patch[reservation.Number] = "N2" })
		p.invite()
		if link = p.d.View(p.Context()).GuestLink.Query().OnlyX(p.Context()); link.RevokedAt == nil {
			p.Error("the link to a canceled stay works")
		}
		p.clock.Advance(30 * day)
		p.invite()
		p.wantMails("in the end", "link ana@example.com")
	})
}
