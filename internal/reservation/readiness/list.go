package readiness

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entarrival "latchkey.dev/ent/arrival"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/reservation"
)

// Arrival is a reservation in one of the lists of a day (arrivals, in house, departures), with its verdict.
type Arrival struct {
	Row *ent.Reservation
	Facts
	Verdict
	Space       string // Space is the name of the space; empty if none
	ParentSpace string // ParentSpace is the name of the dorm of a bed, or ""
	CheckedAt   int    // CheckedAt is the last checkpoint, in minutes before the start; 0 if none since the start was set
}

// List returns a page of one list of a day, such as its arrivals, each stay with a verdict that is made now and not stored, and the token
// of the next page, or "" at the end.
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

// overdueAfter is how long the result of a check still counts after the next check was due. Checks are later than that only if none run.
const overdueAfter = time.Minute

// Statuses returns the status of each of rows, arrivals of one property, in the same order. It takes the result of the last check, which a
// change makes outdated for seconds at most. It judges up to most arrivals without such a result now, those first whose guests have not
// checked in. The status of the rest is empty.
func Statuses(tx *db.Tx, svc reservation.Service, property *ent.Property, rows []*ent.Reservation, most int) ([]Status, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	at := map[string]int{}
	first, last := rows[0].FromAt, rows[0].FromAt
	for i, row := range rows {
		at[row.ID] = i
		first, last = slices.MinFunc([]time.Time{first, row.FromAt}, time.Time.Compare), slices.MaxFunc([]time.Time{last, row.FromAt}, time.Time.Compare)
	}
	out := make([]Status, len(rows))
	checked, err := tx.Arrival.Query().Where(entarrival.PropertyID(property.ID), entarrival.FromAtGTE(first), entarrival.FromAtLTE(last),
		entarrival.AgainAtGT(tx.Now().Add(-overdueAfter)), entarrival.MinutesGT(0)).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the checks of arrivals: %w", err)
	}
	for _, c := range checked {
		if i, ok := at[c.ID]; ok && rows[i].FromAt.Equal(c.FromAt) {
			out[i] = Status(c.Verdict)
		}
	}
	left := slices.DeleteFunc(slices.Clone(rows), func(row *ent.Reservation) bool { return out[at[row.ID]] != "" })
	slices.SortStableFunc(left, func(a, b *ent.Reservation) int { return cmp.Compare(startedLast(a), startedLast(b)) })
	left = left[:min(len(left), most)]
	facts, err := Load(tx, svc, property, left)
	if err != nil {
		return nil, err
	}
	for i, row := range left {
		out[at[row.ID]] = Judge(facts[i]).Status
	}
	return out, nil
}

// startedLast returns the sort key of an arrival: 1 if its guests have checked in, so that it comes last.
func startedLast(row *ent.Reservation) int {
	if access.State(row.State) == access.Started {
		return 1
	}
	return 0
}
