package readiness

import (
	"fmt"

	"latchkey.dev/ent"
	entarrival "latchkey.dev/ent/arrival"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// Arrival is a reservation that begins, with its verdict.
type Arrival struct {
	Row *ent.Reservation
	Facts
	Verdict
	Space       string // Space is the name of the space; empty if none
	ParentSpace string // ParentSpace is the name of the dorm of a bed, or ""
	CheckedAt   int    // CheckedAt is the last checkpoint, in minutes before the start; 0 if none
}

// List returns a page of one list of a day, such as its arrivals, each stay with its verdict, and the token of the
// next page.
func List(tx *db.Tx, svc reservation.Service, property *ent.Property, q reservation.DayQuery) (list []Arrival, next string, err error) {
	rows, next, err := reservation.ListDay(tx, property, q)
	if err != nil {
		return nil, "", err
	}
	facts, err := Load(tx, svc, property, rows)
	if err != nil {
		return nil, "", err
	}
	places, err := reservation.PlacesOf(tx, rows)
	if err != nil {
		return nil, "", err
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
		a := Arrival{Row: row, Facts: facts[i], Verdict: Judge(facts[i])}
		if place := places[i]; place.Space != nil {
			a.Space, a.ParentSpace = place.Space.Name, place.ParentName()
		}
		list = append(list, a)
	}
	checked, err := tx.Arrival.Query().Where(entarrival.PropertyID(property.ID), entarrival.IDIn(ids...)).All(tx.Context())
	if err != nil {
		return nil, "", fmt.Errorf("list the checks of arrivals: %w", err)
	}
	for _, l := range checked {
		for i := range list {
			if list[i].Row.ID == l.ID && list[i].Row.FromAt.Equal(l.FromAt) {
				list[i].CheckedAt = l.Minutes
			}
		}
	}
	return list, next, nil
}
