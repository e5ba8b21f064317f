package worker

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent"
	entmail "latchkey.dev/ent/mail"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/smtptest"
)

// use makes the property send its mails by a server.
func (p *post) use(s *smtptest.Server, security, password string) {
	p.Helper()
	host, user, from, port := "127.0.0.1", smtptest.User, "desk@hostel.example", s.Port
	write(p.T, p.d, func(tx *db.Tx) error {
		_, err := mail.SettingsChange{Host: &host, Security: &security, User: &user, Password: &password, FromAddress: &from, Port: &port}.Change(tx, p.keys, "prp_one", anyServer)
		return err
	})
	p.mails.Dial, p.mails.TLS = new(net.Dialer).DialContext, s.TLS
}

func anyServer(string, int) bool { return true }

// order orders a mail with a new link.
func (p *post) order() {
	p.Helper()
	stay := p.book("1", "ana@example.com", time.Hour)
	write(p.T, p.d, func(tx *db.Tx) error {
		_, err := mail.Order(tx, p.keys, p.queue, mail.Mail{PropertyID: "prp_one", Kind: mail.Link, ReservationID: stay})
		return err
	})
}

// attempt makes one attempt at the only mail.
func (p *post) attempt() (*ent.Mail, time.Duration) {
	p.Helper()
	row := p.all()[0]
	wait, err := p.mails.attempt(p.Context(), row.PropertyID, row.ID)
	if err != nil {
		p.Fatal(err)
	}
	return p.all()[0], wait
}

func (p *post) notices() []*ent.Notice {
	p.Helper()
	rows, err := notice.List(p.d.View(p.Context()), "prp_one", notice.Filter{}, 10, "")
	if err != nil {
		p.Fatal(err)
	}
	return rows
}

func header(raw, name string) string {
	_, rest, _ := strings.Cut(raw, "\r\n"+name+": ")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

func TestMailServerGetsMail(t *testing.T) {
	for security, implicit := range map[string]bool{mail.StartTLS: false, mail.TLS: true} {
		t.Run(security, func(t *testing.T) {
			eachPost(t, func(p *post) {
				s := smtptest.Start(p, implicit)
				p.use(s, security, smtptest.Password)
				p.order()
				row, wait := p.attempt()
				if row.State != string(mail.Sent) || row.SentAt == nil || wait != 0 || s.Logins() != 1 || len(row.Text) > 0 {
					p.Fatalf("state %s (%s %s), wait %v, %d logins", row.State, row.Failure, p.reply(row), wait, s.Logins())
				}
				got := s.Received()
				if len(got) != 1 || header(got[0], "Message-ID") != "<"+row.ID+"@hostel.example>" || !strings.Contains(got[0], "text/html") {
					p.Errorf("received: %s", got)
				}
				if n, err := p.d.View(p.Context()).GuestLink.Query().Count(p.Context()); err != nil || n != 1 {
					p.Errorf("%d links, %v", n, err)
				}
			})
		})
	}
}

func refuse(code int, text string) func() error {
	return func() error {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 0, 0}, Message: text}
	}
}

// A mail that the server refuses for now is sent later, with the same Message-ID and the same link.
func TestMailIsRetried(t *testing.T) {
	eachPost(t, func(p *post) {
		s := smtptest.Start(p, false)
		p.use(s, mail.StartTLS, smtptest.Password)
		p.order()
		for _, answers := range [][2]func() error{{refuse(451, "try later"), nil}, {nil, refuse(451, "greylisted")}} {
			s.Answer(answers[0], answers[1])
			row, wait := p.attempt()
			if row.State != string(mail.Waiting) || wait < 30*time.Second || !strings.Contains(p.reply(row), "451") {
				p.Fatalf("state %s, wait %v, answer %q", row.State, wait, p.reply(row))
			}
		}
		s.Answer(nil, nil)
		row, _ := p.attempt()
		if taken := s.Received(); row.State != string(mail.Sent) || row.Attempts != 3 || len(taken) != 1 {
			p.Errorf("state %s after %d attempts, %d received", row.State, row.Attempts, len(taken))
		}
		if n, err := p.d.View(p.Context()).GuestLink.Query().Count(p.Context()); err != nil || n != 1 {
			p.Errorf("%d links, %v", n, err)
		}
		if len(p.notices()) != 0 {
			p.Errorf("notices: %v", p.notices())
		}
	})
}

// jobsAfter runs a sweep and returns the number of unfinished jobs of mails.
func (p *post) jobsAfter(sweep Sweep) (n int) {
	p.Helper()
	if err := sweep.Run(p.Context(), p.d); err != nil {
		p.Fatal(err)
	}
	if _, err := p.d.View(p.Context()).ReadOne(`SELECT count(*) FROM river_job WHERE kind = 'mail.send' AND finalized_at IS NULL`, nil, &n); err != nil {
		p.Fatal(err)
	}
	return n
}

// A mail whose job is lost gets another, and one that cannot be created for a day fails.
func TestNoMailWaitsForEver(t *testing.T) {
	eachPost(t, func(p *post) {
		p.order()
		sweep := p.mails.Sweep()
		lose := func() {
			write(p.T, p.d, func(tx *db.Tx) error { _, err := tx.ExecContext(tx.Context(), `DELETE FROM river_job`); return err })
		}
		if n := p.jobsAfter(sweep); n != 1 {
			p.Fatalf("%d jobs", n)
		}
		lose()
		p.clock.Advance(mailPatience + time.Second)
		if n := p.jobsAfter(sweep); n != 1 {
			p.Errorf("%d jobs of a mail whose job was lost", n)
		}
		if n := p.jobsAfter(sweep); n != 1 {
			p.Errorf("%d jobs of a mail that has one", n)
		}
		lose()
		p.clock.Advance(mail.GiveUpAfter + mailGrace)
		if n := p.jobsAfter(sweep); n != 0 || p.all()[0].State != string(mail.Failed) || p.all()[0].Failure != string(mail.FailedInternal) {
			p.Errorf("after a day: %d jobs, %s %s", n, p.all()[0].State, p.all()[0].Failure)
		}
		if all := p.notices(); len(all) != 1 || all[0].Kind != "mailFailed" {
			p.Errorf("notices: %v", all)
		}
	})
}

// The sweep finds the lost job of a mail behind more mails than it handles in a run, which wait with their jobs. It begins again after the
// last one.
func TestMailsThatWaitHideNoLostJob(t *testing.T) {
	eachPost(t, func(p *post) {
		ordered := p.clock.Now()
		dbtest.Insert(p, p.d, "mails", dbtest.Values{"id": "mai_1000", "property_id": "prp_one", "kind": "invitation", "state": "waiting", "created_at": ordered})
		dbtest.Multiply(p, p.d, "mails", 2*mailSweepBatch+1, map[string]string{"id": "'mai_' || (1000 + n)"})
		p.clock.Advance(mailPatience + time.Second)
		sweep := p.mails.Sweep()
		for _, want := range []int{mailSweepBatch, 2 * mailSweepBatch, 2*mailSweepBatch + 1} {
			if n := p.jobsAfter(sweep); n != want {
				p.Fatalf("%d mails have a job, want %d", n, want)
			}
		}
		write(p.T, p.d, func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), `DELETE FROM river_job WHERE id = (SELECT min(id) FROM river_job)`)
			return err
		})
		if n := p.jobsAfter(sweep); n != 2*mailSweepBatch+1 {
			p.Errorf("after the last mail, the sweep does not begin again: %d jobs", n)
		}
	})
}

// A server that dies during the transmission sends no second mail, and one that dies before it loses none.
func TestCrashSendsNoSecondMail(t *testing.T) {
	eachPost(t, func(p *post) {
		s := smtptest.Start(p, false)
		p.use(s, mail.StartTLS, smtptest.Password)
		p.order()
		row := p.all()[0]
		for _, state := range []mail.State{mail.Sending, mail.Waiting} {
			if err := p.d.Write(p.Context(), func(tx *db.Tx) error {
				return tx.Mail.Update().Where(entmail.PropertyID("prp_one"), entmail.ID(row.ID)).SetState(string(state)).Exec(tx.Context())
			}); err != nil {
				p.Fatal(err)
			}
			after, _ := p.attempt()
			sent := len(s.Received())
			switch {
			case state == mail.Sending && (after.Failure != string(mail.FailedUnanswered) || sent != 0):
				p.Errorf("after a crash during the transmission: %s %s, %d sent", after.State, after.Failure, sent)
			case state == mail.Waiting && (after.State != string(mail.Sent) || sent != 1):
				p.Errorf("after a crash before the transmission: %s %s, %d sent", after.State, after.Failure, sent)
			}
		}
	})
}

func TestTestMailNamesTheStep(t *testing.T) {
	eachPost(t, func(p *post) {
		if problem, err := p.mails.Test(p.Context(), "prp_one", "owner@example.com"); err != nil || failureOf(problem) != mail.FailedNoServer {
			p.Errorf("without settings: %v, %v", problem, err)
		}
		s := smtptest.Start(p, false)
		for _, c := range []struct {
			name     string
			security string
			password string
			rcpt     func() error
			change   func()
			want     mail.Failure
		}{
			{"all is well", mail.StartTLS, smtptest.Password, nil, nil, ""},
			{"wrong password", mail.StartTLS, "wrong", nil, nil, mail.FailedAuthentication},
			{"unknown recipient", mail.StartTLS, smtptest.Password, refuse(550, "unknown"), nil, mail.FailedRecipient},
			{"TLS expected", mail.TLS, smtptest.Password, nil, nil, mail.FailedTLS},
			{"unknown certificate", mail.StartTLS, smtptest.Password, nil, func() { p.mails.TLS = &tls.Config{} }, mail.FailedTLS},
			{"an unreachable server", mail.StartTLS, smtptest.Password, nil, func() { p.mails.Dial = refuseDial }, mail.FailedConnection},
		} {
			s.Answer(c.rcpt, nil)
			p.use(s, c.security, c.password)
			if c.change != nil {
				c.change()
			}
			problem, err := p.mails.Test(p.Context(), "prp_one", "owner@example.com")
			if err != nil {
				p.Fatal(err)
			}
			if got := failureOf(problem); got != c.want {
				p.Errorf("%s: %q (%v), want %q", c.name, got, problem, c.want)
			}
		}
	})
}

func failureOf(e *mail.SendError) mail.Failure {
	if e == nil {
		return ""
	}
	return e.Failure
}

func refuseDial(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("connection refused")
}

// Each mail is counted once, when its last state is stored.
func TestEndedMailsAreCounted(t *testing.T) {
	eachPost(t, func(p *post) {
		counts := map[string]int{}
		p.mails.Ended = func(kind mail.Kind, state mail.State) { counts[string(kind)+" "+string(state)]++ }
		order := func(once string) {
			write(p.T, p.d, func(tx *db.Tx) error {
				_, err := mail.Order(tx, p.keys, p.queue, mail.Mail{PropertyID: "prp_one", Kind: mail.Link, ReservationID: p.only(), OnceKey: once})
				return err
			})
			p.deliver()
			p.deliver()
		}
		p.change("1", "ana@example.com", 5*day)
		order("a")
		s := smtptest.Start(p, false)
		p.use(s, mail.StartTLS, smtptest.Password)
		order("b")
		s.Answer(refuse(550, "no such user"), nil)
		order("c")
		p.change("1", "ana@example.com", 5*day, canceled)
		order("d")
		want := map[string]int{"link mailbox": 1, "link sent": 1, "link bounced": 1, "link canceled": 1}
		if diff := cmp.Diff(want, counts); diff != "" {
			p.Error(diff)
		}
	})
}
