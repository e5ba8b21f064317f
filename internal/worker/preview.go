package worker

import (
	"fmt"

	"latchkey.dev/ent"
	"latchkey.dev/ent/invitation"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/partner"
)

// previewPage is how many reservations one query of a preview loads.
const previewPage = 500

// Preview counts the bookers of an integration who would get an invitation, now or later, if invitations were on, and the reservations
// without an address that reaches the booker. Bookers who were invited before do not count.
func (v Invitations) Preview(view *db.Tx, propertyID, integrationID string) (mail.Counts, error) {
	app, err := partner.Integration(view, propertyID, integrationID)
	if err != nil {
		return mail.Counts{}, err
	}
	schedule, err := scheduleOf(view, propertyID)
	if err != nil {
		return mail.Counts{}, err
	}
	invited, err := v.invited(view, propertyID)
	if err != nil {
		return mail.Counts{}, err
	}
	p := previewer{Invitations: v, view: view, schedule: schedule, invited: invited, groups: map[string]bool{}, counts: mail.Counts{Enabled: app.InvitationsAt != nil}}
	for after := ""; ; {
		rows, err := view.Reservation.Query().Where(entreservation.PropertyID(propertyID), entreservation.IntegrationID(integrationID), entreservation.IDGT(after),
			entreservation.State(string(access.Confirmed)), entreservation.ToAtGT(view.Now()), entreservation.FromAtGT(view.Now().Add(-invitationHorizon))).
			Order(entreservation.ByID()).Limit(previewPage).All(view.Context())
		if err != nil {
			return mail.Counts{}, fmt.Errorf("count invitations: %w", err)
		}
		for _, stay := range rows {
			if err := p.count(stay); err != nil {
				return mail.Counts{}, err
			}
		}
		if len(rows) < previewPage {
			return p.counts, nil
		}
		after = rows[len(rows)-1].ID
	}
}

// invited returns the reservations of a property whose bookers were invited.
func (v Invitations) invited(view *db.Tx, propertyID string) (map[string]bool, error) {
	rows, err := view.Invitation.Query().Where(invitation.PropertyID(propertyID), invitation.InvitedAtNotNil()).Select(invitation.FieldReservationID).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("load invitations: %w", err)
	}
	out := make(map[string]bool, len(rows))
	for _, row := range rows {
		out[row.ReservationID] = true
	}
	return out, nil
}

// previewer counts the bookers of one integration for [Invitations.Preview].
type previewer struct {
	Invitations
	view     *db.Tx
	schedule mail.Schedule
	invited  map[string]bool // the reservations whose bookers were invited before, which add to no count
	groups   map[string]bool // the bookers of groups that were counted, by group and address
	counts   mail.Counts
}

// count adds the booker of a reservation to the counts: an invitation now, later, or no address. A booker who was invited, or whose data
// were erased, does not count. The booker of a group counts once, but each of its reservations without an address counts.
func (p *previewer) count(stay *ent.Reservation) error {
	address, err := bookerAddress(p.view, p.Reservations, stay)
	if err != nil || p.invited[stay.ID] || stay.ErasedAt != nil {
		return err
	}
	if !mail.Reaches(address) {
		p.counts.NoAddress++
		return nil
	}
	if stay.PmsGroupID != nil {
		key := *stay.PmsGroupID + "\x00" + address
		if p.groups[key] {
			return nil
		}
		p.groups[key] = true
	}
	due, next := mail.DueMail(mail.Stay{State: stay.State, From: stay.FromAt, To: stay.ToAt, Email: address}, p.schedule, p.view.Now())
	switch {
	case due == mail.DueInvitation:
		p.counts.Now++
	case !next.IsZero():
		p.counts.Later++
	}
	return nil
}

// Switch switches the invitations of an integration on or off. The next sweep orders the mails that are due. Switching on again changes
// nothing, and switching off does not cancel mails that wait to be sent.
func (v Invitations) Switch(tx *db.Tx, propertyID, integrationID string, on bool) error {
	app, err := partner.Integration(tx, propertyID, integrationID)
	if err != nil {
		return err
	}
	update := app.Update()
	switch {
	case on && app.InvitationsAt != nil:
		return nil
	case on:
		update.SetInvitationsAt(tx.Now())
	default:
		update.ClearInvitationsAt()
	}
	if err := update.Exec(tx.Context()); err != nil {
		return fmt.Errorf("switch invitations: %w", err)
	}
	return reevaluate(tx, propertyID, integrationID)
}
