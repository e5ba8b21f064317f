package worker

import (
	"context"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
)

// send passes a mail to the property's mail server. All steps that can be repeated come before the state Sending: after it, no attempt
// follows unless the server asked for one. It returns the wait until the next attempt, or 0 if there is none. It returns errOutdated if the
// recipient changed before the transmission.
func (m Mails) send(ctx context.Context, server mail.Server, row *mail.Row, r rendered) (time.Duration, error) {
	raw, problem := server.Raw(row.ID, row.CreatedAt, r.text)
	if problem != nil {
		return 0, m.giveUp(ctx, row, mail.Waiting, problem.Failure, problem.Answer)
	}
	// The links must work when the mail arrives, so they are stored before it is sent.
	waiting, err := m.prepare(ctx, row, r)
	if err != nil || !waiting {
		return 0, err
	}
	connection, problem := server.Connect(ctx)
	if problem == nil {
		defer connection.Close()
		problem = connection.Envelope(r.text.To)
	}
	if problem != nil {
		return m.afterProblem(ctx, row, mail.Waiting, problem)
	}
	claimed, err := m.claim(ctx, row, r)
	if err != nil || !claimed {
		return 0, err
	}
	problem = connection.Transmit(raw)
	// The outcome is stored even if the job's time is over or the server stops: without it the mail counts as unanswered.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeOutcomeTimeout)
	defer cancel()
	if problem != nil {
		return m.afterProblem(ctx, row, mail.Sending, problem)
	}
	moved, err := m.move(ctx, row, mail.Sending, mail.Sent)
	m.countEnded(row, mail.Sent, moved, err)
	return 0, err
}

const storeOutcomeTimeout = 10 * time.Second

// prepare counts an attempt, and stores the recipient and the links of the mail before it is sent. waiting is false if the mail no longer
// waits. It returns errOutdated if the recipient changed.
func (m Mails) prepare(ctx context.Context, row *mail.Row, r rendered) (waiting bool, err error) {
	err = m.DB.Write(ctx, func(tx *db.Tx) error {
		address, err := mail.SealAddress(tx, m.Keys, row.PropertyID, row.ID, r.text.To)
		if err != nil {
			return err
		}
		waiting, err = mail.Move(tx, row, mail.Waiting, mail.Waiting, func(u *ent.MailUpdate) {
			u.AddAttempts(1).SetAddress(address).SetAddressMAC(guest.AddressMAC(m.Keys, row.PropertyID, r.text.To))
		})
		if err != nil || !waiting {
			return err
		}
		return m.storeLinks(tx, row, r)
	})
	return waiting, err
}

// claim stores that the mail is transmitted now. claimed is false if the mail no longer waits. It returns errOutdated if the recipient is
// no longer the guest's address. No other transaction can change the address between this check and the state Sending.
func (m Mails) claim(ctx context.Context, row *mail.Row, r rendered) (claimed bool, err error) {
	err = m.DB.Write(ctx, func(tx *db.Tx) error {
		if err := m.checkRecipient(tx, row, r); err != nil {
			return err
		}
		claimed, err = mail.Move(tx, row, mail.Waiting, mail.Sending, nil)
		return err
	})
	return claimed, err
}

// move changes the state of a mail, and reports whether the mail was still in the state from.
func (m Mails) move(ctx context.Context, row *mail.Row, from, to mail.State) (moved bool, err error) {
	err = m.DB.Write(ctx, func(tx *db.Tx) error {
		moved, err = mail.Move(tx, row, from, to, nil)
		return err
	})
	return moved, err
}

// afterProblem postpones a mail that may succeed later, up to [mail.GiveUpAfter], and gives up any other, of which it notifies staff. It
// returns the wait until the next attempt, or 0 if the mail was given up.
func (m Mails) afterProblem(ctx context.Context, row *mail.Row, from mail.State, p *mail.SendError) (time.Duration, error) {
	age := m.DB.View(ctx).Now().Sub(row.CreatedAt)
	if !p.Retry || age > mail.GiveUpAfter {
		return 0, m.giveUp(ctx, row, from, p.Final(), p.Answer)
	}
	reply, err := mail.SealReply(ctx, m.Keys, row, p.Answer)
	if err != nil {
		return 0, err
	}
	err = m.DB.Write(ctx, func(tx *db.Tx) error {
		_, err := mail.Move(tx, row, from, mail.Waiting, func(u *ent.MailUpdate) { u.SetFailure(string(p.Failure)).SetReply(reply) })
		return err
	})
	return mail.RetryAfter(row.Attempts + 1), err
}

// notifyFailure notifies staff of a mail that was given up. Mails to the guests of one stay share a notice until staff have read it: a later
// failure updates an unread notice. So do mails to staff about one stay, and the mails of a property without a stay.
func (m Mails) notifyFailure(tx *db.Tx, row *mail.Row, why mail.Failure) error {
	n := notice.Notice{PropertyID: row.PropertyID, Subject: row.ReservationID, Kind: notice.MailFailed, OnceKey: notice.MailFailed.Key(row.PropertyID) + "/" + row.ReservationID}
	if mail.Kind(row.Kind) == mail.Staff {
		n.OnceKey += "/staff" // the notice of a mail to the guest keeps its problem
	}
	n.Params = message.Params{"problem": mail.FailureText(mail.Kind(row.Kind), why)}
	number, err := stayNumber(tx, row)
	if err != nil {
		return err
	}
	if number == "" {
		n.Kind = notice.MailFailedOther
	} else {
		n.Params["number"] = number
	}
	if err := notice.SupersedeRead(tx, n.PropertyID, n.OnceKey); err != nil {
		return err
	}
	return notice.Renew(tx, n)
}

// Test sends a test mail to an address now, without storing it, and returns why the mail server did not take it, or nil; after
// [mail.FailedUnanswered] it may have. Without a mail server the reason is [mail.FailedNoServer]. The error is a failure before the
// attempt.
func (m Mails) Test(ctx context.Context, propertyID, to string) (*mail.SendError, error) {
	view := m.DB.View(ctx)
	prop, err := property.Get(view, propertyID)
	if err != nil {
		return nil, err
	}
	checkIn, err := property.GetCheckInSettings(view, propertyID)
	if err != nil {
		return nil, err
	}
	reader := message.Reader{Language: checkIn.Language}
	params := message.Params{"property": prop.Name}
	text, err := mail.Compose(to, mail.Content{
		Property: prop.Name, Language: checkIn.Language, Direction: message.Direction(checkIn.Language), Accent: checkIn.Accent, Subject: reader.Text(message.Message{Kind: "mail.test.subject", Params: params}),
		Paragraphs: []string{reader.Text(message.Message{Kind: "mail.test.text", Params: params})},
	})
	if err != nil {
		return nil, err
	}
	settings, err := mail.SettingsOf(view, propertyID)
	if err != nil {
		return nil, err
	}
	if settings.Host == "" {
		return &mail.SendError{Failure: mail.FailedNoServer}, nil
	}
	server, err := mail.ServerOf(ctx, m.Keys, settings, prop.Name)
	if err != nil {
		return nil, err
	}
	server.Dial, server.TLS = m.Dial, m.TLS
	raw, problem := server.Raw(id.New(id.Mail), view.Now(), text)
	if problem != nil {
		return problem, nil
	}
	connection, problem := server.Connect(ctx)
	if problem != nil {
		return problem, nil
	}
	defer connection.Close()
	if problem := connection.Envelope(to); problem != nil {
		return problem, nil
	}
	return connection.Transmit(raw), nil
}

// TakeBounce marks the mail that a bounce reports as not delivered as given up, notifies staff, and returns the mail. It changes nothing if
// the mail cannot bounce, or not any more. Then it returns the mail only if that was given up before, such as by the same report, else nil.
// It also returns nil if the mail is unknown at this property.
func (m Mails) TakeBounce(tx *db.Tx, propertyID string, bounce mail.Bounce) (*mail.Row, error) {
	row, err := mail.Get(tx, propertyID, bounce.MailID)
	if fault.Has(err, fault.NotFoundReason) {
		return nil, nil // the mail belongs to another property, or was deleted with its stay
	}
	if err != nil {
		return nil, err
	}
	if !mail.MayBounce(row) {
		return givenUp(row), nil
	}
	reply, err := mail.SealReply(tx.Context(), m.Keys, row, bounce.Answer)
	if err != nil {
		return nil, err
	}
	if _, err := m.storeFailure(tx, row, mail.State(row.State), bounce.Failure, reply); err != nil {
		return nil, err
	}
	return mail.Get(tx, propertyID, bounce.MailID)
}

// givenUp returns a mail that was given up before; nil for any other.
func givenUp(row *mail.Row) *mail.Row {
	if s := mail.State(row.State); s == mail.Failed || s == mail.Bounced {
		return row
	}
	return nil
}
