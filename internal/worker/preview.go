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

// Preview counts the bookers of an integration who would get an invitation, now or later.
func (v Invitations) Preview(view *db.Tx, propertyID, integrationID string) (mail.Counts, error) {
	app, err := partner.Integration(view, propertyID, integrationID)
	if err != nil {
		return mail.Counts{}, err
	}
	counts := mail.Counts{Enabled: app.InvitationsAt != nil}
	schedule, err := scheduleOf(view, propertyID)
	if err != nil {
		return mail.Counts{}, err
	}
	invited, err := v.invited(view, propertyID)
	if err != nil {
		return mail.Counts{}, err
	}
	seen := map[string]bool{} // the bookers of groups that were counted
	for after := ""; ; {
		rows, err := view.Reservation.Query().Where(entreservation.PropertyID(propertyID), entreservation.IntegrationID(integrationID), entreservation.IDGT(after),
			entreservation.State(string(access.Confirmed)), entreservation.ToAtGT(view.Now()), entreservation.FromAtGT(view.Now().Add(-invitationHorizon))).
			Order(entreservation.ByID()).Limit(previewPage).All(view.Context())
		if err != nil {
			return mail.Counts{}, fmt.Errorf("count invitations: %w", err)
		}
		for _, stay := range rows {
			if err := v.count(view, &counts, stay, schedule, invited, seen); err != nil {
				return mail.Counts{}, err
			}
		}
		if len(rows) < previewPage {
			return counts, nil
		}
		after = rows[len(rows)-1].ID
	}
}

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

func (v Invitations) count(view *db.Tx, counts *mail.Counts, stay *ent.Reservation, when mail.Schedule, invited, seen map[string]bool) error {
	address, err := bookerAddress(view, v.Reservations, stay)
	if err != nil || invited[stay.ID] {
		return err
	}
	if !mail.Reaches(address) {
		counts.NoAddress++
		return nil
	}
	if stay.PmsGroupID != nil {
		key := *stay.PmsGroupID + "\x00" + address
		if seen[key] {
			return nil
		}
		seen[key] = true
	}
	due, next := mail.DueMail(mail.Stay{State: stay.State, From: stay.FromAt, To: stay.ToAt, Email: address}, when, view.Now())
	switch {
	case due == mail.DueInvitation:
		counts.Now++
	case !next.IsZero():
		counts.Later++
	}
	return nil
}

// Switch switches the invitations of an integration on or off. The next sweep orders the mails that are due.
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
	_, err = tx.ExecContext(tx.Context(), reevaluate, tx.Now(), propertyID, integrationID, propertyID)
	if err != nil {
		return fmt.Errorf("evaluate invitations again: %w", err)
	}
	return nil
}

const reevaluate = `UPDATE invitations SET next_at = $1 WHERE property_id = $2
	AND reservation_id IN (SELECT id FROM reservations WHERE integration_id = $3 AND property_id = $4)`
