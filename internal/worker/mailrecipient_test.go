package worker

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/smtptest"
)

// A mail with a link that the mail server did not take at once goes to the address that the guest has at the next attempt, and not to one
// that the PMS has corrected since.
func TestRetriedMailFollowsTheAddress(t *testing.T) {
	for name, order := range map[string]func(p *post, tx *db.Tx, stay, invitation string) error{
		"an invitation that staff send again": func(p *post, tx *db.Tx, _, invitation string) error {
			_, err := p.mails.Resend(tx, "prp_one", invitation)
			return err
		},
		"a link that staff order": func(p *post, tx *db.Tx, stay, _ string) error {
			_, err := p.mails.OrderLink(tx, mail.LinkOrder{PropertyID: "prp_one", ReservationID: stay})
			return err
		},
		"a message that was not read": func(p *post, tx *db.Tx, stay, _ string) error {
			_, err := mail.Order(tx, p.keys, p.queue, mail.Mail{PropertyID: "prp_one", Kind: mail.Message, ReservationID: stay, OnceKey: stay + "/message"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachPost(t, func(p *post) {
				s := smtptest.Start(p, false)
				p.use(s, mail.StartTLS, smtptest.Password)
				stay := p.book("1", "wrong@example.com", 5*day)
				p.invite()
				invitation := p.deliver()[0].ID
				write(p.T, p.d, func(tx *db.Tx) error { return order(p, tx, stay, invitation) })
				s.Answer(refuse(451, "try later"), nil)
				p.deliver()
				p.moveAddress("ana@example.com")
				s.Answer(nil, nil)
				p.deliver()
				if got := s.Received(); len(got) != 2 || recipientOf(got[1]) != "ana@example.com" {
					p.Errorf("%d mails, the last to %s", len(got), recipientOf(got[len(got)-1]))
				}
			})
		})
	}
}

// A guest who asks for a new link at the address that the guest gave gets it there, also if the PMS knows another address by then.
func TestRenewedLinkGoesToTheAddressOfTheFormerOne(t *testing.T) {
	eachPost(t, func(p *post) {
		p.room("spc_one", "Room 204")
		stay := p.book("1", "", -time.Hour, func(patch reservation.Patch) { patch[reservation.OwnSpaceID] = "spc_one" })
		var byDesk guest.Session
		write(p.T, p.d, func(tx *db.Tx) (err error) {
			if _, err = guest.LoadParty(tx, p.keys, "prp_one", stay); err != nil {
				return err
			}
			byDesk, err = guest.CreateSession(tx, p.keys, guest.SessionSpec{PropertyID: "prp_one", ReservationID: stay, Origin: guest.OriginMail, TTL: time.Hour})
			return err
		})
		p.give(byDesk, "ana@example.com")
		p.book("1", "", -time.Hour, started("spc_one"))
		secret := mailedLink.FindStringSubmatch(p.text(p.follow()[0]).Text)[1]
		p.book("1", "booker@example.com", -time.Hour, started("spc_one"))
		before := len(p.follow())
		write(p.T, p.d, func(tx *db.Tx) error {
			r, err := guest.RenewLink(tx, p.keys, secret)
			if err != nil || r == nil {
				p.Fatalf("the link is not renewed: %v", err)
			}
			_, err = p.mails.OrderLink(tx, mail.LinkOrder{PropertyID: "prp_one", ReservationID: stay, Renews: true, Address: r.Address, Occasion: r.LinkID})
			return err
		})
		all := p.deliver()
		if last := all[len(all)-1]; len(all) != before+1 || last.State != string(mail.InBox) || p.text(last).To != "ana@example.com" {
			p.Errorf("%d mails more; the new link is %s", len(all)-before, last.State)
		}
	})
}

// A list of rooms greets the booker who gets it, and not the person to whom the PMS has given one of the rooms since.
func TestListGreetsItsRecipient(t *testing.T) {
	eachPost(t, func(p *post) {
		p.change("1", "ana@example.com", 5*day, inGroup("G"))
		p.change("2", "ana@example.com", 5*day, inGroup("G"))
		p.settle()
		p.change("1", "bob@example.com", 5*day, inGroup("G"), func(patch reservation.Patch) { patch[reservation.FirstName] = "Bob" })
		all := p.deliver()
		if len(all) != 1 || all[0].State != string(mail.InBox) {
			p.Fatalf("mails: %v", all)
		}
		if text := p.text(all[0]); text.To != "ana@example.com" || !strings.Contains(text.Text, "Ana") || strings.Contains(text.Text, "Bob") {
			p.Errorf("the mail to %s: %s", text.To, text.Text)
		}
	})
}
