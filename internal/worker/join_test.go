package worker

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/test/smtptest"
)

// invitePerson invites a person with the mail, and reports whether it is mailed.
func (p *post) invitePerson(email string, role staff.Role, language string) (i staff.Invitation, mailed bool) {
	p.Helper()
	write(p.T, p.d, func(tx *db.Tx) (err error) {
		if i, _, err = staff.Invite(tx, p.keys, staff.Caller{Role: staff.Owner, Author: "test"}, "prp_one", email, role); err == nil {
			mailed, err = p.mails.OrderJoin(tx, i, language)
		}
		return err
	})
	return i, mailed
}

// The mail of an invitation has the link of its newest round, in the chosen language. The row of the mail has no secret.
func TestInvitationToTheStaffIsMailed(t *testing.T) {
	eachPost(t, func(p *post) {
		s := smtptest.Start(p, false)
		p.use(s, mail.StartTLS, smtptest.Password)
		first, mailed := p.invitePerson("bob@example.com", staff.FrontDesk, "de")
		if !mailed {
			p.Fatal("not mailed")
		}
		var second staff.Invitation
		write(p.T, p.d, func(tx *db.Tx) (err error) {
			if second, err = staff.Reinvite(tx, p.keys, staff.Caller{Role: staff.Owner, Author: "test"}, "prp_one", first.ID); err == nil {
				_, err = p.mails.OrderJoin(tx, second, "de")
			}
			return err
		})
		all := p.deliver()
		if len(all) != 2 || all[0].State != string(mail.Canceled) || all[1].State != string(mail.Sent) {
			p.Fatalf("mails: %v", all)
		}
		for _, row := range all {
			for _, secret := range []string{first.Secret, second.Secret, strings.TrimPrefix(second.Secret, "lki_")} {
				if strings.Contains(row.String(), secret) {
					p.Errorf("the row of a mail has the secret of a link: %v", row)
				}
			}
		}
		got := strings.ReplaceAll(s.Received()[0], "=\r\n", "")
		if len(s.Received()) != 1 || !strings.Contains(got, "https://stay.example/app/invite/"+second.Secret) || strings.Contains(got, first.Secret) || !strings.Contains(got, "Rezeption") {
			p.Errorf("%d mails: %s", len(s.Received()), got)
		}
		err := p.d.Write(p.Context(), func(tx *db.Tx) error { _, err := p.mails.Resend(tx, "prp_one", all[1].ID); return err })
		if !fault.Has(err, fault.InvalidFields) {
			p.Errorf("staff without the right send the mail again: %v", err)
		}
	})
}

// No link lies in the mailbox, which other staff read, and none for a role that only an owner gives passes a mail server that a manager sets.
func TestInvitationWithoutMail(t *testing.T) {
	eachPost(t, func(p *post) {
		if _, mailed := p.invitePerson("bob@example.com", staff.FrontDesk, ""); mailed || len(p.all()) != 0 {
			p.Error("mailed without a mail server")
		}
		s := smtptest.Start(p, false)
		p.use(s, mail.StartTLS, smtptest.Password)
		for _, role := range []staff.Role{staff.Owner, staff.Manager} {
			if _, mailed := p.invitePerson(string(role)+"@example.com", role, ""); mailed || len(p.all()) != 0 {
				p.Errorf("the link for the role %s is mailed", role)
			}
		}
		i, mailed := p.invitePerson("carl@example.com", staff.Housekeeping, "")
		if !mailed {
			p.Fatal("not mailed")
		}
		none := ""
		write(p.T, p.d, func(tx *db.Tx) error {
			_, err := mail.SettingsChange{Host: &none}.Change(tx, p.keys, "prp_one", anyServer)
			return err
		})
		if row := p.deliver()[0]; row.State != string(mail.Canceled) || len(row.Text) != 0 {
			p.Errorf("without its mail server the mail of %s is %s", i.ID, row.State)
		}
		p.use(s, mail.StartTLS, smtptest.Password)
		late, _ := p.invitePerson("late@example.com", staff.FrontDesk, "")
		p.clock.Advance(8 * 24 * time.Hour)
		if rows := p.deliver(); rows[len(rows)-1].State != string(mail.Canceled) {
			p.Errorf("the mail of the expired %s is %s", late.ID, rows[len(rows)-1].State)
		}
	})
}
