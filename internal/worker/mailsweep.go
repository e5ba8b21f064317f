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
// After [mail.GiveUpAfter] and mailGrace it fails, so that staff see it. A run handles at most mailSweepBatch mails of each of these two,
// and the next run those after them, so that mails that wait for long hide none. Only one process of an installation may run it: see
// [Lease].
func (m Mails) Sweep() Sweep {
	every := m.Every
	if every <= 0 {
		every = mailSweepEvery
	}
	var old, young mail.Unfinished // the last mail of each kind in the last run; zero: begin with the oldest
	return Sweep{Name: "mails", Every: every, Run: func(ctx context.Context, d *db.DB) error {
		m.DB = d
		now := d.View(ctx).Now()
		tooOld := now.Add(-mail.GiveUpAfter - mailGrace)
		var failed, err error
		old, failed = m.giveUpOld(ctx, old, tooOld)
		if young.OrderedAt.Before(tooOld) {
			young = mail.Unfinished{OrderedAt: tooOld}
		}
		young, err = m.enqueueAgain(ctx, young, now.Add(-mailPatience))
		return errors.Join(failed, err)
	}}
}

// giveUpOld marks a batch of the mails after a mail that were ordered before until as failed. It returns the last of the batch, or the zero
// value if no more are left. It tries all, even if one fails.
func (m Mails) giveUpOld(ctx context.Context, after mail.Unfinished, until time.Time) (last mail.Unfinished, failed error) {
	old, err := mail.ListUnfinished(m.DB.View(ctx), after, until, mailSweepBatch)
	for _, k := range old {
		failed = errors.Join(failed, m.giveUpStale(ctx, k.SendMail))
	}
	return lastOfBatch(old), errors.Join(failed, err)
}

// enqueueAgain gives a batch of the mails after a mail that were ordered before until another job, if their job does not exist. It returns
// the last of the batch, or the zero value if no more are left.
func (m Mails) enqueueAgain(ctx context.Context, after mail.Unfinished, until time.Time) (last mail.Unfinished, err error) {
	young, err := mail.ListUnfinished(m.DB.View(ctx), after, until, mailSweepBatch)
	if err != nil || len(young) == 0 {
		return mail.Unfinished{}, err
	}
	err = m.DB.Write(ctx, func(tx *db.Tx) error {
		for _, k := range young {
			if err := m.Jobs.Insert(tx, k.SendMail); err != nil { // nothing happens if the mail's job exists
				return fmt.Errorf("enqueue a mail again: %w", err)
			}
		}
		return nil
	})
	return lastOfBatch(young), err
}

// lastOfBatch returns the last mail of a batch, or the zero value if the batch is not full: no mail is left after it.
func lastOfBatch(batch []mail.Unfinished) mail.Unfinished {
	if len(batch) < mailSweepBatch {
		return mail.Unfinished{}
	}
	return batch[len(batch)-1]
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
