package reservation

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
)

// ExtendAccess extends the access of a stay, with the codes on its locks, beyond its planned end, stores an event, and returns the new
// access plan. The extension lasts until the PMS changes the dates or ends the stay. by is the person who asked for it, for the event.
// [access.ExtensionProblem] decides what is refused.
func (svc Service) ExtendAccess(tx *db.Tx, propertyID, reservationID string, until time.Time, by string) (access.Plan, error) {
	row, err := Get(tx, Scope{PropertyID: propertyID}, reservationID)
	if err != nil {
		return access.Plan{}, err
	}
	rules, _, err := loadRules(tx, propertyID)
	if err != nil {
		return access.Plan{}, err
	}
	until = until.UTC().Truncate(time.Microsecond)
	stay := stayOf(row, false)
	if err := access.ExtensionProblem(stay, rules, until, tx.Now()); err != nil {
		return access.Plan{}, err
	}
	err = tx.Reservation.Update().Where(entreservation.PropertyID(propertyID), entreservation.ID(row.ID)).SetExtendedTo(until).Exec(tx.Context())
	if err != nil {
		return access.Plan{}, fmt.Errorf("extend the access of a stay: %w", err)
	}
	err = event.Append(tx, event.Event{
		PropertyID: propertyID, Subject: event.InternalSubject(row.ID), Kind: event.AccessExtended,
		Body: map[string]any{"reservationId": row.ID, "by": by, "until": until.Format(time.RFC3339)},
	})
	if err != nil {
		return access.Plan{}, err
	}
	stay.ExtendedTo = until
	return access.Apply(tx, svc.Keys, stay, rules)
}

// endsExtension reports whether a change by the PMS ends the extension of a stored stay: other dates, or the end of the stay.
func endsExtension(former *ent.Reservation, r Record) bool {
	return former.ExtendedTo != nil && (r.State != access.Started ||
		!isSameDate(former.FromAt, former.FromDate, r.From, r.FromDate) || !isSameDate(former.ToAt, former.ToDate, r.To, r.ToDate))
}

// isSameDate reports whether a start or an end is unchanged. Each is an instant, and the day if the PMS sent one. Equal days are no change
// by the PMS, even if their instants differ: the property has changed its hours, which any change of the reservation applies.
func isSameDate(former time.Time, formerDay *string, now time.Time, day *string) bool {
	if formerDay != nil && day != nil {
		return *formerDay == *day
	}
	return former.Equal(now)
}

// clearExtension removes the extension from a row and from its stored reservation.
func clearExtension(tx *db.Tx, row *ent.Reservation) error {
	row.ExtendedTo = nil
	err := tx.Reservation.Update().Where(entreservation.PropertyID(row.PropertyID), entreservation.ID(row.ID)).ClearExtendedTo().Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("end the extension of a stay: %w", err)
	}
	return nil
}
