package worker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/riverqueue/river"

	"latchkey.dev/ent"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/staff"
)

// Mails orders the mails that events and sweeps cause, and runs the jobs that render and send mails.
type Mails struct {
	DB           *db.DB
	Keys         *keyring.Ring
	Jobs         *jobs.Queue
	Reservations reservation.Service
	// BaseURL returns the address with which links begin, without a slash at its end.
	BaseURL func() string
	// InvitationURL returns the address of the page on which an invited person joins a property. secret is the token of the invitation.
	InvitationURL func(secret string) string
	// Dial connects to mail servers. It fails at an address that the settings of the installation do not allow.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	TLS  *tls.Config // TLS has the trusted certificates of mail servers; nil: those of the machine
	Log  *slog.Logger
	// Every is the interval of [Mails.Sweep]; 0 means a minute.
	Every time.Duration
	// GuestsReadMailbox means that guests can read the mailbox, as on the page of the demo. A mail in it then counts as delivered: also links
	// to a kept profile are put there, and staff get no notice that mails are not sent.
	GuestsReadMailbox bool
	// Ended counts a mail that ended in a state; nil: it is not counted.
	Ended func(kind mail.Kind, state mail.State)
}

// AddTo registers the job that sends mails with the job queue.
func (m Mails) AddTo(workers *river.Workers) { river.AddWorker(workers, &mailJob{mails: m}) }

// mailJob runs jobs of the kind SendMail for River, the job queue.
type mailJob struct {
	river.WorkerDefaults[jobs.SendMail]
	mails Mails
	turns mailTurns
}

// mailTimeout limits one attempt, including the exchange with the mail server.
const mailTimeout = 100 * time.Second

// renderAgain is the wait before a mail is rendered again because its recipient changed meanwhile.
const renderAgain = time.Second

// Timeout is how long the job queue lets one attempt run.
func (*mailJob) Timeout(*river.Job[jobs.SendMail]) time.Duration { return mailTimeout }

// Work makes one attempt. If another must follow, or the property has no turn now, it postpones the same job. The row of the mail counts the
// attempts.
func (w *mailJob) Work(ctx context.Context, job *river.Job[jobs.SendMail]) error {
	retry, err := w.takeTurn(ctx, job.Args)
	if err != nil {
		return err
	}
	if retry > 0 {
		return river.JobSnooze(retry)
	}
	began := time.Now()
	defer func() { w.turns.end(job.Args.PropertyID, time.Since(began)) }()
	wait, err := w.mails.attempt(ctx, job.Args.PropertyID, job.Args.MailID)
	if errors.Is(err, errOutdated) {
		return river.JobSnooze(renderAgain)
	}
	if err == nil && wait > 0 {
		return river.JobSnooze(wait)
	}
	return err
}

// takeTurn returns 0 if an attempt at a mail may run now; the caller must then end the turn of the property. Otherwise it returns the wait
// until the mail asks again. A mail that a person waits for does not queue behind the others.
func (w *mailJob) takeTurn(ctx context.Context, a jobs.SendMail) (retry time.Duration, err error) {
	if w.turns.take(a.PropertyID, false) {
		return 0, nil
	}
	row, err := mail.Get(w.mails.DB.View(ctx), a.PropertyID, a.MailID)
	switch {
	case err != nil && !fault.Has(err, fault.NotFoundReason):
		return 0, err
	case err != nil || !mail.Kind(row.Kind).IsUrgent():
		return w.turns.wait(a.PropertyID, time.Now()), nil
	case w.turns.take(a.PropertyID, true):
		return 0, nil
	}
	return clock.Spread(sendWait, sendWait/2), nil
}

// attempt tries to send a mail. It returns the wait until the next attempt, or 0 if the mail is finished: sent, put in the mailbox,
// canceled or given up. It gives up a mail whose former attempt ended during the transmission, because that mail may have arrived, and a
// mail with a OnceKey to an address to which mails bounced. It returns errOutdated if the mail must be rendered again.
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
		return 0, m.giveUp(ctx, row, mail.Sending, mail.FailedUnanswered, "")
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
		return 0, m.giveUp(ctx, row, mail.Waiting, mail.FailedAddress, "")
	}
	settings, err := mail.SettingsOf(m.DB.View(ctx), propertyID)
	if err != nil {
		return 0, err
	}
	if settings.Host == "" && m.isPrivate(row) {
		return 0, m.cancel(ctx, row) // without a mail server it would be in the property's mailbox, where staff would read the link
	}
	if settings.Host == "" {
		return 0, m.putInMailbox(ctx, row, ready)
	}
	// A mail without a OnceKey, such as one that staff send again, may go to an address that refused mails.
	if row.OnceKey != nil {
		bounced, err := mail.HasBounced(m.DB.View(ctx), propertyID, guest.AddressMAC(m.Keys, propertyID, ready.text.To))
		if err != nil {
			return 0, err
		}
		if bounced {
			return 0, m.giveUp(ctx, row, mail.Waiting, mail.FailedBefore, "")
		}
	}
	server, err := mail.ServerOf(ctx, m.Keys, settings, ready.property)
	if err != nil {
		return 0, err
	}
	server.Dial, server.TLS = m.Dial, m.TLS
	return m.send(ctx, server, row, ready)
}

// isPrivate reports whether a mail must not be put in the property's mailbox, because staff could read the link in it.
func (m Mails) isPrivate(row *mail.Row) bool {
	kind := mail.Kind(row.Kind)
	return kind == mail.Join || kind == mail.Profile && !m.GuestsReadMailbox
}

// putInMailbox stores the text of a waiting mail in the property's mailbox, and its links. Unless guests read the mailbox, it notifies
// staff that mails are not sent. It returns errOutdated if the recipient changed.
func (m Mails) putInMailbox(ctx context.Context, row *mail.Row, r rendered) error {
	sealed, err := mail.SealText(ctx, m.Keys, row.PropertyID, row.ID, r.text)
	if err != nil {
		return err
	}
	var moved bool
	err = m.DB.Write(ctx, func(tx *db.Tx) error {
		address, err := mail.SealAddress(tx, m.Keys, row.PropertyID, row.ID, r.text.To)
		if err != nil {
			return err
		}
		moved, err = mail.Move(tx, row, mail.Waiting, mail.InBox, func(u *ent.MailUpdate) {
			u.SetText(sealed).SetAddress(address).SetAddressMAC(guest.AddressMAC(m.Keys, row.PropertyID, r.text.To)).AddAttempts(1)
		})
		if err != nil || !moved {
			return err
		}
		if err := m.storeLinks(tx, row, r); err != nil || m.GuestsReadMailbox {
			return err
		}
		return notice.Add(tx, notice.Notice{PropertyID: row.PropertyID, Kind: notice.MailsNotSent, OnceKey: notice.MailsNotSent.Key(row.PropertyID)})
	})
	m.countEnded(row, mail.InBox, moved, err)
	return err
}

// countEnded counts, for the metrics, a mail that reached its last state. moved and err are the results of the transaction that moved it:
// only a committed move counts.
func (m Mails) countEnded(row *mail.Row, state mail.State, moved bool, err error) {
	if err == nil && moved && m.Ended != nil {
		m.Ended(mail.Kind(row.Kind), state)
	}
}

// cancel cancels a waiting mail that is no longer needed. The reservations that an invitation or a reminder lists count as not invited or
// not reminded, and the next sweep evaluates them again.
func (m Mails) cancel(ctx context.Context, row *mail.Row) error {
	var moved bool
	err := m.DB.Write(ctx, func(tx *db.Tx) (err error) {
		moved, err = mail.Move(tx, row, mail.Waiting, mail.Canceled, nil)
		if err != nil || !moved {
			return err
		}
		return unlist(tx, row, nil)
	})
	m.countEnded(row, mail.Canceled, moved, err)
	return err
}

// giveUp gives a mail up for a reason, with the mail server's answer or "", and notifies staff. It does nothing if the mail is no longer in
// the state from.
func (m Mails) giveUp(ctx context.Context, row *mail.Row, from mail.State, why mail.Failure, answer string) error {
	to := mail.StateAfter(why)
	reply, err := mail.SealReply(ctx, m.Keys, row, answer)
	if err != nil {
		return err
	}
	var moved bool
	err = m.DB.Write(ctx, func(tx *db.Tx) (err error) {
		moved, err = m.storeFailure(tx, row, from, why, reply)
		return err
	})
	m.countEnded(row, to, moved, err)
	return err
}

// storeFailure stores why a mail was given up, and notifies staff. moved is false, and nothing changes, if the mail was no longer in the
// state from.
func (m Mails) storeFailure(tx *db.Tx, row *mail.Row, from mail.State, why mail.Failure, reply []byte) (moved bool, err error) {
	moved, err = mail.Move(tx, row, from, mail.StateAfter(why), func(u *ent.MailUpdate) { u.SetFailure(string(why)).SetReply(reply) })
	if err != nil || !moved {
		return false, err
	}
	return true, m.notifyFailure(tx, row, why)
}

// stayNumber returns the PMS's number of the stay that a mail is about, or "" if there is none or the stay was removed.
func stayNumber(tx *db.Tx, row *mail.Row) (string, error) {
	if row.ReservationID == "" {
		return "", nil
	}
	stay, err := reservation.Get(tx, reservation.Scope{PropertyID: row.PropertyID}, row.ReservationID)
	if fault.Has(err, fault.ReservationNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return stay.PmsNumber, nil
}

// revokeLinks revokes the links in a former mail, except those that a device has opened.
func (m Mails) revokeLinks(tx *db.Tx, row *mail.Row) error {
	stays, err := listedIn(tx, row)
	if err != nil {
		return err
	}
	var secrets []string
	for _, reservationID := range stays {
		secrets = append(secrets, mail.LinkSecrets(m.Keys, row.ID, reservationID, row.AddressMAC)...)
	}
	return guest.RevokeMailedLinks(tx, m.Keys, row.PropertyID, secrets)
}

// OrderJoin orders the mail with the link of an invitation to join the staff, and reports whether it does. Without a mail server it does
// not: other staff would read the link in the mailbox. Managers set the mail server and could read the link, so it is not mailed for a role
// that a manager is not allowed to give.
func (m Mails) OrderJoin(tx *db.Tx, i staff.Invitation, language string) (bool, error) {
	settings, err := mail.SettingsOf(tx, i.PropertyID)
	if err != nil || settings.Host == "" || !staff.MayManage(staff.Manager, i.Role) {
		return false, err
	}
	_, err = mail.Order(tx, m.Keys, m.Jobs, mail.Mail{
		PropertyID: i.PropertyID, Kind: mail.Join, To: i.Email, Params: mail.JoinParams(i.ID, i.Round, language),
	})
	return err == nil, err
}

// addJoin adds the link of an invitation. It sets r.out.canceled if the invitation ended or has got another link.
func (r *renderer) addJoin() error {
	invitationID, round := mail.JoinOf(r.row)
	i, err := staff.GetInvitation(r.view, r.Keys, r.row.PropertyID, invitationID)
	if fault.Has(err, fault.InvitationNotFound) || err == nil && i.Round != round {
		r.out.canceled = true
		return nil
	}
	r.occasion.Join = mail.JoinFacts{Role: string(i.Role), Link: r.InvitationURL(i.Secret), EndsAt: i.EndsAt}
	return err
}

// OrderProfile orders the mail with a link to the profile that a property keeps under an address. It does not check whether there is one:
// without a profile the mail is canceled when it is rendered. If mails go to the mailbox, which only staff read, it orders none and returns
// nil.
func (m Mails) OrderProfile(tx *db.Tx, propertyID, address, language string) error {
	outlet, err := m.Outlet(tx, propertyID)
	if err != nil || !outlet.Reaches() {
		return err
	}
	_, err = mail.Order(tx, m.Keys, m.Jobs, mail.Mail{
		PropertyID: propertyID, Kind: mail.Profile, To: address, Params: mail.ProfileParams(language), AddressMAC: guest.AddressMAC(m.Keys, propertyID, address),
	})
	return err
}

// addProfile adds the link to a profile. It sets r.out.canceled if there is no profile of the recipient.
func (r *renderer) addProfile() error {
	link := guest.MailedProfileLink{
		PropertyID: r.row.PropertyID, ProfileID: guest.ProfileID(r.Keys, r.row.PropertyID, r.to), Secret: mail.ProfileSecret(r.Keys, r.row.ID),
	}
	kept, err := link.IsKept(r.view)
	if err != nil {
		return err
	}
	r.out.canceled = !kept
	r.out.profile = &link
	r.occasion.Profile = r.BaseURL() + "/g/l/" + link.Secret
	return nil
}
