package reservation

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/grant"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
)

// Tab is one list of a day at the front desk. The values are those of the API.
type Tab string

const (
	Arrivals   Tab = "arrivals"   // stays that begin on the day and are confirmed or started: see Arriving
	InHouse    Tab = "inHouse"    // stays that include the day; today: guests who are checked in
	Departures Tab = "departures" // stays that end on the day, of guests who have checked in; an early check-out counts on its own day
)

// DayQuery selects a page of a list of a day. Day is YYYY-MM-DD in the property's time zone, or empty for today.
type DayQuery struct {
	Day   string
	Tab   Tab
	Size  int
	Token string
	Only  []string // ids of the stays to list; nil: all, empty: none
}

// span is one day at a property; today means that it is the present day.
type span struct {
	begins, ends time.Time
	today        bool
}

// daySpan returns the span of a day YYYY-MM-DD at a property; an empty text means today. Any other text is a fault.
func daySpan(property *ent.Property, day string, now time.Time) (s span, err error) {
	s.begins, s.ends, err = Day(property, day, now)
	s.today = !now.Before(s.begins) && now.Before(s.ends)
	return s, err
}

// The states are literals, because the partial indexes of reservations serve only statements that name them.
var (
	isStarted = literal("state = 'started'")
	hasStayed = literal("(state = 'started' OR state = 'processed')")
	isOver    = literal("state = 'processed'")
)

// leftBetween selects the stays whose guests checked out from a time until before another, by when their access ended. A check-out that was
// taken back does not count: a later grant follows it.
func leftBetween(from, until time.Time) predicate.Reservation {
	return func(s *sql.Selector) {
		g, later := sql.Table(grant.Table), sql.Table(grant.Table).As("later")
		s.Where(sql.Exists(sql.Select(g.C(grant.FieldID)).From(g).Where(sql.And(
			sql.ColumnsEQ(g.C(grant.FieldReservationID), s.C(entreservation.FieldID)), sql.ColumnsEQ(g.C(grant.FieldPropertyID), s.C(entreservation.FieldPropertyID)),
			sql.EQ(g.C(grant.FieldEndReason), string(access.CheckedOut)), sql.GTE(g.C(grant.FieldEndedAt), from), sql.LT(g.C(grant.FieldEndedAt), until),
			sql.Not(sql.Exists(sql.Select(later.C(grant.FieldID)).From(later).Where(sql.And(
				sql.ColumnsEQ(later.C(grant.FieldReservationID), g.C(grant.FieldReservationID)), sql.ColumnsEQ(later.C(grant.FieldPropertyID), g.C(grant.FieldPropertyID)),
				sql.ColumnsGT(later.C(grant.FieldID), g.C(grant.FieldID)),
			)))),
		))))
	}
}

// name returns the day as YYYY-MM-DD in the property's time zone.
func (s span) name(property *ent.Property) (string, error) {
	zone, err := clock.Zone(property.TimeZone)
	if err != nil {
		return "", fmt.Errorf("property %s: %w", property.ID, err)
	}
	return s.begins.In(zone).Format(time.DateOnly), nil
}

// literal returns a condition that is part of the statement's text, without parameters.
func literal(condition string) predicate.Reservation {
	return func(s *sql.Selector) { s.Where(sql.ExprP(condition)) }
}

// conditions returns the conditions for the stays in a list of the day. Any other tab than InHouse and Departures means Arrivals.
func (s span) conditions(tab Tab) []predicate.Reservation {
	leftBefore := entreservation.And(isOver, leftBetween(time.Time{}, s.begins))
	switch {
	case tab == InHouse && s.today:
		return []predicate.Reservation{isStarted, entreservation.FromAtLT(s.ends)}
	case tab == InHouse:
		return []predicate.Reservation{entreservation.StateIn(string(access.Confirmed), string(access.Started), string(access.Processed)),
			entreservation.FromAtLT(s.ends), entreservation.FromAtGTE(s.begins.AddDate(0, 0, -longestStay)), entreservation.ToAtGT(s.begins), entreservation.Not(leftBefore)}
	case tab == Departures:
		leftEarly := entreservation.And(isOver, leftBetween(s.begins, s.ends))
		return []predicate.Reservation{
			hasStayed, entreservation.ToAtGTE(s.begins), entreservation.ToAtLT(s.ends.AddDate(0, 0, longestStay)), // the bound with longestStay only limits how much is read
			entreservation.Or(entreservation.And(entreservation.ToAtLT(s.ends), entreservation.Not(leftBefore)), leftEarly),
		}
	}
	return []predicate.Reservation{entreservation.StateIn(Arriving...), entreservation.FromAtGTE(s.begins), entreservation.FromAtLT(s.ends)}
}

// ListDay returns a page of one list of a day, such as its arrivals, and the token of the next page, or "" at the end. Departures are
// ordered by their end, other stays by their start. A malformed day or token is a fault.
func ListDay(view *db.Tx, property *ent.Property, q DayQuery) (rows []*ent.Reservation, next string, err error) {
	day, err := daySpan(property, q.Day, view.Now())
	if err != nil {
		return nil, "", err
	}
	column, moment := entreservation.FieldFromAt, func(row *ent.Reservation) time.Time { return row.FromAt }
	if q.Tab == Departures {
		column, moment = entreservation.FieldToAt, func(row *ent.Reservation) time.Time { return row.ToAt }
	}
	where := append(day.conditions(q.Tab), entreservation.PropertyID(property.ID))
	if q.Only != nil {
		where = append(where, entreservation.IDIn(q.Only...))
	}
	if q.Token != "" {
		at, after, err := ParsePageToken(q.Token)
		if err != nil {
			return nil, "", err
		}
		where = append(where, entreservation.Or(sql.FieldGT(column, at), entreservation.And(sql.FieldEQ(column, at), entreservation.IDGT(after))))
	}
	rows, err = view.Reservation.Query().Where(where...).Order(sql.OrderByField(column).ToFunc(), entreservation.ByID()).Limit(q.Size + 1).All(view.Context())
	if err != nil {
		return nil, "", fmt.Errorf("list the %s of a day: %w", q.Tab, err)
	}
	if len(rows) > q.Size {
		rows = rows[:q.Size]
		next = PageToken(moment(rows[q.Size-1]), rows[q.Size-1].ID)
	}
	return rows, next, nil
}

// DayCounts are the numbers of stays in the lists of a day. Left means that the check-in or the check-out has not
// happened yet.
type DayCounts struct {
	Day                        string // YYYY-MM-DD in the property's time zone
	Arrivals, ArrivalsLeft     int
	InHouse                    int
	Departures, DeparturesLeft int
}

// CountDay counts the stays in the lists of a day. text is YYYY-MM-DD, or empty for today; any other text is a fault.
func CountDay(view *db.Tx, property *ent.Property, text string) (c DayCounts, err error) {
	day, err := daySpan(property, text, view.Now())
	if err != nil {
		return c, err
	}
	if c.Day, err = day.name(property); err != nil {
		return c, err
	}
	for _, n := range []struct {
		into *int
		tab  Tab
		left access.State // only stays in this state, in which the check-in or the check-out has not happened yet; empty: all
	}{
		{&c.Arrivals, Arrivals, ""}, {&c.ArrivalsLeft, Arrivals, access.Confirmed},
		{&c.InHouse, InHouse, ""},
		{&c.Departures, Departures, ""}, {&c.DeparturesLeft, Departures, access.Started},
	} {
		where := append(day.conditions(n.tab), entreservation.PropertyID(property.ID))
		if n.left != "" {
			where = append(where, entreservation.State(string(n.left)))
		}
		if *n.into, err = view.Reservation.Query().Where(where...).Aggregate(ent.Count()).Int(view.Context()); err != nil {
			return c, fmt.Errorf("count the %s of a day: %w", n.tab, err)
		}
	}
	return c, nil
}

// maxArrivals bounds how many arrivals of a day [CountArrivals] counts. A day at a large hotel has a few hundred.
const maxArrivals = 5000

// CountArrivals returns how many stays of a day begin in each space of a property, by the space's id; those whose room is not known count
// under "". It counts the first maxArrivals. text is the day as YYYY-MM-DD, or empty for today; any other text is a fault. date is that day
// as YYYY-MM-DD.
func CountArrivals(view *db.Tx, property *ent.Property, text string) (counts map[string]int, date string, err error) {
	day, err := daySpan(property, text, view.Now())
	if err != nil {
		return nil, "", err
	}
	if date, err = day.name(property); err != nil {
		return nil, "", err
	}
	where := append(day.conditions(Arrivals), entreservation.PropertyID(property.ID))
	rows, err := view.Reservation.Query().Where(where...).Order(entreservation.ByFromAt()).Limit(maxArrivals).All(view.Context())
	if err != nil {
		return nil, "", fmt.Errorf("list the arrivals of a day: %w", err)
	}
	places, err := PlacesOf(view, rows)
	if err != nil {
		return nil, "", err
	}
	counts = map[string]int{}
	for _, p := range places {
		if p.Space == nil {
			counts[""]++
		} else {
			counts[p.Space.ID]++
		}
	}
	return counts, date, nil
}
