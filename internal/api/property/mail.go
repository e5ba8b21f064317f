package property

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/notice"
)

// Mails are the functions of the mail service that other packages implement.
type Mails struct {
	// Preview counts the bookers to whom an integration would send invitations to check in.
	Preview func(tx *db.Tx, propertyID, integrationID string) (mail.Counts, error)
	// Switch switches the invitations of an integration on or off.
	Switch func(tx *db.Tx, propertyID, integrationID string, on bool) error
	// Test sends a mail now and returns why no mail server accepted it, also because none is set; nil: it was accepted.
	Test func(ctx context.Context, propertyID, to string) (*mail.SendError, error)
	// Listed reports whether the operator's list of permitted hosts has the mail server, so that it may have a private address or an
	// unusual port.
	Listed func(host string, port int) bool
	// TakeBounce marks the mail that a bounce (a report of a failed delivery) names as failed, notifies staff, and returns the mail. It
	// returns nil if the property has no such mail, or it cannot bounce. A repeated report changes nothing and returns the mail.
	TakeBounce func(tx *db.Tx, propertyID string, bounce mail.Bounce) (*mail.Row, error)
	// Resend orders a mail of the same kind again and returns its id, or "" if a mail to staff has no address any more. If the newest such
	// mail to the same guest is still on its way, it orders none, has it tried at once, and returns its id.
	Resend func(tx *db.Tx, propertyID, mailID string) (string, error)
}

// NewMails returns the mail service.
func NewMails(d Deps, m Mails) propertyv1.MailServiceServer { return &mails{Deps: d, Mails: m} }

type mails struct {
	propertyv1.UnimplementedMailServiceServer
	Deps
	Mails
}

// ListMails lists a page of the mails that the request selects, the newest first, without their texts.
func (s *mails) ListMails(ctx context.Context, r *propertyv1.ListMailsRequest) (*propertyv1.ListMailsResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	if r.GetPageToken() != "" && !id.Valid(id.Mail, r.GetPageToken()) {
		return nil, fault.BadPageToken()
	}
	size := int(r.GetPageSize())
	if size == 0 {
		size = defaultPage
	}
	view := s.DB.View(ctx)
	rows, err := mail.List(view, propertyID, mail.Filter{ReservationID: r.GetReservationId(), State: r.GetState(), After: r.GetPageToken(), Limit: size + 1})
	if err != nil {
		return nil, err
	}
	list := &propertyv1.MailList{}
	if len(rows) > size {
		rows = rows[:size]
		list.NextPageToken = rows[size-1].ID
	}
	for _, row := range rows {
		m, err := s.message(ctx, view, row)
		if err != nil {
			return nil, err
		}
		list.List = append(list.List, m)
	}
	return &propertyv1.ListMailsResponse{Data: list}, nil
}

// GetMail returns a mail, with its text as long as that is stored.
func (s *mails) GetMail(ctx context.Context, r *propertyv1.GetMailRequest) (*propertyv1.GetMailResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	row, err := mail.Get(view, propertyID, r.GetId())
	if err != nil {
		return nil, err
	}
	out := &propertyv1.GetMailResponse{}
	if out.Data, err = s.message(ctx, view, row); err != nil {
		return nil, err
	}
	text, err := mail.OpenText(ctx, s.Keys, row)
	if err != nil || text == nil {
		return out, err
	}
	out.Text = &propertyv1.MailText{To: text.To, Subject: text.Subject, Text: text.Text, Html: text.HTML}
	return out, nil
}

// message converts a mail without its text. The recipient is masked.
func (s *mails) message(ctx context.Context, view *db.Tx, row *mail.Row) (*propertyv1.Mail, error) {
	to, err := mail.Recipient(view, s.Keys, row)
	if err != nil {
		return nil, err
	}
	reply, err := mail.OpenReply(ctx, s.Keys, row)
	if err != nil {
		return nil, err
	}
	return &propertyv1.Mail{
		Id: row.ID, Kind: row.Kind, ReservationId: row.ReservationID, MaskedTo: mail.Mask(to), State: row.State, Attempts: int32(row.Attempts),
		Failure: row.Failure, FailureText: chain.Reader(ctx).Text(mail.ProblemText(row)), Answer: reply, SentAt: convert.OptionalTime(row.SentAt), CreatedAt: timestamppb.New(row.CreatedAt),
		GuestId: row.GuestID,
	}, nil
}

// PreviewInvitations returns how many bookers would be invited if an integration's invitations were switched on now.
func (s *mails) PreviewInvitations(ctx context.Context, r *propertyv1.PreviewInvitationsRequest) (*propertyv1.PreviewInvitationsResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := s.Preview(s.DB.View(ctx), propertyID, r.GetIntegrationId())
	if err != nil {
		return nil, err
	}
	return &propertyv1.PreviewInvitationsResponse{Data: invitationsMessage(counts)}, nil
}

// SetInvitations switches the invitations of an integration on or off. Due invitations are ordered later, by the next sweep.
func (s *mails) SetInvitations(ctx context.Context, r *propertyv1.SetInvitationsRequest) (*propertyv1.SetInvitationsResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.SetInvitationsResponse, error) {
		if err := s.Switch(tx, propertyID, r.GetIntegrationId(), r.GetEnabled()); err != nil {
			return nil, err
		}
		counts, err := s.Preview(tx, propertyID, r.GetIntegrationId())
		return &propertyv1.SetInvitationsResponse{Data: invitationsMessage(counts)}, err
	})
}

// invitationsMessage converts the numbers of bookers who are invited now or later, and of reservations without an address.
func invitationsMessage(c mail.Counts) *propertyv1.Invitations {
	return &propertyv1.Invitations{Enabled: c.Enabled, DueNow: int32(c.Now), DueLater: int32(c.Later), WithoutAddress: int32(c.NoAddress)}
}

// GetMailSettings returns the settings of the mail server without the password. The host is "" if the property has no mail server.
func (s *mails) GetMailSettings(ctx context.Context, _ *propertyv1.GetMailSettingsRequest) (*propertyv1.GetMailSettingsResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	row, err := mail.SettingsOf(view, propertyID)
	if err != nil {
		return nil, err
	}
	data, err := settingsMessage(view, row)
	return &propertyv1.GetMailSettingsResponse{Data: data}, err
}

// UpdateMailSettings changes the settings that the request has. If there is a mail server then, it resolves the notice that mails are not
// sent. A stored password must be sent again if host, port, security or user change. It refuses an outdated etag; without one it
// overwrites.
func (s *mails) UpdateMailSettings(ctx context.Context, r *propertyv1.UpdateMailSettingsRequest) (*propertyv1.UpdateMailSettingsResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.UpdateMailSettingsResponse, error) {
		stored, err := mail.SettingsOf(tx, propertyID)
		if err != nil {
			return nil, err
		}
		seen, err := settingsMessage(tx, stored)
		if err != nil {
			return nil, err
		}
		if err := convert.CheckEtag(r.GetEtag(), seen, unsentField); err != nil {
			return nil, err
		}
		c := r.GetSettings()
		change := mail.SettingsChange{
			Host: c.Host, Security: c.Security, User: c.User, Password: c.Password, FromAddress: c.FromAddress, FromName: c.FromName, ReplyTo: c.ReplyTo,
		}
		if c.Port != nil {
			port := int(c.GetPort())
			change.Port = &port
		}
		row, err := change.Change(tx, s.Keys, propertyID, s.Listed)
		if err != nil {
			return nil, PrefixFields("settings", err)
		}
		if row.Host != "" {
			if err := notice.Resolve(tx, propertyID, notice.MailsNotSent.Key(propertyID)); err != nil {
				return nil, err
			}
		}
		data, err := settingsMessage(tx, row)
		return &propertyv1.UpdateMailSettingsResponse{Data: data}, err
	})
}

// unsentField is the field of the mail settings that counts the unsent mails. It is not a setting, so the etag does not cover it.
const unsentField = "unsent"

// settingsMessage converts the mail settings with the number of unsent mails and the etag, without the password.
func settingsMessage(view *db.Tx, row *mail.SettingsRow) (*propertyv1.MailSettings, error) {
	unsent, err := mail.CountInMailbox(view, row.PropertyID)
	if err != nil {
		return nil, err
	}
	m := &propertyv1.MailSettings{
		Host: row.Host, Port: int32(row.Port), Security: row.Security, User: row.User, HasPassword: len(row.Password) > 0,
		FromAddress: row.FromAddress, FromName: row.FromName, ReplyTo: row.ReplyTo, Unsent: int32(unsent),
	}
	m.Etag = convert.Etag(m, unsentField)
	return m, nil
}

// SendTestMail sends a mail with the stored settings now. If that fails, also because no mail server is set, the call succeeds and the
// answer has the reason.
func (s *mails) SendTestMail(ctx context.Context, r *propertyv1.SendTestMailRequest) (*propertyv1.SendTestMailResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	problem, err := s.Test(ctx, propertyID, r.GetTo())
	if err != nil {
		return nil, err
	}
	if problem != nil {
		return &propertyv1.SendTestMailResponse{Data: &propertyv1.TestMailResult{
			Reason: string(problem.Failure), Answer: problem.Answer, Text: chain.Reader(ctx).Text(mail.FailureText("", problem.Failure)),
		}}, nil
	}
	return &propertyv1.SendTestMailResponse{Data: &propertyv1.TestMailResult{Ok: true}}, nil
}

// ResendMail orders a mail of the same kind again and returns it. It replaces the newest such mail to the same guest: a link of that mail
// that no device has opened ends. If that mail is still on its way, ResendMail returns it and orders none. It refuses an invitation to join
// the staff, a mail about an erasure, a mail to an address that a companion no longer has, and a mail to staff if the property has no
// staffEmail.
func (s *mails) ResendMail(ctx context.Context, r *propertyv1.ResendMailRequest) (*propertyv1.ResendMailResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.ResendMailResponse, error) {
		mailID, err := s.Resend(tx, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		row, err := mail.Get(tx, propertyID, mailID)
		if err != nil {
			return nil, err
		}
		m, err := s.message(ctx, tx, row)
		return &propertyv1.ResendMailResponse{Data: m}, err
	})
}

// ReportBounce marks the mail that a bounce (a report of a failed delivery) names as failed, and notifies staff. It ignores any other
// message, and a bounce of an unknown mail, without an error.
func (s *mails) ReportBounce(ctx context.Context, r *propertyv1.ReportBounceRequest) (*propertyv1.ReportBounceResponse, error) {
	bounce, isBounce := mail.ReadBounce(r.GetMessage())
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (_ *propertyv1.ReportBounceResponse, err error) {
		var row *mail.Row
		if isBounce {
			if row, err = s.TakeBounce(tx, propertyID, bounce); err != nil {
				return nil, err
			}
		}
		if row == nil {
			chain.From(ctx).MarkRecorded() // no entry in the audit log: nothing changed, and strangers can send such mails
			return &propertyv1.ReportBounceResponse{Data: &propertyv1.Bounce{Outcome: "ignored"}}, nil
		}
		m, err := s.message(ctx, tx, row)
		return &propertyv1.ReportBounceResponse{Data: &propertyv1.Bounce{Outcome: row.State, Mail: m}}, err
	})
}
