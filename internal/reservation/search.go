package reservation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entintegration "latchkey.dev/ent/integration"
	entmapping "latchkey.dev/ent/mapping"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	entname "latchkey.dev/ent/reservationname"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/space"
	texts "latchkey.dev/internal/text"
)

type Search struct {
	Text    string   // Text is the number or an id of a reservation, or prefixes of words of the booker's name; empty matches all
	IDs     []string // IDs selects reservations by their ids; none selects all
	State   string   // State is empty for any state
	SpaceID string   // SpaceID selects reservations of this space, or of a bed in it
	Day     string   // Day selects reservations that include this day, YYYY-MM-DD at the property, and began at most longestStay days earlier
	Size    int
	Token   string
}

type Found struct {
	Row    *ent.Reservation
	Booker Booker
	Space  *ent.Space // Space is nil if the reservation has none
}

const (
	searchBatch = 200
	// maxSearched bounds the reservations that one call decrypts. At the bound, the call returns what it found and a
	// token to continue.
	maxSearched = 2000
	// longestStay bounds how many days before Day a matching reservation may begin. So the index of arrivals
	// suffices, and no index of departures slows down each change.
	longestStay = 400
	// maxSameNumber bounds the reservations that share a number.
	maxSameNumber = 500
)

// Search returns a page of the matching reservations of a property, latest arrival first, and the token of the next
// page. A page with fewer than Size results is not always the last.
func (svc Service) Search(view *db.Tx, propertyID string, s Search) (found []Found, next string, err error) {
	where, words, err := svc.conditions(view, propertyID, s)
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
	for searched := 0; searched < maxSearched; {
		page := where
		if id != "" {
			page = append(slices.Clip(where), afterInList(at, id))
		}
		rows, err := view.Reservation.Query().Where(page...).Limit(searchBatch).
			Order(entreservation.ByFromAt(sql.OrderDesc()), entreservation.ByID(sql.OrderDesc())).All(view.Context())
		if err != nil {
			return nil, "", fmt.Errorf("search reservations: %w", err)
		}
		for _, row := range rows {
			if len(found) == s.Size {
				return found, PageToken(at, id), nil
			}
			at, id = row.FromAt, row.ID
			f, err := svc.openIfMatching(view, row, words, s.SpaceID)
			if err != nil {
				return nil, "", err
			}
			if f != nil {
				found = append(found, *f)
			}
		}
		if len(rows) < searchBatch {
			return found, "", nil
		}
		searched += len(rows)
	}
	return found, PageToken(at, id), nil
}

// conditions splits a search into conditions for the database and the words that the decrypted name must match. No
// condition means that nothing matches.
func (svc Service) conditions(view *db.Tx, propertyID string, s Search) (where []predicate.Reservation, words []string, err error) {
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
		in, err := inSpace(view, propertyID, s.SpaceID)
		if err != nil {
			return nil, nil, err
		}
		where = append(where, in)
	}
	text := strings.TrimSpace(s.Text)
	if text == "" {
		return where, nil, nil
	}
	ids, err := findByNumber(view, propertyID, text)
	if err != nil || len(ids) > 0 {
		return append(where, entreservation.IDIn(ids...)), nil, err
	}
	if words = texts.Words(text); len(words) == 0 {
		return nil, nil, nil // the text has only punctuation
	}
	for _, w := range words[:min(len(words), maxWords)] {
		where = append(where, hasName(propertyID, nameToken(svc.Keys, propertyID, indexPrefix(w))))
	}
	return where, words, nil
}

// findByNumber lists the reservations with a number, a PMS id or a Latchkey id.
func findByNumber(view *db.Tx, propertyID, number string) ([]string, error) {
	integrations, err := view.Integration.Query().Where(entintegration.PropertyID(propertyID)).IDs(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list integrations: %w", err)
	}
	ids, err := view.Reservation.Query().Where(entreservation.PropertyID(propertyID), entreservation.Or(entreservation.PmsNumber(number),
		entreservation.ID(number), entreservation.And(entreservation.IntegrationIDIn(integrations...), entreservation.PmsID(number)))).
		Limit(maxSameNumber).IDs(view.Context())
	if err != nil {
		return nil, fmt.Errorf("find reservations by number: %w", err)
	}
	return ids, nil
}

// inSpace selects the reservations that may be in a space, or in a bed of it, under the current mapping.
// openIfMatching then decides for each, because a bed takes precedence over its room.
func inSpace(view *db.Tx, propertyID, spaceID string) (predicate.Reservation, error) {
	if _, err := space.Get(view, propertyID, spaceID); err != nil {
		return nil, err
	}
	ids, err := view.Space.Query().Where(entspace.PropertyID(propertyID), entspace.Or(entspace.ID(spaceID), entspace.ParentID(spaceID))).IDs(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list the beds of a space: %w", err)
	}
	mapped, err := view.Mapping.Query().Where(entmapping.PropertyID(propertyID), entmapping.SpaceIDIn(ids...)).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list the mappings of a space: %w", err)
	}
	externals := map[string][]string{} // externals has the PMS's ids of the space, by integration
	for _, m := range mapped {
		externals[m.IntegrationID] = append(externals[m.IntegrationID], m.ExternalID)
	}
	either := []predicate.Reservation{entreservation.OwnSpaceIDIn(ids...)}
	for integrationID, ids := range externals {
		either = append(either, entreservation.And(entreservation.IntegrationID(integrationID),
			entreservation.Or(entreservation.PmsSpaceIDIn(ids...), entreservation.PmsParentSpaceIDIn(ids...))))
	}
	return entreservation.Or(either...), nil
}

// afterInList selects what follows a reservation in a list by arrival, latest first.
func afterInList(at time.Time, id string) predicate.Reservation {
	return entreservation.Or(entreservation.FromAtLT(at), entreservation.And(entreservation.FromAt(at), entreservation.IDLT(id)))
}

// openIfMatching decrypts the booker of a reservation. It returns nil if the name does not match or the reservation
// is in another space.
func (svc Service) openIfMatching(view *db.Tx, row *ent.Reservation, words []string, spaceID string) (*Found, error) {
	b, err := svc.Booker(view.Context(), row)
	if err != nil {
		return nil, err
	}
	names := b.words()
	for _, w := range words {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, w) }) {
			return nil, nil
		}
	}
	place, err := PlaceOf(view, row)
	if err != nil {
		return nil, err
	}
	if spaceID != "" && (place.Space == nil || place.Space.ID != spaceID && place.Space.ParentID != spaceID) {
		return nil, nil
	}
	return &Found{row, b, place.Space}, nil
}

// hasName matches the reservations whose booker has a name with this hash.
func hasName(propertyID string, token []byte) predicate.Reservation {
	return func(s *sql.Selector) {
		names := sql.Table(entname.Table)
		s.Where(sql.In(s.C(entreservation.FieldID), sql.Select(names.C(entname.FieldReservationID)).From(names).
			Where(sql.And(sql.EQ(names.C(entname.FieldPropertyID), propertyID), sql.EQ(names.C(entname.FieldToken), token)))))
	}
}

// FoldNumber returns a booking number without spaces, in upper case. Two numbers are the same for a guest if they fold to the same text.
func FoldNumber(number string) string {
	return strings.ToUpper(strings.Join(strings.Fields(number), ""))
}

// folded returns what is stored so that a guest finds a number that mixes cases or has spaces. Other numbers need no second index entry:
// a search tries them in upper and in lower case.
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
