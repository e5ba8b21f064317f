package worker

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/smtptest"
)

// A mail that can never be sent is given up at once, and staff are notified.
func TestMailIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		password   string
		rcpt, data func() error
		state      mail.State
		failure    mail.Failure
	}{
		"unknown recipient": {smtptest.Password, refuse(550, "no such user <ana@example.com>"), nil, mail.Bounced, mail.FailedRecipient},
		"closed mailbox":    {smtptest.Password, refuseAs(550, smtp.EnhancedCode{5, 2, 1}), nil, mail.Bounced, mail.FailedRecipient},
		"no status":         {smtptest.Password, refuseAs(553, smtp.NoEnhancedCode), nil, mail.Bounced, mail.FailedRecipient},
		"no relaying":       {smtptest.Password, refuseAs(550, smtp.EnhancedCode{5, 7, 1}), nil, mail.Failed, mail.FailedRefused},
		"full mailbox":      {smtptest.Password, refuseAs(552, smtp.EnhancedCode{5, 2, 2}), nil, mail.Failed, mail.FailedRefused},
		"no reason":         {smtptest.Password, refuse(554, "no"), nil, mail.Failed, mail.FailedRefused},
		"refused text":      {smtptest.Password, nil, refuse(554, "spam from ana@example.com"), mail.Failed, mail.FailedRefused},
		"wrong password":    {"wrong", nil, nil, mail.Failed, mail.FailedAuthentication},
		"no answer":         {smtptest.Password, nil, func() error { return smtptest.ErrDrop }, mail.Failed, mail.FailedUnanswered},
	} {
		t.Run(name, func(t *testing.T) {
			eachPost(t, func(p *post) {
				s := smtptest.Start(p, false)
				s.Answer(c.rcpt, c.data)
				p.use(s, mail.StartTLS, c.password)
				p.order()
				row, wait := p.attempt()
				if row.State != string(c.state) || row.Failure != string(c.failure) || wait != 0 {
					p.Errorf("state %s, failure %s, answer %q, wait %v", row.State, row.Failure, p.reply(row), wait)
				}
				if strings.Contains(p.reply(row), "@") || bytes.Contains(row.Reply, []byte("spam")) {
					p.Errorf("the stored answer has an address, or is readable: %q, %q", p.reply(row), row.Reply)
				}
				if all := p.notices(); len(all) != 1 || all[0].Kind != "mailFailed" {
					p.Errorf("notices: %v", all)
				}
				before := len(s.Received())
				if p.attempt(); len(s.Received()) != before {
					p.Error("a mail that was given up is sent")
				}
			})
		})
	}
}

// A mail server that takes no mail to an address for a day, and each time says "later", blocks no address.
func TestTemporaryRefusalBlocksNoAddress(t *testing.T) {
	eachPost(t, func(p *post) {
		s := smtptest.Start(p, false)
		p.use(s, mail.StartTLS, smtptest.Password)
		s.Answer(refuse(451, "try later"), nil)
		p.order()
		if row, wait := p.attempt(); row.State != string(mail.Waiting) || wait == 0 {
			p.Fatalf("the first attempt: %s %s", row.State, row.Failure)
		}
		p.clock.Advance(mail.GiveUpAfter + time.Minute)
		if row, wait := p.attempt(); row.State != string(mail.Failed) || row.Failure != string(mail.FailedRefused) || wait != 0 {
			p.Errorf("after a day: %s %s, wait %v", row.State, row.Failure, wait)
		}
		bounced, err := mail.HasBounced(p.d.View(p.Context()), "prp_one", guest.AddressMAC(p.keys, "prp_one", "ana@example.com"))
		if err != nil || bounced {
			p.Errorf("the address counts as bounced: %t, %v", bounced, err)
		}
	})
}

// Failed mails of a stay share a notice until staff have read it. A later failure is another notice.
func TestFailureAfterAReadNotice(t *testing.T) {
	eachPost(t, func(p *post) {
		s := smtptest.Start(p, false)
		p.use(s, mail.StartTLS, smtptest.Password)
		s.Answer(nil, refuse(554, "no"))
		stay := p.book("1", "ana@example.com", time.Hour)
		fail := func(what string, unread int) {
			p.Helper()
			write(p.T, p.d, func(tx *db.Tx) error {
				_, err := mail.Order(tx, p.keys, p.queue, mail.Mail{PropertyID: "prp_one", Kind: mail.Link, ReservationID: stay})
				return err
			})
			p.deliver()
			if n, err := notice.Unread(p.d.View(p.Context()), "prp_one", nil); err != nil || n != unread {
				p.Errorf("%s: %d unread notices, want %d; %v", what, n, unread, err)
			}
		}
		fail("the first", 1)
		fail("while the notice is unread", 1)
		write(p.T, p.d, func(tx *db.Tx) error { _, err := notice.MarkRead(tx, "prp_one"); return err })
		fail("after the notice was read", 1)
	})
}

func refuseAs(code int, status smtp.EnhancedCode) func() error {
	return func() error { return &smtp.SMTPError{Code: code, EnhancedCode: status, Message: "refused"} }
}

// A refusal that is not about the address does not block it.
func TestRefusalOfTheSenderBlocksNoAddress(t *testing.T) {
	eachPost(t, func(p *post) {
		s := smtptest.Start(p, false)
		p.use(s, mail.StartTLS, smtptest.Password)
		s.Answer(refuseAs(550, smtp.EnhancedCode{5, 7, 1}), nil)
		p.order()
		if row, _ := p.attempt(); row.State != string(mail.Failed) {
			p.Fatalf("refused: %s %s", row.State, row.Failure)
		}
		bounced, err := mail.HasBounced(p.d.View(p.Context()), "prp_one", guest.AddressMAC(p.keys, "prp_one", "ana@example.com"))
		if err != nil || bounced {
			p.Errorf("the address counts as bounced: %t, %v", bounced, err)
		}
	})
}

// An address that refused a mail gets no other until it changes or a person sends one again.
func TestBouncedAddressGetsNoMail(t *testing.T) {
	eachPost(t, func(p *post) {
		s := smtptest.Start(p, false)
		p.use(s, mail.StartTLS, smtptest.Password)
		order := func(number string) (mailID string) {
			write(p.T, p.d, func(tx *db.Tx) (err error) {
				mailID, err = mail.Order(tx, p.keys, p.queue, mail.Mail{PropertyID: "prp_one", Kind: mail.Link, ReservationID: p.only(), OnceKey: p.only() + "/" + number})
				return err
			})
			return mailID
		}
		state := func(mailID string) string {
			p.deliver()
			row, err := mail.Get(p.d.View(p.Context()), "prp_one", mailID)
			if err != nil {
				p.Fatal(err)
			}
			return row.State + " " + row.Failure
		}
		p.change("1", "ana@example.com", 5*day)
		s.Answer(refuse(550, "no such user"), nil)
		first := order("1")
		if got := state(first); got != "bounced recipient" {
			p.Fatalf("refused: %s", got)
		}
		s.Answer(nil, nil)
		if got := state(order("2")); got != "bounced bouncedBefore" || len(s.Received()) != 0 {
			p.Errorf("the next mail is %s, %d received", got, len(s.Received()))
		}
		p.change("1", "bea@example.com", 5*day)
		if got := state(order("3")); got != "sent " {
			p.Errorf("a mail to another address is %s", got)
		}
		p.change("1", "ana@example.com", 5*day)
		var again string
		write(p.T, p.d, func(tx *db.Tx) (err error) { again, err = p.mails.Resend(tx, "prp_one", first); return err })
		if got := state(again); got != "sent " {
			p.Errorf("a mail that staff sent again is %s", got)
		}
		if got := state(order("4")); got != "sent " {
			p.Errorf("a mail after that is %s", got)
		}
	})
}

// A mail that was rendered before the PMS changed the booker's address stores no link for the former address.
func TestAddressChangesWhileAMailIsRendered(t *testing.T) {
	eachPost(t, func(p *post) {
		p.order()
		row := p.all()[0]
		former, err := p.mails.render(p.Context(), row)
		if err != nil || former.text.To != "ana@example.com" {
			p.Fatalf("rendered for %q, %v", former.text.To, err)
		}
		p.change("1", "bea@example.com", time.Hour)
		if _, err := p.mails.prepare(p.Context(), row, former); !errors.Is(err, errOutdated) {
			p.Errorf("a mail to the former address is prepared: %v", err)
		}
		if err := p.mails.putInMailbox(p.Context(), row, former); !errors.Is(err, errOutdated) {
			p.Errorf("a mail to the former address is in the mailbox: %v", err)
		}
		if n, err := p.d.View(p.Context()).GuestLink.Query().Count(p.Context()); err != nil || n != 0 {
			p.Errorf("%d links, %v", n, err)
		}
		if row := p.deliver()[0]; row.State != string(mail.InBox) || p.text(row).To != "bea@example.com" {
			p.Errorf("the next attempt: %s to %s", row.State, p.text(row).To)
		}
	})
}

// Mails to an address that bounced go to the address that the guest gave, and the guest is asked for one.
func TestBouncedAddressCountsAsNone(t *testing.T) {
	eachPost(t, func(p *post) {
		s := smtptest.Start(p, false)
		p.use(s, mail.StartTLS, smtptest.Password)
		p.order()
		stay := p.only()
		address := func() string {
			row, err := reservation.Get(p.d.View(p.Context()), reservation.Scope{PropertyID: "prp_one"}, stay)
			if err != nil {
				p.Fatal(err)
			}
			to, err := p.mails.GuestAddress(p.d.View(p.Context()), row)
			if err != nil {
				p.Fatal(err)
			}
			return to
		}
		working := func(all ...string) string {
			to, err := p.mails.firstWorking(p.d.View(p.Context()), "prp_one", all...)
			if err != nil {
				p.Fatal(err)
			}
			return to
		}
		if got := working("ana@example.com", "other@example.com"); got != "ana@example.com" {
			p.Errorf("before the first mail: %q", got)
		}
		s.Answer(refuse(550, "no such user"), nil)
		if row, _ := p.attempt(); row.State != string(mail.Bounced) {
			p.Fatalf("the mail is %s", row.State)
		}
		if got := working("1234@guest.booking.com", "ANA@example.com"); got != "" {
			p.Errorf("an address that bounced works: %q", got)
		}
		if got := working("ana@example.com", "other@example.com"); got != "other@example.com" {
			p.Errorf("after the bounce: %q", got)
		}
		if got := address(); got != "ana@example.com" {
			p.Errorf("without another address: %q", got)
		}
		a := actor.Actor{Kind: actor.Guest, ID: "gse_one", PropertyID: "prp_one", ReservationID: stay, Origin: actor.OriginMail}
		dbtest.Insert(p, p.d, "guest_sessions", dbtest.Values{"id": a.ID, "property_id": "prp_one", "reservation_id": stay, "origin": a.Origin, "expires_at": p.clock.Now().Add(day)})
		dbtest.Insert(p, p.d, "guests", dbtest.Values{"id": "gst_one", "property_id": "prp_one", "reservation_id": stay, "role": guest.Main})
		write(p.T, p.d, func(tx *db.Tx) error { return guest.SetMailAddress(tx, p.keys, a, "bea@example.com") })
		if got := address(); got != "bea@example.com" {
			p.Errorf("with the guest's address: %q", got)
		}
	})
}

// A mail that the mail server took and that came back is given up once. Reports about other mails change nothing.
func TestMailComesBack(t *testing.T) {
	eachPost(t, func(p *post) {
		s := smtptest.Start(p, false)
		p.use(s, mail.StartTLS, smtptest.Password)
		p.order()
		row, _ := p.attempt()
		take := func(propertyID, report string) (taken *mail.Row) {
			bounce, ok := mail.ReadBounce([]byte(report))
			if !ok {
				return nil
			}
			write(p.T, p.d, func(tx *db.Tx) (err error) {
				taken, err = p.mails.TakeBounce(tx, propertyID, bounce)
				return err
			})
			return taken
		}
		returned := func(mailID, status string) string {
			return "Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example\r\n\r\n" +
				"Action: failed\r\nStatus: " + status + "\r\nDiagnostic-Code: smtp; 550 no such user <ana@example.com>\r\n\r\n--b\r\nContent-Type: text/rfc822-headers\r\n\r\n" +
				"Message-ID: <" + mailID + "@hostel.example>\r\n\r\n--b--\r\n"
		}
		if !strings.Contains(s.Received()[0], "Message-ID: <"+row.ID+"@hostel.example>") {
			p.Fatalf("the mail has another Message-ID: %s", s.Received()[0])
		}
		if got := take("prp_two", returned(row.ID, "5.1.1")); got != nil {
			p.Errorf("another property's report changes %v", got)
		}
		if got := take("prp_one", s.Received()[0]); got != nil {
			p.Errorf("the mail itself changes %v", got)
		}
		if got := p.all()[0]; got.State != string(mail.Sent) || len(p.notices()) != 0 {
			p.Errorf("after reports about other mails: %s, %d notices", got.State, len(p.notices()))
		}
		for range 2 {
			got := take("prp_one", returned(row.ID, "5.1.1"))
			if got == nil || got.State != string(mail.Bounced) || got.Failure != string(mail.FailedRecipient) || p.reply(got) != "5.1.1 550 no such user <…>" || len(p.notices()) != 1 {
				p.Errorf("after the report: %v, %d notices", got, len(p.notices()))
			}
		}
		if got := take("prp_one", returned(row.ID, "5.2.2")); got == nil || got.Failure != string(mail.FailedRecipient) {
			p.Errorf("another report about the same mail: %v", got)
		}
		if bounced, err := mail.HasBounced(p.d.View(p.Context()), "prp_one", guest.AddressMAC(p.keys, "prp_one", "ana@example.com")); err != nil || !bounced {
			p.Errorf("the address counts as working: %v", err)
		}
	})
}

// A mail whose transmission ended without an answer arrived at the mail server, if it comes back.
func TestUnansweredMailComesBack(t *testing.T) {
	eachPost(t, func(p *post) {
		s := smtptest.Start(p, false)
		s.Answer(nil, func() error { return smtptest.ErrDrop })
		p.use(s, mail.StartTLS, smtptest.Password)
		p.order()
		row, _ := p.attempt()
		var taken *mail.Row
		write(p.T, p.d, func(tx *db.Tx) (err error) {
			taken, err = p.mails.TakeBounce(tx, "prp_one", mail.Bounce{MailID: row.ID, Failure: mail.FailedReturned})
			return err
		})
		if taken == nil || taken.State != string(mail.Failed) || taken.Failure != string(mail.FailedReturned) {
			p.Errorf("after %s: %v", row.Failure, taken)
		}
	})
}
