package worker

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"latchkey.dev/ent"
	entmail "latchkey.dev/ent/mail"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/smtptest"
)

// post is a property with the parts that send mails.
type post struct {
	*testing.T
	d     *db.DB
	keys  *keyring.Ring
	queue *jobs.Queue
	clock *clock.Fixed
	mails Mails
	sweep Sweep
	stays reservation.Service
}

// postBegin is the time at which the tests of mails begin.
var postBegin = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// eachPost runs f on each database, with a property whose integration has invitations.
func eachPost(t *testing.T, f func(p *post)) {
	now := clock.At(postBegin)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := &post{T: t, d: d, clock: now, keys: dbtest.Keys(t, d, "prp_one")}
		now.Set(postBegin)
		dbtest.Insert(t, d, "integrations", dbtest.Values{"id": "int_one", "property_id": "prp_one", "invitations_at": now.Now()})
		var err error
		if p.queue, err = jobs.Open(d, quiet); err != nil {
			t.Fatal(err)
		}
		p.stays = reservation.Service{Keys: p.keys}
		p.mails = Mails{DB: d, Keys: p.keys, Jobs: p.queue, Reservations: p.stays, BaseURL: func() string { return "https://stay.example" },
			InvitationURL: func(secret string) string { return "https://stay.example/app/invite/" + secret }, Log: quiet}
		p.sweep = Invitations{Keys: p.keys, Jobs: p.queue, Reservations: p.stays}.Sweep()
		f(p)
	}, dbtest.Clock(now))
}

// book stores a reservation as the PMS sends it, and returns its id.
func (p *post) book(pmsID, email string, in time.Duration, more ...func(reservation.Patch)) string {
	p.Helper()
	from := p.clock.Now().Add(in)
	patch := reservation.Patch{
		reservation.PMSID: pmsID, reservation.Number: "N" + pmsID, reservation.LastName: "Silva", reservation.FirstName: "Ana",
		reservation.State: "confirmed", reservation.From: from.Format(time.RFC3339), reservation.To: from.Add(48 * time.Hour).Format(time.RFC3339),
	}
	if email != "" {
		patch[reservation.Email] = email
	}
	for _, change := range more {
		change(patch)
	}
	var out reservation.Stored
	write(p.T, p.d, func(tx *db.Tx) (err error) {
		out, err = p.stays.Upsert(tx, reservation.Scope{PropertyID: "prp_one", IntegrationID: "int_one"}, patch, nil)
		return err
	})
	return out.Row.ID
}

// invite runs the sweep.
func (p *post) invite() {
	p.Helper()
	if err := p.sweep.Run(p.Context(), p.d); err != nil {
		p.Fatal(err)
	}
}

// deliver makes one attempt for each waiting mail, and returns all mails by age.
func (p *post) deliver() []*ent.Mail {
	p.Helper()
	for _, row := range p.all() {
		if row.State == string(mail.Waiting) {
			if _, err := p.mails.attempt(p.Context(), row.PropertyID, row.ID); err != nil {
				p.Fatal(err)
			}
		}
	}
	return p.all()
}

func (p *post) all() []*ent.Mail {
	p.Helper()
	rows, err := p.d.View(p.Context()).Mail.Query().Order(entmail.ByID()).All(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	return rows
}

// reply returns what the mail server answered.
func (p *post) reply(row *ent.Mail) string {
	p.Helper()
	reply, err := mail.OpenReply(p.Context(), p.keys, row)
	if err != nil {
		p.Fatal(err)
	}
	return reply
}

func (p *post) text(row *ent.Mail) mail.Text {
	p.Helper()
	text, err := mail.OpenText(p.Context(), p.keys, row)
	if err != nil || text == nil {
		p.Fatalf("text of a mail in state %s: %v", row.State, err)
	}
	return *text
}

func TestInvitationIsInTheMailbox(t *testing.T) {
	eachPost(t, func(p *post) {
		p.book("1", "Ana@example.com", 13*24*time.Hour)
		p.book("2", "bea@example.com", 20*24*time.Hour)
		p.invite()
		p.invite()
		all := p.deliver()
		if len(all) != 1 || all[0].State != string(mail.InBox) || all[0].Kind != string(mail.Invitation) {
			t.Fatalf("mails: %v", all)
		}
		text := p.text(all[0])
		if text.To != "ana@example.com" || !strings.Contains(text.Text, "Hello Ana,") || !strings.Contains(text.HTML, "Hello Ana,") {
			t.Errorf("mail: %+v", text)
		}
		_, link, _ := strings.Cut(text.Text, "https://stay.example/g/l/")
		secret, _, _ := strings.Cut(link, "\n")
		if !keyring.IsToken(secret, keyring.GuestLink) || !strings.Contains(text.HTML, url.PathEscape(secret)) {
			t.Errorf("link %q in %s", secret, text.Text)
		}
		if n, err := p.d.View(t.Context()).GuestLink.Query().Count(t.Context()); err != nil || n != 1 {
			t.Errorf("%d links, %v", n, err)
		}
		p.clock.Advance(7 * 24 * time.Hour)
		p.invite()
		if all := p.deliver(); len(all) != 2 {
			t.Errorf("after a week: %d mails, want 2", len(all))
		}
	})
}

// The job that Order stores sends the mail.
func TestMailJobRuns(t *testing.T) {
	eachPost(t, func(p *post) {
		stay := p.book("1", "ana@example.com", time.Hour)
		workers := river.NewWorkers()
		p.mails.AddTo(workers)
		write(t, p.d, func(tx *db.Tx) error {
			_, err := mail.Order(tx, p.keys, p.queue, mail.Mail{PropertyID: "prp_one", Kind: mail.Link, ReservationID: stay, To: "ana@example.com"})
			return err
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.queue.Run(ctx, workers) }()
		for p.all()[0].State != string(mail.InBox) {
			if t.Context().Err() != nil {
				t.Fatal("the job did not run")
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

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
