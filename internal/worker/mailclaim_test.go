package worker

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/smtptest"
)

// withKey returns a post whose only guest's stay has started, with a waiting mail for its code, and a mail server.
func (p *post) withKey() (reservationID string, s *smtptest.Server) {
	p.Helper()
	s = smtptest.Start(p, false)
	p.use(s, mail.StartTLS, smtptest.Password)
	p.room("spc_one", "Room 204")
	reservationID = p.book("1", "ana@example.com", -time.Hour, started("spc_one"))
	p.publish()
	p.clock.Advance(keyPatience)
	return reservationID, s
}

// moveAddress changes the booker's address and nothing else.
func (p *post) moveAddress(email string) {
	p.Helper()
	write(p.T, p.d, func(tx *db.Tx) error {
		_, err := p.stays.Upsert(tx, reservation.Scope{PropertyID: "prp_one", IntegrationID: "int_one"}, reservation.Patch{reservation.PMSID: "1", reservation.Email: email}, nil)
		return err
	})
}

// recipientOf returns the address in the text of a mail as a mail server received it.
func recipientOf(raw string) string { return strings.Trim(header("\r\n"+raw, "To"), "<>") }

// A mail with a code that was prepared for an address is not transmitted after the PMS changed the address, also if the mail server has
// accepted the former recipient already.
func TestAddressChangesBeforeACodeIsTransmitted(t *testing.T) {
	eachPost(t, func(p *post) {
		_, s := p.withKey()
		s.OnStep(func(step smtptest.Step, _ string) {
			if step == smtptest.Recipient {
				s.OnStep(nil)
				p.moveAddress("bea@example.com")
			}
		})
		row := p.all()[0]
		if _, err := p.mails.attempt(p.Context(), row.PropertyID, row.ID); !errors.Is(err, errOutdated) {
			p.Errorf("the attempt for the former address: %v", err)
		}
		if got := s.Received(); len(got) != 0 {
			p.Fatalf("a code was sent to %s", recipientOf(got[0]))
		}
		after, _ := p.attempt()
		if got := s.Received(); after.State != string(mail.Sent) || len(got) != 1 || recipientOf(got[0]) != "bea@example.com" {
			p.Errorf("the next attempt: %s, %d mails", after.State, len(got))
		}
	})
}

// A code whose first attempt failed goes to the address that the guest has at the next one.
func TestRetriedCodeFollowsTheAddress(t *testing.T) {
	eachPost(t, func(p *post) {
		_, s := p.withKey()
		s.Answer(refuse(451, "try later"), nil)
		p.attempt()
		p.moveAddress("bea@example.com")
		s.Answer(nil, nil)
		p.attempt()
		if got := s.Received(); len(got) != 1 || recipientOf(got[0]) != "bea@example.com" {
			p.Errorf("%d mails: %v", len(got), got)
		}
	})
}

// The link in a mail whose first attempt, to another address, failed works for the reader of the next one, and not longer than that address
// counts.
func TestRetriedLinkFollowsTheAddress(t *testing.T) {
	eachPost(t, func(p *post) {
		_, s := p.withKey()
		works := func() bool {
			found := mailedLink.FindStringSubmatch(strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(s.Received()[0]))
			_, err := guest.LookUpLink(p.d.View(p.Context()), p.keys, found[1])
			if err != nil && !fault.Has(err, fault.LinkNotFound) {
				p.Fatal(err)
			}
			return err == nil
		}
		s.Answer(refuse(451, "try later"), nil)
		p.attempt()
		p.moveAddress("bea@example.com")
		p.invite()
		p.publish()
		s.Answer(nil, nil)
		p.attempt()
		received := s.Received()
		if len(received) != 1 || recipientOf(received[0]) != "bea@example.com" {
			p.Fatalf("%d mails", len(received))
		}
		if !works() {
			p.Error("the link in the mail does not work")
		}
		p.moveAddress("cid@example.com")
		p.invite()
		p.publish()
		if works() {
			p.Error("the link works after the next change of the address")
		}
	})
}

// A new PIN alone is mailed again, as another mail. A retry of a mail is the same mail.
func TestNewPINIsAnotherMail(t *testing.T) {
	eachPost(t, func(p *post) {
		stay, s := p.withKey()
		var tried []string
		s.Answer(nil, refuse(451, "greylisted"))
		for range 2 {
			if row, wait := p.attempt(); row.State != string(mail.Waiting) || wait == 0 {
				p.Fatalf("after an answer that is not final: %s", row.State)
			}
		}
		s.Answer(nil, nil)
		p.attempt()
		former := p.pin(stay)
		write(p.T, p.d, func(tx *db.Tx) error {
			failed, err := access.Reset(access.Reconciler{Tx: tx, Keys: p.keys}, "prp_one", stay, []access.Part{access.PartPIN})
			if len(failed) != 0 {
				p.Errorf("not replaced: %v", failed)
			}
			return err
		})
		p.publish()
		p.publish()
		p.clock.Advance(keyPatience)
		p.deliver()
		for _, raw := range s.Offered() {
			tried = append(tried, header(raw, "Message-ID"))
		}
		all := p.all()
		first, second := "<"+all[0].ID+"@hostel.example>", "<"+all[len(all)-1].ID+"@hostel.example>"
		want := []string{first, first, first, second}
		if len(all) != 2 || all[1].Kind != string(mail.KeyChanged) || !slices.Equal(tried, want) {
			p.Errorf("%d mails with the ids %v, want %v", len(all), tried, want)
		}
		if pin := p.pin(stay); pin == former || !strings.Contains(s.Received()[1], strings.ReplaceAll(mail.Code{Digits: pin}.Grouped(), "\u00a0", "=C2=A0")) {
			p.Error("the second mail does not have the new PIN")
		}
	})
}
