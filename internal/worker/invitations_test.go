package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent/guestlink"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

func inGroup(id string) func(reservation.Patch) {
	return func(patch reservation.Patch) { patch[reservation.GroupID] = id }
}

// recipients returns the kinds of all mails with their recipients.
func (p *post) recipients() []string {
	p.Helper()
	out := []string{}
	for _, row := range p.deliver() {
		to, err := mail.Recipient(p.d.View(p.Context()), p.keys, row)
		if err != nil {
			p.Fatal(err)
		}
		out = append(out, row.Kind+" "+to)
	}
	return out
}

func (p *post) wantMails(what string, want ...string) {
	p.Helper()
	if diff := cmp.Diff(append([]string{}, want...), p.recipients()); diff != "" {
		p.Errorf("%s: %s", what, diff)
	}
}

const day = 24 * time.Hour

// A booker gets one mail for all rooms of a group, with a link for each.
func TestGroupGetsOneMail(t *testing.T) {
	eachPost(t, func(p *post) {
		p.book("1", "ana@example.com", 5*day, inGroup("G"))
		p.book("2", "ANA@example.com", 5*day, inGroup("G"))
		p.book("3", "bea@example.com", 5*day, inGroup("G"))
		p.invite()
		p.invite()
		p.wantMails("a group", "invitation ana@example.com", "invitation bea@example.com")
		for _, row := range p.all() {
			text := p.text(row)
			want := map[bool]int{true: 2, false: 1}[text.To == "ana@example.com"]
			if n := strings.Count(text.Text, "/g/l/"); n != want {
				p.Errorf("the mail to %s has %d links, want %d", text.To, n, want)
			}
		}
		p.clock.Advance(3 * day)
		p.invite()
		p.invite()
		p.wantMails("two days before", "invitation ana@example.com", "invitation bea@example.com", "reminder ana@example.com", "reminder bea@example.com")
	})
}

// A changed address ends the unused link at the former address, and the new one is invited.
func TestChangedAddressIsInvited(t *testing.T) {
	eachPost(t, func(p *post) {
		p.book("1", "old@example.com", 3*day)
		p.invite()
		p.deliver()
		p.clock.Advance(time.Second)
		p.book("1", "new@example.com", 3*day)
		p.invite()
		p.wantMails("after the change", "invitation old@example.com", "invitation new@example.com")
		for revoked, where := range map[bool]func() (int, error){
			true: func() (int, error) {
				return p.d.Read().GuestLink.Query().Where(guestlink.RevokedAtNotNil()).Count(p.Context())
			},
			false: func() (int, error) {
				return p.d.Read().GuestLink.Query().Where(guestlink.RevokedAtIsNil()).Count(p.Context())
			},
		} {
			if n, err := where(); err != nil || n != 1 {
				p.Errorf("%d links that are revoked: %v; want 1 (%v)", n, revoked, err)
			}
		}
	})
}

// A guest without an address that reaches the guest is not mailed, and staff are notified.
func TestStaffHearOfMissingAddresses(t *testing.T) {
	eachPost(t, func(p *post) {
		p.book("1", "", 3*day)
		p.book("2", "x.7@guest.booking.com", 3*day)
		p.invite()
		p.invite()
		p.wantMails("agencies' addresses")
		if all := p.notices(); len(all) != 2 || all[0].Kind != "noGuestAddress" {
			p.Fatalf("notices: %v", all)
		}
		p.clock.Advance(time.Second)
		p.book("2", "bea@example.com", 3*day)
		p.invite()
		p.wantMails("with a better address", "invitation bea@example.com")
	})
}

// A new integration sends no mail until staff, who see the count, switch its invitations on.
func TestInvitationsAreSwitchedOn(t *testing.T) {
	eachPost(t, func(p *post) {
		write(p.T, p.d, func(tx *db.Tx) error {
			return tx.Integration.UpdateOneID("int_one").ClearInvitationsAt().Exec(tx.Context())
		})
		p.book("1", "ana@example.com", 3*day, inGroup("G"))
		p.book("2", "ana@example.com", 3*day, inGroup("G"))
		p.book("3", "bea@example.com", 30*day)
		p.book("4", "", 3*day)
		p.invite()
		p.wantMails("before the switch")
		v := Invitations{Keys: p.keys, Jobs: p.queue, Reservations: p.stays}
		counts := func() mail.Counts {
			c, err := v.Preview(p.d.View(p.Context()), "prp_one", "int_one")
			if err != nil {
				p.Fatal(err)
			}
			return c
		}
		if diff := cmp.Diff(mail.Counts{Now: 1, Later: 1, NoAddress: 1}, counts()); diff != "" {
			p.Error(diff)
		}
		set := func(on bool) {
			p.clock.Advance(time.Second)
			write(p.T, p.d, func(tx *db.Tx) error { return v.Switch(tx, "prp_one", "int_one", on) })
		}
		set(true)
		p.invite()
		p.wantMails("after the switch", "invitation ana@example.com")
		if diff := cmp.Diff(mail.Counts{Enabled: true, Later: 1, NoAddress: 1}, counts()); diff != "" {
			p.Error(diff)
		}
		set(false)
		p.clock.Advance(20 * day)
		p.invite()
		p.wantMails("while they are off", "invitation ana@example.com")
		set(true)
		p.invite()
		p.wantMails("when they are on again", "invitation ana@example.com", "invitation bea@example.com")
	})
}

// A guest who has filled in the form, and one whose stay is canceled, are not reminded.
func TestNoReminderWithoutNeed(t *testing.T) {
	eachPost(t, func(p *post) {
		done := p.book("1", "ana@example.com", 5*day)
		p.book("2", "bea@example.com", 5*day)
		p.invite()
		dbtest.Insert(p, p.d, "guests", dbtest.Values{"id": "gst_one", "property_id": "prp_one", "reservation_id": done, "role": "main", "complete": true})
		p.clock.Advance(time.Second)
		p.book("2", "bea@example.com", 5*day, func(patch reservation.Patch) { patch[reservation.State] = "canceled" })
		p.clock.Advance(4 * day)
		p.invite()
		for _, row := range p.deliver() {
			if row.Kind != string(mail.Invitation) {
				p.Errorf("mailed: %s", row.Kind)
			}
		}
	})
}

// A mail that waits when its stay is canceled is not sent.
func TestCanceledStayGetsNoMail(t *testing.T) {
	eachPost(t, func(p *post) {
		p.book("1", "ana@example.com", 3*day)
		p.invite()
		p.clock.Advance(time.Second)
		p.book("1", "ana@example.com", 3*day, func(patch reservation.Patch) { patch[reservation.State] = "canceled" })
		if all := p.deliver(); len(all) != 1 || all[0].State != string(mail.Canceled) {
			p.Errorf("mails: %v", all)
		}
	})
}
