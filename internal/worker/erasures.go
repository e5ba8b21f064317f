package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// Erasures handles the requests of guests to erase their data. It acknowledges a request by mail, and erases the data when the time has
// come.
type Erasures struct {
	Mails
	Log   *slog.Logger
	Every time.Duration // Every is the interval between sweeps; 0 means a minute
}

const (
	erasureBatch = 100
	// acknowledgementPatience is the longest wait of an erasure for the mail that acknowledges it. The erasure waits because it also erases
	// the address. After this wait it erases the data anyway.
	acknowledgementPatience = time.Hour
)

// Sweep takes the next step of each erasure that is not done: it acknowledges the request, or erases the data when they are due. Each step
// is one transaction, and the next sweep repeats an interrupted one. Only one process of an installation may run it: see [Lease]. After
// erasures it scrubs the database files, in which erased rows may remain. It also does so once after a start, because the process before
// may have ended between erasing and scrubbing.
func (e Erasures) Sweep() Sweep {
	unscrubbed := true
	return Sweep{Name: "erasures", Every: cmp.Or(e.Every, time.Minute), Run: func(ctx context.Context, d *db.DB) error {
		erased, failed := e.run(ctx, d)
		if erased > 0 {
			e.Log.Info("data of guests were erased on request", "erasures", erased)
			unscrubbed = true
		}
		if !unscrubbed || ctx.Err() != nil {
			return failed
		}
		err := d.Scrub(ctx)
		unscrubbed = err != nil
		return errors.Join(failed, err)
	}}
}

// run takes the next step of every erasure that is not done, and returns how many it finished. It notifies staff of those that are near
// their deadline. A failure at one does not stop the others.
func (e Erasures) run(ctx context.Context, d *db.DB) (erased int, failed error) {
	e.DB = d
	for after := ""; ; {
		due, err := guest.ListPendingErasures(d.View(ctx), after, erasureBatch)
		if err != nil {
			return erased, errors.Join(failed, err)
		}
		for _, row := range due {
			after = row.ID
			done := false
			err := d.Write(ctx, func(tx *db.Tx) (err error) {
				done, err = e.advance(tx, row)
				return err
			})
			if ctx.Err() != nil {
				return erased, ctx.Err()
			}
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("erasure %s: %w", row.ID, err))
			}
			if done {
				erased++
				continue
			}
			if err := d.Write(ctx, func(tx *db.Tx) error { return e.notifyLate(tx, row) }); err != nil {
				failed = errors.Join(failed, err)
			}
		}
		if len(due) < erasureBatch {
			return erased, failed
		}
	}
}

// advance takes the next step of an erasure: it orders the mail that acknowledges it, or erases the data once it need not wait for that
// mail and the time has come (see [guest.Erase]). done means that the data are erased now. It does nothing if the request was withdrawn.
func (e Erasures) advance(tx *db.Tx, listed *guest.ErasureRow) (done bool, err error) {
	row, err := guest.PendingErasure(tx, listed.PropertyID, listed.ID)
	if err != nil || row == nil { // row is nil if the request was withdrawn
		return false, err
	}
	if row.ConfirmedAt == nil {
		return false, e.acknowledge(tx, row)
	}
	waiting, err := e.awaitsMail(tx, row)
	if err != nil || waiting {
		return false, err
	}
	if row.GuestID == "" {
		if err := e.unlistUnsent(tx, row); err != nil {
			return false, err
		}
	}
	done, err = guest.Erase(tx, e.Keys, row)
	if err != nil || !done {
		return false, err
	}
	return true, notice.Resolve(tx, row.PropertyID, guest.LateErasureKey(row))
}

// acknowledge orders the mail that acknowledges an erasure request, if an address of the guest is known, and in any case records that the
// request is acknowledged. The data are erased later: see awaitsMail.
func (e Erasures) acknowledge(tx *db.Tx, row *guest.ErasureRow) error {
	to, err := e.addressOf(tx, row)
	if err != nil {
		return err
	}
	mailID := ""
	if to != "" {
		mailID, err = mail.Order(tx, e.Keys, e.Jobs, mail.Mail{
			PropertyID: row.PropertyID, Kind: mail.Erasure, ReservationID: row.ReservationID, GuestID: row.GuestID, To: to, OnceKey: row.ID,
		})
		if err != nil {
			return err
		}
	}
	return guest.AcknowledgeErasure(tx, row, mailID)
}

// addressOf returns the address of the guest whose data are erased, or "" if none is known, or if the guest must not be mailed.
func (e Erasures) addressOf(tx *db.Tx, row *guest.ErasureRow) (string, error) {
	if row.GuestID != "" {
		g, err := guest.Get(tx, row.PropertyID, row.GuestID)
		if fault.Has(err, fault.GuestNotFound) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		return guest.CompanionAddress(tx, e.Keys, g)
	}
	p, _, err := guest.ViewParty(tx, e.Keys, row.PropertyID, row.ReservationID)
	if fault.Has(err, fault.ReservationNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return e.Address(tx, p)
}

// awaitsMail reports whether an erasure must wait until the mail that acknowledges it is sent or given up. After acknowledgementPatience it
// waits no longer. The request must be acknowledged.
func (e Erasures) awaitsMail(tx *db.Tx, row *guest.ErasureRow) (bool, error) {
	if row.MailID == "" || tx.Now().Sub(*row.ConfirmedAt) >= acknowledgementPatience {
		return false, nil
	}
	sent, err := mail.Get(tx, row.PropertyID, row.MailID)
	if fault.Has(err, fault.NotFoundReason) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return mail.State(sent.State) == mail.Waiting || mail.State(sent.State) == mail.Sending, nil
}

// unlistUnsent prepares the deletion of the unsent mails of an erased stay, and deletes none. If such a mail lists other rooms too, these
// count as not invited again, and the next sweep mails their booker.
func (e Erasures) unlistUnsent(tx *db.Tx, row *guest.ErasureRow) error {
	for _, state := range []mail.State{mail.Waiting, mail.Sending} {
		unsent, err := mail.List(tx, row.PropertyID, mail.Filter{ReservationID: row.ReservationID, State: string(state), Limit: erasureBatch})
		if err != nil {
			return err
		}
		for _, m := range unsent {
			if err := unlist(tx, m, []string{row.ReservationID}); err != nil {
				return err
			}
		}
	}
	return nil
}

// notifyLate notifies staff, once, of an erasure whose deadline is near or over; otherwise it does nothing. The caller makes sure that the
// erasure is not done.
func (e Erasures) notifyLate(tx *db.Tx, row *guest.ErasureRow) error {
	dueAt, late, err := guest.LateErasure(tx, row)
	if err != nil || !late {
		return err
	}
	number, err := stayNumber(tx, &mail.Row{PropertyID: row.PropertyID, ReservationID: row.ReservationID})
	if err != nil {
		return err
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: row.PropertyID, Kind: notice.ErasureLate, Subject: row.ReservationID, OnceKey: guest.LateErasureKey(row), Params: message.Params{"number": number, "due": dueAt},
	})
}

// addErasure adds to the mail that acknowledges a request for erasure: when it is due, what the law keeps until when, and the link to its
// receipt. The mail is canceled if the request was withdrawn or the erasure is done already.
func (r *renderer) addErasure() error {
	e, err := guest.ErasureOfMail(r.view, r.Keys, r.row.PropertyID, r.row.ReservationID, r.row.ID)
	if err != nil {
		return err
	}
	if e == nil {
		r.out.canceled = true
		return nil
	}
	r.occasion.Erasure = mail.ErasureFacts{
		DueAt: e.DueAt, Law: e.Law, KeptLast: e.KeptUntil.Add(-time.Nanosecond), Link: r.BaseURL() + "/g/erasure/" + e.Receipt(r.Keys),
	}
	return nil
}
