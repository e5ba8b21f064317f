package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/reservation"
)

// Mails runs the jobs that render and send mails.
type Mails struct {
	DB           *db.DB
	Keys         *keyring.Ring
	Jobs         *jobs.Queue
	Reservations reservation.Service
	// BaseURL returns the address with which links begin, without a slash at its end.
	BaseURL func() string
	Log     *slog.Logger
}

func (m Mails) AddTo(workers *river.Workers) { river.AddWorker(workers, &mailJob{mails: m}) }

type mailJob struct {
	river.WorkerDefaults[jobs.SendMail]
	mails Mails
}

// mailTimeout limits one attempt, including the talk with the mail server.
const mailTimeout = 100 * time.Second

func (*mailJob) Timeout(*river.Job[jobs.SendMail]) time.Duration { return mailTimeout }

// Work makes one attempt. A later attempt is the same job, postponed: the row of the mail counts the attempts.
func (w *mailJob) Work(ctx context.Context, job *river.Job[jobs.SendMail]) error {
	wait, err := w.mails.attempt(ctx, job.Args.PropertyID, job.Args.MailID)
	if err == nil && wait > 0 {
		return river.JobSnooze(wait)
	}
	return err
}

// attempt tries to send a mail. It returns the wait until the next attempt, or 0 if the mail needs none.
func (m Mails) attempt(ctx context.Context, propertyID, mailID string) (time.Duration, error) {
	row, err := mail.Get(m.DB.View(ctx), propertyID, mailID)
	if fault.Has(err, fault.NotFoundReason) {
		return 0, nil // the stay was removed
	}
	if err != nil {
		return 0, err
	}
	switch mail.State(row.State) {
	case mail.Waiting:
	case mail.Sending: // the former attempt ended during the transmission
		return 0, m.fail(ctx, row, mail.Sending, mail.FailedUnanswered, "")
	default:
		return 0, nil
	}
	ready, err := m.render(ctx, row)
	if err != nil {
		return 0, fmt.Errorf("render a mail: %w", err)
	}
	switch {
	case ready.canceled:
		return 0, m.cancel(ctx, row)
	case ready.wait > 0:
		return ready.wait, nil
	case ready.text.To == "":
		return 0, m.fail(ctx, row, mail.Waiting, mail.FailedAddress, "")
	}
	return 0, m.putInMailbox(ctx, row, ready)
}

// putInMailbox stores the text of a mail in the mailbox, and its links.
func (m Mails) putInMailbox(ctx context.Context, row *mail.Row, r rendered) error {
	sealed, err := mail.SealText(ctx, m.Keys, row.PropertyID, row.ID, r.text)
	if err != nil {
		return err
	}
	return m.DB.Write(ctx, func(tx *db.Tx) error {
		address, err := mail.SealAddress(tx, m.Keys, row.PropertyID, row.ID, r.text.To)
		if err != nil {
			return err
		}
		moved, err := mail.Move(tx, row, mail.Waiting, mail.InBox, func(u *ent.MailUpdate) { u.SetText(sealed).SetAddress(address).AddAttempts(1) })
		if err != nil || !moved {
			return err
		}
		return r.storeLinks(tx, m.Keys)
	})
}

func (m Mails) cancel(ctx context.Context, row *mail.Row) error {
	return m.DB.Write(ctx, func(tx *db.Tx) error {
		_, err := mail.Move(tx, row, mail.Waiting, mail.Canceled, nil)
		return err
	})
}

// fail gives a mail up, and notifies staff.
func (m Mails) fail(ctx context.Context, row *mail.Row, from mail.State, why mail.Failure, answer string) error {
	to := mail.Failed
	if why == mail.FailedRecipient {
		to = mail.Bounced
	}
	return m.DB.Write(ctx, func(tx *db.Tx) error {
		moved, err := mail.Move(tx, row, from, to, func(u *ent.MailUpdate) { u.SetFailure(string(why)).SetAnswer(answer) })
		if err != nil || !moved {
			return err
		}
		return m.notifyFailure(tx, row, why)
	})
}

// notifyFailure notifies staff of a mail that was given up. A mail about a stay has a notice of its own; other failures of a property
// share one.
func (m Mails) notifyFailure(tx *db.Tx, row *mail.Row, why mail.Failure) error {
	n := notice.Notice{PropertyID: row.PropertyID, Subject: row.ReservationID, Kind: "mailFailed", OnceKey: row.PropertyID + "/mailFailed/" + row.ReservationID}
	number := ""
	if row.ReservationID != "" {
		stay, err := reservation.Get(tx, reservation.Scope{PropertyID: row.PropertyID}, row.ReservationID)
		if err != nil && !fault.Has(err, fault.ReservationNotFound) {
			return err
		}
		if stay != nil {
			number = stay.PmsNumber
		}
	}
	if number == "" {
		n.Kind, n.Params = "mailFailedOther", message.Params{"problem": mail.FailureText(why)}
		return notice.Add(tx, n)
	}
	n.Params = message.Params{"number": number, "problem": mail.FailureText(why)}
	return notice.Renew(tx, n)
}
