package reservation

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// Day returns the start of a day in the property's time zone, and its end, which is the start of the next day. The text is YYYY-MM-DD, from
// 1970 to 9000, or empty for today; any other text is a fault.
func Day(property *ent.Property, text string, now time.Time) (begins, ends time.Time, err error) {
	zone, err := clock.Zone(property.TimeZone)
	if err != nil {
		return begins, ends, fmt.Errorf("property %s: %w", property.ID, err)
	}
	on := now.In(zone)
	if text != "" {
		if on, err = time.Parse(time.DateOnly, text); err != nil {
			return begins, ends, fault.Fields(fault.Field{Path: "date", Reason: fault.BadFormat, Message: "must be a day, YYYY-MM-DD"})
		}
		if on.Year() < 1970 || on.Year() > 9000 {
			return begins, ends, fault.Fields(fault.Field{Path: "date", Reason: fault.OutOfRange, Message: "must be from 1970 to 9000"})
		}
	}
	begins, ends = clock.DayAt(on, zone)
	return begins, ends, nil
}

// recomputedUntil is how long after the end of a stay its dates are still recomputed: a change of the time zone and of the check-out hour
// moves the end by at most two days.
const recomputedUntil = 48 * time.Hour

// ListByDays lists the ids of up to limit reservations after an id, ordered by id: those whose dates the PMS gave as days, and that have
// not ended or ended less than recomputedUntil ago.
func ListByDays(view *db.Tx, propertyID, after string, limit int) ([]string, error) {
	ids, err := view.Reservation.Query().Where(entreservation.PropertyID(propertyID), entreservation.IDGT(after), entreservation.ToAtGT(view.Now().Add(-recomputedUntil)),
		entreservation.Or(entreservation.FromDateNotNil(), entreservation.ToDateNotNil())).
		Order(entreservation.ByID()).Limit(limit).IDs(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list stays that were given by days: %w", err)
	}
	return ids, nil
}

// CompleteDays recomputes the dates of reservations that were given as days, because the property's hours or time zone changed. It replans
// those that moved and are checked in, or marks them for [Service.PlanDue]. pmsMeta.updatedAt stays, because the PMS changed nothing.
func (svc Service) CompleteDays(tx *db.Tx, propertyID string, ids []string) error {
	_, hours, err := loadRules(tx, propertyID)
	if err != nil {
		return err
	}
	rows, err := tx.Reservation.Query().Where(entreservation.PropertyID(propertyID), entreservation.IDIn(ids...)).All(tx.Context())
	if err != nil {
		return fmt.Errorf("load stays that were given by days: %w", err)
	}
	var stays []string
	for _, row := range rows {
		moved, err := recomputeDates(tx, row, hours)
		if err != nil {
			return err
		}
		if moved && access.State(row.State) == access.Started {
			stays = append(stays, row.ID)
		}
	}
	if len(stays) == 0 {
		return nil
	}
	return svc.markAndPlan(tx, propertyID, entreservation.IDIn(stays...))
}

// recomputeDates stores the dates of a row under the given hours, and reports whether they changed. If so, it records a change of the
// reservation and sets the new dates in row, but does not plan the access.
func recomputeDates(tx *db.Tx, row *ent.Reservation, h Hours) (bool, error) {
	from, to := recordOf(row).datesAt(h)
	if from.Equal(row.FromAt) && to.Equal(row.ToAt) {
		return false, nil
	}
	before := *row
	row.FromAt, row.ToAt, row.UpdatedAt = from, to, tx.Now()
	if err := tx.Reservation.UpdateOneID(row.ID).SetFromAt(from).SetToAt(to).SetUpdatedAt(row.UpdatedAt).Exec(tx.Context()); err != nil {
		return false, fmt.Errorf("recompute the dates of %s: %w", row.ID, err)
	}
	return true, recordChange(tx, row, &before)
}
