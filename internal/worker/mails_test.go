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
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
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
		p.mails = Mails{DB: d, Keys: p.keys, Jobs: p.queue, Reservations: p.stays, BaseURL: func() string { return "https://stay.example" }, Log: quiet}
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
