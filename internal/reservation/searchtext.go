package reservation

import (
	"fmt"
	"slices"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entintegration "latchkey.dev/ent/integration"
	entmapping "latchkey.dev/ent/mapping"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	entname "latchkey.dev/ent/reservationname"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	texts "latchkey.dev/internal/text"
)

const (
	// maxSameNumber bounds the reservations with one number or group that a search finds. It finds no more.
	maxSameNumber = 500
	// maxSameRoom bounds the rooms and beds whose names match a text. A text that matches more, such as "room", names no room.
	maxSameRoom = 20
)

// textMatch is what the text of a search can mean. A reservation matches if it matches one of the three fields.
type textMatch struct {
	ids    []string // reservations with this number or id, or of the group with this code
	words  []string // words of the booker's name; empty if there are ids
	spaces []string // ids of rooms and beds whose names have all words of the text; the name of a bed includes that of its room
}

// findText looks up what a search text can mean: a number or an id, names of rooms, or, if no reservation has this number, words of the
// booker's name.
func findText(view *db.Tx, propertyID, text string) (*textMatch, error) {
	ids, err := findByNumber(view, propertyID, text)
	if err != nil {
		return nil, err
	}
	m := &textMatch{ids: ids}
	words := texts.Words(text)
	if len(ids) == 0 {
		m.words = words
	}
	m.spaces, err = findRooms(view, propertyID, words)
	return m, err
}

// matches reports whether a reservation matches the text: by its id, by its decrypted booker, or by its space in,
// which may be nil.
func (m *textMatch) matches(id string, b Booker, in *ent.Space) bool {
	return slices.Contains(m.ids, id) || len(m.words) > 0 && texts.MatchNames(m.words, b.words()) || isIn(in, m.spaces...)
}

// textCondition selects the reservations that may match the text, by index. It returns nil if none can match.
func (svc Service) textCondition(view *db.Tx, propertyID string, m *textMatch) (predicate.Reservation, error) {
	var either []predicate.Reservation
	if len(m.ids) > 0 {
		either = append(either, entreservation.IDIn(m.ids...))
	}
	if len(m.words) > 0 {
		var all []predicate.Reservation
		for _, w := range m.words[:min(len(m.words), maxWords)] {
			all = append(all, hasName(propertyID, nameToken(svc.Keys, propertyID, indexPrefix(w))))
		}
		either = append(either, entreservation.And(all...))
	}
	if len(m.spaces) > 0 {
		in, err := maybeInSpaces(view, propertyID, m.spaces...)
		if err != nil {
			return nil, err
		}
		either = append(either, in)
	}
	if len(either) == 0 {
		return nil, nil // the text has only punctuation
	}
	return entreservation.Or(either...), nil
}

// findByNumber lists the ids of up to maxSameNumber reservations whose booking number, PMS id, Latchkey id or group's code equals the text.
func findByNumber(view *db.Tx, propertyID, number string) ([]string, error) {
	integrations, err := view.Integration.Query().Where(entintegration.PropertyID(propertyID)).IDs(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list integrations: %w", err)
	}
	ids, err := view.Reservation.Query().Where(entreservation.PropertyID(propertyID), entreservation.Or(entreservation.PmsNumber(number), entreservation.ID(number),
		entreservation.And(entreservation.IntegrationIDIn(integrations...), entreservation.PmsID(number)),
		entreservation.And(entreservation.IntegrationIDIn(integrations...), entreservation.PmsGroupID(number)))).
		Limit(maxSameNumber).IDs(view.Context())
	if err != nil {
		return nil, fmt.Errorf("find reservations by number: %w", err)
	}
	return ids, nil
}

// findRooms returns the ids of the rooms and beds whose names have all of the words. The name of a bed includes that of its room. It
// returns none if words is empty, or if more than maxSameRoom match, because such a text names no room.
func findRooms(view *db.Tx, propertyID string, words []string) (ids []string, err error) {
	if len(words) == 0 {
		return nil, nil
	}
	rows, err := view.Space.Query().Where(entspace.PropertyID(propertyID)).Select(entspace.FieldID, entspace.FieldName, entspace.FieldParentID).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list the names of rooms: %w", err)
	}
	names := make(map[string][]string, len(rows))
	for _, row := range rows {
		names[row.ID] = texts.Words(row.Name)
	}
	for _, row := range rows {
		if !hasAll(names[row.ID], names[row.ParentID], words) {
			continue
		}
		if ids = append(ids, row.ID); len(ids) > maxSameRoom {
			return nil, nil
		}
	}
	return ids, nil
}

// hasAll reports whether each of words is in a or in b.
func hasAll(a, b, words []string) bool {
	for _, w := range words {
		if !slices.Contains(a, w) && !slices.Contains(b, w) {
			return false
		}
	}
	return true
}

// maybeInSpaces selects the reservations that may be in one of the spaces, or in a bed of one, under the current mapping.
// openIfMatching then decides for each, because a bed takes precedence over its room.
func maybeInSpaces(view *db.Tx, propertyID string, spaces ...string) (predicate.Reservation, error) {
	ids, err := view.Space.Query().Where(entspace.PropertyID(propertyID), entspace.Or(entspace.IDIn(spaces...), entspace.ParentIDIn(spaces...))).IDs(view.Context())
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

// hasName matches the reservations whose booker has a name with an indexed beginning of this hash: see nameToken. Other names may share it.
func hasName(propertyID string, token []byte) predicate.Reservation {
	return func(s *sql.Selector) {
		names := sql.Table(entname.Table)
		s.Where(sql.In(s.C(entreservation.FieldID), sql.Select(names.C(entname.FieldReservationID)).From(names).
			Where(sql.And(sql.EQ(names.C(entname.FieldPropertyID), propertyID), sql.EQ(names.C(entname.FieldToken), token)))))
	}
}
