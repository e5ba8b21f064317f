package reservation

import (
	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
)

// appendChangedEvent records a change by the PMS that affects access, so that the explanation of the stay can show it. held is the record
// before the change (nil for a new reservation), merged is the record after it. granted means that the reservation has or had access before
// the change. Without granted, there is an event only if merged is checked in (started). There is none if no part of [changedParts]
// differs.
func appendChangedEvent(tx *db.Tx, row *ent.Reservation, held *Record, merged Record, granted bool) error {
	if !granted && merged.State != access.Started {
		return nil
	}
	changed := changedParts(held, merged)
	if len(changed) == 0 {
		return nil
	}
	body := map[string]any{"reservationId": row.ID, "state": string(merged.State), "changed": changed}
	if held != nil {
		body["stateBefore"] = string(held.State)
	}
	return event.Append(tx, event.Event{
		PropertyID: row.PropertyID, Subject: event.InternalSubject(row.ID), Kind: event.ReservationChanged, Body: body,
	})
}

// Parts of a reservation that access depends on, as the stored event [event.ReservationChanged] names those that changed.
const (
	ChangedState = "state"
	ChangedDates = "dates"
	ChangedSpace = "space"
)

// changedParts returns which parts on which access depends differ between two records. It returns all parts if held is
// nil, for a new reservation.
func changedParts(held *Record, merged Record) []string {
	if held == nil {
		return []string{ChangedState, ChangedDates, ChangedSpace}
	}
	var out []string
	if held.State != merged.State {
		out = append(out, ChangedState)
	}
	if !held.From.Equal(merged.From) || !held.To.Equal(merged.To) {
		out = append(out, ChangedDates)
	}
	if held.SpaceKey() != merged.SpaceKey() || db.OrZero(held.OwnSpaceID) != db.OrZero(merged.OwnSpaceID) {
		out = append(out, ChangedSpace)
	}
	return out
}
