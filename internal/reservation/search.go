package reservation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/space"
)

// Search selects a page of reservations for staff; empty fields match all.
type Search struct {
	Text    string   // Text is a whole number, id or group's code, or words of a room's name, or beginnings of words of the booker's name
	IDs     []string // IDs selects reservations by their ids; none selects all
	State   string   // State is empty for any state
	SpaceID string   // SpaceID selects reservations of this space, or of a bed in it; empty: of any
	Day     string   // Day selects reservations that include this day, YYYY-MM-DD at the property, and began at most longestStay days earlier
	Size    int
	Token   string
}

// Found is a reservation that matches a [Search].
type Found struct {
	Row    *ent.Reservation
	Booker Booker
	Space  *ent.Space // Space is nil if the reservation has none
	Parent string     // Parent is the name of the dorm of a bed, or ""
}

const (
	searchBatch = 200
	// maxSearched bounds the reservations that one call decrypts. At the bound, the call returns what it found and a
	// token to continue.
	maxSearched = 2000
	// longestStay bounds how many days before Day a matching reservation may begin. So the index of arrivals suffices; an
	// index of departures would slow down each change.
	longestStay = 400
)

// Search returns a page of the matching reservations of a property, latest arrival first, and the token of the next page, or "" at the end.
// A page with fewer than Size results is not always the last. A malformed day or token, and an unknown space, are faults.
func (svc Service) Search(view *db.Tx, propertyID string, s Search) (found []Found, next string, err error) {
	where, text, err := svc.conditions(view, propertyID, s)
	if err != nil || where == nil {
		return nil, "", err
	}
	var at time.Time
	var id string
	if s.Token != "" {
		if at, id, err = ParsePageToken(s.Token); err != nil {
			return nil, "", err
		}
	}
	batch := searchBatch
	if text == nil && s.SpaceID == "" { // every reservation matches
		batch = min(batch, s.Size+1)
	}
	for searched := 0; searched < maxSearched; {
		page := where
		if id != "" {
			page = append(slices.Clip(where), afterInList(at, id))
		}
		rows, err := view.Reservation.Query().Where(page...).Limit(batch).
			Order(entreservation.ByFromAt(sql.OrderDesc()), entreservation.ByID(sql.OrderDesc())).All(view.Context())
		if err != nil {
			return nil, "", fmt.Errorf("search reservations: %w", err)
		}
		for _, row := range rows {
			if len(found) == s.Size {
				return found, PageToken(at, id), nil
			}
			at, id = row.FromAt, row.ID
			f, err := svc.openIfMatching(view, row, text, s.SpaceID)
			if err != nil {
				return nil, "", err
			}
			if f != nil {
				found = append(found, *f)
			}
		}
		if len(rows) < batch {
			return found, "", nil
		}
		searched += len(rows)
	}
	return found, PageToken(at, id), nil
}

// conditions splits a search into conditions for the database, and a text that the decrypted reservation must match.
// text is nil if the search has none. where is empty if no reservation can match.
func (svc Service) conditions(view *db.Tx, propertyID string, s Search) (where []predicate.Reservation, text *textMatch, err error) {
	where = []predicate.Reservation{entreservation.PropertyID(propertyID)}
	if len(s.IDs) > 0 {
		where = append(where, entreservation.IDIn(s.IDs...))
	}
	if s.State != "" {
		where = append(where, entreservation.State(s.State))
	}
	if s.Day != "" {
		property, err := view.Property.Get(view.Context(), propertyID)
		if err != nil {
			return nil, nil, fmt.Errorf("load the property: %w", err)
		}
		begins, ends, err := Day(property, s.Day, view.Now())
		if err != nil {
			return nil, nil, err
		}
		where = append(where, entreservation.FromAtLT(ends), entreservation.FromAtGTE(begins.AddDate(0, 0, -longestStay)), entreservation.ToAtGT(begins))
	}
	if s.SpaceID != "" {
		if _, err := space.Get(view, propertyID, s.SpaceID); err != nil {
			return nil, nil, err
		}
		in, err := maybeInSpaces(view, propertyID, s.SpaceID)
		if err != nil {
			return nil, nil, err
		}
		where = append(where, in)
	}
	if s.Text = strings.TrimSpace(s.Text); s.Text == "" {
		return where, nil, nil
	}
	if text, err = findText(view, propertyID, s.Text); err != nil {
		return nil, nil, err
	}
	matches, err := svc.textCondition(view, propertyID, text)
	if err != nil || matches == nil {
		return nil, nil, err
	}
	return append(where, matches), text, nil
}

// afterInList selects the reservations that follow a page in a list by arrival, latest first. at and id are the
// arrival and the id of the last reservation of the page.
func afterInList(at time.Time, id string) predicate.Reservation {
	return entreservation.Or(entreservation.FromAtLT(at), entreservation.And(entreservation.FromAt(at), entreservation.IDLT(id)))
}

// openIfMatching decrypts the booker of a reservation and returns it as a search result. It returns nil if the text
// does not match or the reservation is in another space. A nil text or an empty spaceID matches all.
func (svc Service) openIfMatching(view *db.Tx, row *ent.Reservation, text *textMatch, spaceID string) (*Found, error) {
	b, err := svc.Booker(view.Context(), row)
	if err != nil {
		return nil, err
	}
	place, err := PlaceOf(view, row)
	if err != nil {
		return nil, err
	}
	if spaceID != "" && !isIn(place.Space, spaceID) || text != nil && !text.matches(row.ID, b, place.Space) {
		return nil, nil
	}
	return &Found{row, b, place.Space, place.ParentName()}, nil
}

// isIn reports whether a space is one of the spaces, or a bed of one. It is false for nil.
func isIn(s *ent.Space, ids ...string) bool {
	return s != nil && (slices.Contains(ids, s.ID) || slices.Contains(ids, s.ParentID))
}

// FoldNumber returns a booking number without blanks, in upper case. Two numbers are the same for a guest if they fold to the same text.
func FoldNumber(number string) string {
	return strings.ToUpper(strings.Join(strings.Fields(number), ""))
}

// folded returns the result of [FoldNumber] for the index of folded numbers, or nil if the number needs no entry there.
// A guest's search tries the given number in upper and in lower case, so only a number with mixed case or with blanks needs an entry.
func folded(number *string) *string {
	if number == nil {
		return nil
	}
	f := FoldNumber(*number)
	if f == *number || strings.ToLower(f) == *number {
		return nil
	}
	return &f
}
