package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/mail"
)

const (
	mailSweepEvery = time.Minute
	mailSweepBatch = 200
	// mailPatience is the age from which the sweep checks an unfinished mail. A mail with a code is finished earlier, although it waits for
	// its locks.
	mailPatience = 10 * time.Minute
	// mailGrace is how long after [mail.GiveUpAfter] the mail's own job may still finish it. Then the sweep marks it as failed.
	mailGrace = 2 * time.Hour
)

// Sweep makes sure that every mail is sent, canceled or given up. A mail whose job is lost or has used up its attempts gets another job.
// After [mail.GiveUpAfter] and mailGrace it fails, so that staff see it. A run handles at most mailSweepBatch mails of each of these two.
// Only one process of an installation may run it: see [Lease].
func (m Mails) Sweep() Sweep {
	every := m.Every
	if every <= 0 {
		every = mailSweepEvery
	}
	return Sweep{Name: "mails", Every: every, Run: func(ctx context.Context, d *db.DB) error {
		m.DB = d
		now := d.View(ctx).Now()
		tooOld := now.Add(-mail.GiveUpAfter - mailGrace)
		old, err := mail.ListUnfinished(d.View(ctx), time.Time{}, tooOld, mailSweepBatch)
		if err != nil {
			return err
		}
		var failed error
		for _, k := range old {
			failed = errors.Join(failed, m.giveUpStale(ctx, k))
		}
		young, err := mail.ListUnfinished(d.View(ctx), tooOld, now.Add(-mailPatience), mailSweepBatch)
		if err != nil || len(young) == 0 {
			return errors.Join(failed, err)
		}
		err = d.Write(ctx, func(tx *db.Tx) error {
			for _, k := range young {
				if err := m.Jobs.Insert(tx, k); err != nil { // nothing happens if the mail's job exists
					return fmt.Errorf("enqueue a mail again: %w", err)
				}
			}
			return nil
		})
		return errors.Join(failed, err)
	}}
}

// giveUpStale marks a mail as failed and notifies staff, because its job has not finished it in time. It does nothing if the mail is
// finished by now.
func (m Mails) giveUpStale(ctx context.Context, k jobs.SendMail) error {
	row, err := mail.Get(m.DB.View(ctx), k.PropertyID, k.MailID)
	if err != nil {
		return err
	}
	if mail.State(row.State) == mail.Sending {
		return m.giveUp(ctx, row, mail.Sending, mail.FailedUnanswered, "")
	}
	return m.giveUp(ctx, row, mail.Waiting, mail.FailedInternal, "")
}
