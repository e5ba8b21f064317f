package worker

import (
	"bytes"
	"fmt"

	"latchkey.dev/ent"
	"latchkey.dev/ent/invitation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mail"
)

// listsRooms reports whether one mail of a kind may list several reservations of a booker's group: an invitation or a reminder.
func listsRooms(kind mail.Kind) bool { return kind == mail.Invitation || kind == mail.Reminder }

// listedRooms returns the reservations that an invitation or a reminder lists now: those that the sweep recorded for the mail, without
// those that no longer need it or have another address than to. A mail that staff ordered again lists its own reservation whatever the
// address is. elsewhere counts the rooms that other mails of the kind list for the same booker.
func (m Mails) listedRooms(view *db.Tx, row *mail.Row, stay *ent.Reservation, to string) (listed []*ent.Reservation, elsewhere int, err error) {
	stays, err := reservationsOf(view, stay)
	if err != nil {
		return nil, 0, err
	}
	invitations, err := invitationsOf(view, row.PropertyID, stays)
	if err != nil {
		return nil, 0, err
	}
	finished, err := finishedOf(view, row.PropertyID, stays)
	if err != nil {
		return nil, 0, err
	}
	kind, mac := mail.Kind(row.Kind), addressMAC(m.Keys, row.PropertyID, to)
	for _, stay := range stays {
		if doesNotFit(stay, kind, view.Now()) {
			continue
		}
		own := row.OnceKey == nil && stay.ID == row.ReservationID
		i := invitations[stay.ID]
		onList := own || i != nil && listID(i, kind) == row.ID
		isFinished := kind == mail.Reminder && finished[stay.ID]
		if !onList {
			if i != nil && listID(i, kind) != "" && bytes.Equal(i.AddressMAC, mac) && !isFinished {
				elsewhere++
			}
			continue
		}
		address, err := bookerAddress(view, m.Reservations, stay)
		if err != nil {
			return nil, 0, err
		}
		if address != to && !own || isFinished {
			continue
		}
		listed = append(listed, stay)
	}
	return listed, elsewhere, nil
}

// listID returns the id of the mail of a kind, an invitation or a reminder, that lists a reservation, or "".
func listID(i *ent.Invitation, kind mail.Kind) string {
	if kind == mail.Reminder {
		return i.ReminderID
	}
	return i.MailID
}

// unlist removes the reservations that are not in listed from an unsent invitation or reminder; with nil, all. They count as not invited or
// not reminded, and the next sweep evaluates them again. For mails of other kinds it does nothing.
func unlist(tx *db.Tx, row *mail.Row, listed []string) error {
	u := tx.Invitation.Update().Where(invitation.PropertyID(row.PropertyID), invitation.ReservationIDNotIn(listed...)).SetNextAt(tx.Now())
	switch mail.Kind(row.Kind) {
	case mail.Invitation:
		u.Where(invitation.MailID(row.ID)).SetMailID("").ClearInvitedAt()
	case mail.Reminder:
		u.Where(invitation.ReminderID(row.ID)).SetReminderID("").ClearRemindedAt()
	default:
		return nil
	}
	if err := u.Exec(tx.Context()); err != nil {
		return fmt.Errorf("record which reservations a mail lists: %w", err)
	}
	return nil
}

// relist moves the list of reservations of an invitation or a reminder to the mail newID, which staff ordered in its place. For mails of
// other kinds it does nothing.
func relist(tx *db.Tx, row *mail.Row, newID string) error {
	u := tx.Invitation.Update().Where(invitation.PropertyID(row.PropertyID))
	switch mail.Kind(row.Kind) {
	case mail.Invitation:
		u.Where(invitation.MailID(row.ID)).SetMailID(newID)
	case mail.Reminder:
		u.Where(invitation.ReminderID(row.ID)).SetReminderID(newID)
	default:
		return nil
	}
	if err := u.Exec(tx.Context()); err != nil {
		return fmt.Errorf("move the list of a mail: %w", err)
	}
	return nil
}

// listedIn returns the ids of the reservations that a mail lists, its own first. Only invitations and reminders list others.
func listedIn(tx *db.Tx, row *mail.Row) ([]string, error) {
	q := tx.Invitation.Query().Where(invitation.PropertyID(row.PropertyID))
	switch mail.Kind(row.Kind) {
	case mail.Invitation:
		q.Where(invitation.MailID(row.ID))
	case mail.Reminder:
		q.Where(invitation.ReminderID(row.ID))
	default:
		return []string{row.ReservationID}, nil
	}
	rows, err := q.All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("find the reservations that a mail lists: %w", err)
	}
	ids := []string{row.ReservationID}
	for _, i := range rows {
		if i.ReservationID != row.ReservationID {
			ids = append(ids, i.ReservationID)
		}
	}
	return ids, nil
}
