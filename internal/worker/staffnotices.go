package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
)

// urgentKinds are the notices that are mailed to a property's staffEmail at once: a guest is at a door or a tablet and cannot go on. The
// stops of check-ins are mailed by package checkin.
var urgentKinds = []string{string(notice.CodeLate), string(notice.KioskHelp), string(notice.KioskOffline), string(notice.SearchesFailed)}

const (
	urgentEvery = 15 * time.Second
	// urgentFor is the age up to which a notice is still mailed to the staffEmail, such as after the server was down. Older ones are not.
	urgentFor   = 15 * time.Minute
	urgentBatch = 50
)

// UrgentNotices mails notices about guests who cannot go on to the properties' staffEmail. Only one process of an installation may run it:
// see [Lease].
func (m Mails) UrgentNotices() Sweep {
	return Sweep{Name: "urgent notices by mail", Every: urgentEvery, Run: func(ctx context.Context, d *db.DB) (failed error) {
		properties, err := property.ListWithStaffEmail(d.View(ctx))
		if err != nil {
			return err
		}
		for _, propertyID := range properties {
			if err := m.mailUrgentNotices(ctx, d, propertyID); err != nil {
				failed = errors.Join(failed, fmt.Errorf("mail urgent notices to the staff of %s: %w", propertyID, err))
			}
		}
		return failed
	}}
}

// mailUrgentNotices mails to the property's staffEmail its urgent notices (urgentKinds) that are not resolved, were not mailed yet and are
// not older than urgentFor.
func (m Mails) mailUrgentNotices(ctx context.Context, d *db.DB, propertyID string) error {
	for after := ""; ; {
		view := d.View(ctx)
		rows, err := notice.ListSince(view, propertyID, urgentKinds, view.Now().Add(-urgentFor), after, urgentBatch)
		if err != nil {
			return err
		}
		var unsent []*notice.Row
		for _, row := range rows {
			after = row.ID
			ordered, err := mail.IsOrdered(view, propertyID, staffMailKey(row))
			if err != nil {
				return err
			}
			if !ordered {
				unsent = append(unsent, row)
			}
		}
		if len(unsent) > 0 {
			if err := d.Write(ctx, func(tx *db.Tx) error { return m.mailUrgent(tx, unsent) }); err != nil {
				return err
			}
		}
		if len(rows) < urgentBatch {
			return nil
		}
	}
}

// staffMailKey returns the OnceKey of the mail to staff about a notice.
func staffMailKey(n *notice.Row) string { return n.ID + "/staffEmail" }

// mailUrgent orders a mail about each notice that has none yet. It orders none if the property has no staffEmail.
func (m Mails) mailUrgent(tx *db.Tx, rows []*notice.Row) error {
	for _, row := range rows {
		order := mail.Mail{
			PropertyID: row.PropertyID, Kind: mail.Staff, OnceKey: staffMailKey(row), Params: mail.StaffParams(notice.MessageOf(row)),
		}
		if id.Valid(id.Reservation, row.Subject) {
			order.ReservationID = row.Subject
		}
		if _, err := mail.Order(tx, m.Keys, m.Jobs, order); err != nil {
			return err
		}
	}
	return nil
}
