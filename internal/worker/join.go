package worker

import (
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/staff"
)

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

// addJoin adds the link of an invitation. It cancels the mail if the invitation ended or has got another link.
func (r *renderer) addJoin() error {
	invitationID, round := mail.JoinOf(r.row)
	i, err := staff.GetInvitation(r.view, r.Keys, r.row.PropertyID, invitationID)
	if fault.Has(err, fault.InvitationNotFound) || err == nil && i.Round != round {
		r.out.canceled = true
		return nil
	}
	r.occasion.Join = mail.JoinFacts{Role: string(i.Role), Link: r.BaseURL() + staff.InvitationPath + i.Secret, EndsAt: i.EndsAt}
	return err
}
