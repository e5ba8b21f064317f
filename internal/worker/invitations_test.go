package worker

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent/guestlink"
	"latchkey.dev/ent/guestsession"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

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

// settle waits until the groups count as complete, and sweeps.
func (p *post) settle() {
	p.Helper()
	p.invite()
	p.clock.Advance(2 * time.Minute)
	p.invite()
	p.invite()
}

func (p *post) change(pmsID, email string, in time.Duration, more ...func(reservation.Patch)) {
	p.Helper()
	p.clock.Advance(time.Second)
	p.book(pmsID, email, in-p.clock.Now().Sub(postBegin), more...)
}

func canceled(patch reservation.Patch) { patch[reservation.State] = "canceled" }

// links returns how many links each mail has, by age of the mails.
func (p *post) links() []int {
	p.Helper()
	counts := []int{}
	for _, row := range p.deliver() {
		n := 0
		if row.State == string(mail.InBox) {
			n = strings.Count(p.text(row).Text, "/g/l/")
		}
		counts = append(counts, n)
	}
	return counts
}

func (p *post) wantLinks(what string, want ...int) {
	p.Helper()
	if diff := cmp.Diff(want, p.links()); diff != "" {
		p.Errorf("%s: links in each mail: %s", what, diff)
	}
}

// A stay that is reinstated, and an address that returns, are invited again.
func TestInvitedAgain(t *testing.T) {
	eachPost(t, func(p *post) {
		p.change("1", "ana@example.com", 5*day)
		p.invite()
		p.deliver()
		for _, email := range []string{"bea@example.com", "ana@example.com"} {
			p.change("1", email, 5*day)
			p.invite()
			p.deliver()
		}
		p.wantMails("an address that returns", "invitation ana@example.com", "invitation bea@example.com", "invitation ana@example.com")
		p.change("1", "ana@example.com", 5*day, canceled)
		p.invite()
		if n, err := p.d.View(p.Context()).GuestLink.Query().Where(guestlink.RevokedAtIsNil()).Count(p.Context()); err != nil || n != 0 {
			p.Errorf("%d valid links of a canceled stay, %v", n, err)
		}
		p.change("1", "ana@example.com", 5*day)
		p.invite()
		p.invite()
		if n := len(p.deliver()); n != 4 {
			p.Errorf("%d mails after the stay was reinstated, want 4", n)
		}
		p.wantLinks("after the stay was reinstated", 1, 1, 1, 1)
	})
}

// An invitation that was dropped because the stay was canceled does not count.
func TestDroppedInvitationDoesNotCount(t *testing.T) {
	eachPost(t, func(p *post) {
		p.change("1", "ana@example.com", 5*day, inGroup("G"))
		p.change("2", "ana@example.com", 5*day, inGroup("G"))
		p.settle()
		p.change("2", "ana@example.com", 5*day, inGroup("G"), canceled)
		p.wantLinks("one room is canceled before the mail is sent", 1)
		p.change("2", "ana@example.com", 5*day, inGroup("G"))
		p.settle()
		p.wantLinks("the room is reinstated", 1, 1)
		p.change("9", "bea@example.com", 5*day)
		p.invite()
		p.change("9", "bea@example.com", 5*day, canceled)
		p.deliver()
		p.change("9", "bea@example.com", 5*day)
		p.invite()
		p.wantLinks("a single stay", 1, 1, 0, 1)
	})
}

// Links and the sessions of mailed links follow a stay that the PMS moves or prolongs. Shorter sessions do not.
func TestLinksFollowTheEndOfTheStay(t *testing.T) {
	eachPost(t, func(p *post) {
		p.change("1", "ana@example.com", 5*day)
		p.invite()
		p.deliver()
		soon := p.clock.Now().Add(time.Hour)
		for _, origin := range []string{guest.OriginMail, guest.OriginDoor, "ksk_1"} {
			dbtest.Insert(p, p.d, "guest_sessions", dbtest.Values{"id": "ses_" + origin, "property_id": "prp_one", "reservation_id": p.only(), "origin": origin, "mac": []byte(origin), "expires_at": soon})
		}
		p.change("1", "ana@example.com", 40*day)
		p.invite()
		view := p.d.View(p.Context())
		stay, err := view.Reservation.Get(p.Context(), p.only())
		if err != nil {
			p.Fatal(err)
		}
		want := stay.ToAt.Add(7 * day)
		links, err := view.GuestLink.Query().Where(guestlink.RevokedAtIsNil()).All(p.Context())
		if err != nil || len(links) != 1 || !links[0].ExpiresAt.Equal(want) {
			p.Fatalf("links %v, want the end %s; %v", links, want, err)
		}
		for id, end := range map[string]time.Time{"ses_mail": want, "ses_door": soon, "ses_ksk_1": soon} {
			if s, err := view.GuestSession.Get(p.Context(), id); err != nil || !s.ExpiresAt.Equal(end) {
				p.Errorf("%s ends at %v, want %s; %v", id, s, end, err)
			}
		}
		p.change("1", "ana@example.com", 5*day)
		p.invite()
		if l, err := p.d.View(p.Context()).GuestLink.Get(p.Context(), links[0].ID); err != nil || !l.ExpiresAt.Equal(want) {
			p.Errorf("a shorter stay ends the link at %v; %v", l, err)
		}
	})
}

// A changed address ends the link at the former one also when no mail is due.
func TestFormerAddressEndsAtOnce(t *testing.T) {
	eachPost(t, func(p *post) {
		p.change("1", "old@example.com", 5*day)
		p.invite()
		p.deliver()
		p.switchOff()
		dbtest.Insert(p, p.d, "guest_sessions", dbtest.Values{"id": "ses_old", "property_id": "prp_one", "reservation_id": p.only(), "origin": guest.OriginMail, "mac": []byte("old"), "expires_at": p.clock.Now().Add(9 * day)})
		dbtest.Insert(p, p.d, "guest_sessions", dbtest.Values{"id": "ses_kiosk", "property_id": "prp_one", "reservation_id": p.only(), "origin": guest.OriginDoor, "mac": []byte("kiosk"), "expires_at": p.clock.Now().Add(9 * day)})
		p.change("1", "new@example.com", 5*day)
		p.invite()
		if n, err := p.d.View(p.Context()).GuestLink.Query().Where(guestlink.RevokedAtIsNil()).Count(p.Context()); err != nil || n != 0 {
			p.Errorf("%d valid links at the former address, %v", n, err)
		}
		ended, err := p.d.View(p.Context()).GuestSession.Query().Where(guestsession.RevokedAtNotNil()).IDs(p.Context())
		if err != nil || len(ended) != 1 || ended[0] != "ses_old" {
			p.Errorf("the ended sessions are %v, %v; want that of the former address", ended, err)
		}
	})
}

// only returns the id of the only reservation.
func (p *post) only() string {
	p.Helper()
	id, err := p.d.View(p.Context()).Reservation.Query().OnlyID(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	return id
}

// More days before arrival invite the guests who are due then.
func TestRaisedInviteDays(t *testing.T) {
	eachPost(t, func(p *post) {
		p.change("1", "ana@example.com", 30*day)
		p.invite()
		p.wantMails("a month before")
		write(p.T, p.d, func(tx *db.Tx) error {
			days := 40
			_, err := property.UpdateCheckInSettings(tx, "prp_one", property.CheckInChange{InviteDays: &days})
			return err
		})
		p.invite()
		p.wantMails("a month before, with forty days", "invitation ana@example.com")
	})
}

// Rows that cannot be evaluated do not hold back others.
func TestFailingInvitations(t *testing.T) {
	eachPost(t, func(p *post) {
		for n := range invitationBatch + 1 {
			p.change("bad"+strconv.Itoa(n), "ana@example.com", 5*day)
		}
		write(p.T, p.d, func(tx *db.Tx) error {
			return tx.Reservation.Update().Where(entreservation.PropertyID("prp_one")).SetBooker([]byte("broken")).Exec(tx.Context())
		})
		p.change("1", "bea@example.com", 5*day)
		for range 2 {
			if err := p.sweep.Run(p.Context(), p.d); err == nil {
				p.Error("the failures are not reported")
			}
		}
		p.wantMails("next to rows that fail", "invitation bea@example.com")
	})
}

// A change that is committed while no process sweeps is found at the next start.
func TestChangeDuringRestart(t *testing.T) {
	eachPost(t, func(p *post) {
		p.change("1", "old@example.com", 1*day)
		p.invite()
		p.deliver()
		p.change("1", "new@example.com", 1*day)
		p.sweep = Invitations{Keys: p.keys, Jobs: p.queue, Reservations: p.stays}.Sweep()
		p.invite()
		p.wantMails("after a restart", "invitation old@example.com", "invitation new@example.com")
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
				return p.d.View(p.Context()).GuestLink.Query().Where(guestlink.RevokedAtNotNil()).Count(p.Context())
			},
			false: func() (int, error) {
				return p.d.View(p.Context()).GuestLink.Query().Where(guestlink.RevokedAtIsNil()).Count(p.Context())
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
		p.clock.Advance(6 * day)
		p.invite()
		for _, row := range p.notices() {
			if row.Kind == string(notice.NoGuestAddress) && notice.IsProblemOpen(row) {
				p.Errorf("open after a stay that the PMS never closed: %v", row)
			}
		}
	})
}

// A new integration sends no mail until staff, who see the count, switch its invitations on.
func TestInvitationsAreSwitchedOn(t *testing.T) {
	eachPost(t, func(p *post) {
		p.switchOff()
		p.book("1", "ana@example.com", 3*day, inGroup("G"))
		p.book("2", "ana@example.com", 3*day, inGroup("G"))
		p.book("3", "bea@example.com", 30*day)
		p.book("4", "", 3*day)
		erased := p.book("5", "", 3*day)
		write(p.T, p.d, func(tx *db.Tx) error {
			return tx.Reservation.UpdateOneID(erased).SetErasedAt(tx.Now()).Exec(tx.Context())
		})
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
		p.settle()
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
