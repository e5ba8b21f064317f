package worker

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/smtptest"
)

// bindMailed opens the link of a mail on a device.
func (p *post) bindMailed(row *mail.Row) (device guest.Session) {
	p.Helper()
	secret := mailedLink.FindStringSubmatch(p.text(row).Text)[1]
	write(p.T, p.d, func(tx *db.Tx) (err error) { device, err = guest.BindLink(tx, p.keys, secret, ""); return err })
	return device
}

// give stores an address as the guest of a session gives it on the page.
func (p *post) give(s guest.Session, address string) {
	p.Helper()
	a, err := guest.Authenticate(p.d.View(p.Context()), p.keys, s.Token)
	if err != nil {
		p.Fatal(err)
	}
	write(p.T, p.d, func(tx *db.Tx) error { return guest.SetMailAddress(tx, p.keys, a, address) })
}

// follow lets the sweep and the subscribers follow a change, and delivers the mails.
func (p *post) follow() []*mail.Row {
	p.Helper()
	p.invite()
	p.publish()
	p.clock.Advance(keyPatience)
	p.invite()
	return p.deliver()
}

func email(address any) func(reservation.Patch) {
	return func(patch reservation.Patch) { patch[reservation.Email] = address }
}

// The owner of a wrong address may have given an address of their own before the PMS corrected it. No code goes there.
func TestAddressGivenAtAFormerAddress(t *testing.T) {
	for name, ends := range map[string]bool{"signed in until the correction": false, "signed out before": true} {
		t.Run(name, func(t *testing.T) {
			eachPost(t, func(p *post) {
				p.room("spc_one", "Room 204")
				own := func(patch reservation.Patch) { patch[reservation.OwnSpaceID] = "spc_one" }
				stay := p.book("1", "wrong@example.com", time.Hour, own)
				p.invite()
				device := p.bindMailed(p.deliver()[0])
				p.give(device, "stranger@example.com")
				if ends {
					write(p.T, p.d, func(tx *db.Tx) error { return guest.EndSessions(tx, "prp_one", stay, "") })
				}
				p.book("1", "", 0, own, email("x.1@guest.booking.com"))
				p.invite()
				p.book("1", "", -time.Hour, started("spc_one"), email("x.1@guest.booking.com"))
				for _, m := range p.follow()[1:] {
					if m.State == string(mail.InBox) {
						p.Errorf("%s went to %s", m.Kind, p.text(m).To)
					}
				}
			})
		})
	}
}

// An address that is removed and set again gets the code, because the links and devices of the former one ended.
func TestAddressIsRemovedAndSetAgain(t *testing.T) {
	eachPost(t, func(p *post) {
		p.room("spc_one", "Room 204")
		p.book("1", "wrong@example.com", -time.Hour, started("spc_one"))
		p.bindMailed(p.follow()[0])
		p.book("1", "", -time.Hour, started("spc_one"), email(nil))
		p.follow()
		p.book("1", "", -time.Hour, started("spc_one"), email("ana@example.com"))
		all := p.follow()
		if last := all[len(all)-1]; len(all) != 2 || last.State != string(mail.InBox) || p.text(last).To != "ana@example.com" {
			p.Errorf("%d mails, the last %s", len(all), last.State)
		}
		if works := p.working(); !slices.Equal(works, []bool{false, true}) {
			p.Errorf("working links: %v", works)
		}
	})
}

// No link goes to an agency's address. So when it changes, a guest who gave an address keeps link and device.
func TestRelayAddressChanges(t *testing.T) {
	eachPost(t, func(p *post) {
		t := p.T
		p.room("spc_one", "Room 204")
		stay := p.book("1", "x.1@guest.booking.com", -time.Hour, func(patch reservation.Patch) { patch[reservation.OwnSpaceID] = "spc_one" })
		p.invite()
		var shown guest.Session
		write(t, p.d, func(tx *db.Tx) (err error) {
			if _, err = guest.LoadParty(tx, p.keys, "prp_one", stay); err != nil {
				return err
			}
			shown, err = guest.CreateSession(tx, p.keys, guest.SessionSpec{PropertyID: "prp_one", ReservationID: stay, Origin: guest.OriginMail, TTL: time.Hour})
			return err
		})
		p.give(shown, "ana@example.com")
		p.book("1", "x.1@guest.booking.com", -time.Hour, started("spc_one"))
		device := p.bindMailed(p.follow()[0])
		p.book("1", "x.2@guest.booking.com", -time.Hour, started("spc_one"))
		if all := p.follow(); len(all) != 1 {
			t.Errorf("%d mails, want 1", len(all))
		}
		if _, err := guest.Authenticate(p.d.View(t.Context()), p.keys, device.Token); err != nil {
			t.Error(err)
		}
		if works := p.working(); !slices.Equal(works, []bool{true}) {
			t.Errorf("working links: %v", works)
		}
	})
}

// An invitation that was given up before its link was stored, because mails to the address bounce, does not count for a corrected address.
func TestAddressIsCorrectedAfterABounce(t *testing.T) {
	for name, more := range map[string]func(reservation.Patch){"alone": func(reservation.Patch) {}, "in a group": inGroup("G")} {
		t.Run(name, func(t *testing.T) {
			eachPost(t, func(p *post) {
				s := smtptest.Start(p, false)
				p.use(s, mail.StartTLS, smtptest.Password)
				s.Answer(refuse(550, "no such user"), nil)
				p.change("0", "wrong@example.com", 5*day)
				p.settle()
				p.deliver()
				s.Answer(nil, nil)
				p.change("1", "wrong@example.com", 5*day, more)
				p.settle()
				p.deliver()
				p.change("1", "ana@example.com", 5*day, more)
				p.invite()
				p.settle()
				p.deliver()
				if n := len(s.Received()); n != 1 {
					p.Errorf("%d mails arrived, want 1", n)
				}
			})
		})
	}
}
