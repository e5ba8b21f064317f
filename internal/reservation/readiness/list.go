package readiness

import (
	"fmt"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entarrival "latchkey.dev/ent/arrival"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// Arrival is a reservation that begins, with its verdict.
type Arrival struct {
	Row *ent.Reservation
	Facts
	Verdict
	Space     string // Space is the name of the space; empty if none
	CheckedAt int    // CheckedAt is the last checkpoint, in minutes before the start; 0 if none
}

// Query selects a day, YYYY-MM-DD in the property's time zone or empty for today, and a page of it.
type Query struct {
	Day   string
	Size  int
	Token string
}

// List returns a page of the arrivals of a day, by start time, and the token of the next page.
func List(tx *db.Tx, svc reservation.Service, propertyID string, q Query) (list []Arrival, next string, err error) {
	property, err := tx.Property.Get(tx.Context(), propertyID)
	if err != nil {
		return nil, "", fmt.Errorf("load the property: %w", err)
	}
	rows, err := arrivalsOnDay(tx, property, q)
	if err != nil {
		return nil, "", err
	}
	if len(rows) > q.Size {
		rows = rows[:q.Size]
		last := rows[q.Size-1]
		next = reservation.PageToken(last.FromAt, last.ID)
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
			a.Space = place.Space.Name
		}
		list = append(list, a)
	}
	checked, err := tx.Arrival.Query().Where(entarrival.PropertyID(propertyID), entarrival.IDIn(ids...)).All(tx.Context())
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

// arrivalsOnDay returns a page of the reservations that begin on a day, plus one if there is another page.
func arrivalsOnDay(tx *db.Tx, property *ent.Property, q Query) ([]*ent.Reservation, error) {
	begins, ends, err := reservation.Day(property, q.Day, tx.Now())
	if err != nil {
		return nil, err
	}
	query := tx.Reservation.Query().Where(entreservation.PropertyID(property.ID), entreservation.StateIn(reservation.Arriving...),
		entreservation.FromAtGTE(begins), entreservation.FromAtLT(ends))
	if q.Token != "" {
		at, after, err := reservation.ParsePageToken(q.Token)
		if err != nil {
			return nil, err
		}
		query = query.Where(entreservation.Or(entreservation.FromAtGT(at), entreservation.And(entreservation.FromAtEQ(at), entreservation.IDGT(after))))
	}
	rows, err := query.Order(entreservation.ByFromAt(), entreservation.ByID(sql.OrderAsc())).Limit(q.Size + 1).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list arrivals: %w", err)
	}
	return rows, nil
}
