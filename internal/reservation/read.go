package reservation

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/predicate"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/space"
)

// inScope matches the reservations that the scope allows: those of the property, or only those of one integration.
func (s Scope) inScope() predicate.Reservation {
	if s.IntegrationID == "" {
		return entreservation.PropertyID(s.PropertyID)
	}
	return entreservation.And(entreservation.PropertyID(s.PropertyID), entreservation.IntegrationID(s.IntegrationID))
}

func notFound() error {
	return fault.New(fault.NotFound, fault.ReservationNotFound, "no such reservation at this property")
}

// Row is a stored reservation.
type Row = ent.Reservation

// Get returns a reservation by its Latchkey id, or a not-found fault if the scope has none with this id.
func Get(tx *db.Tx, s Scope, reservationID string) (*ent.Reservation, error) {
	row, err := tx.Reservation.Query().Where(s.inScope(), entreservation.ID(reservationID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, notFound()
	}
	return row, err
}

// Find returns a reservation by the id that the PMS gave it, or a not-found fault. If the scope names no integration, it searches those in
// integrations, and it is a fault if several of them use the id.
func Find(tx *db.Tx, s Scope, integrations []string, pmsID string) (*ent.Reservation, error) {
	where := []predicate.Reservation{s.inScope(), entreservation.PmsID(pmsID)}
	if s.IntegrationID == "" {
		where = append(where, entreservation.IntegrationIDIn(integrations...))
	}
	rows, err := tx.Reservation.Query().Where(where...).Limit(2).All(tx.Context())
	switch {
	case err != nil:
		return nil, fmt.Errorf("find a reservation: %w", err)
	case len(rows) == 0:
		return nil, notFound()
	case len(rows) > 1:
		return nil, fault.New(fault.Precondition, fault.Ambiguous, "more than one integration has a reservation with this pmsId: say which with integrationId")
	}
	return rows[0], nil
}

// Query selects a page of [List] or [ListByAccessEvent], with changes at Since or later. Token is that of the page before, or empty. An
// empty State selects all.
type Query struct {
	Size  int
	Token string
	Since time.Time
	State access.State
}

// List returns a page of the reservations that changed at q.Since or later, oldest change first, and the token of the next page, or "" at
// the end. A page may have fewer than q.Size entries. A malformed token is a fault.
func List(tx *db.Tx, s Scope, q Query) (rows []*ent.Reservation, next string, err error) {
	from, err := q.startCursor()
	if err != nil {
		return nil, "", err
	}
	changes, err := changesAfter(tx, s, q.State, from, q.Size+1)
	if err != nil {
		return nil, "", fmt.Errorf("list reservations: %w", err)
	}
	more := len(changes) > q.Size
	if more {
		changes = changes[:q.Size]
	}
	if rows, err = loadInOrder(tx, s, changes); err != nil {
		return nil, "", fmt.Errorf("list reservations: %w", err)
	}
	if more || len(rows) < len(changes) { // a reservation that changed meanwhile is listed further on
		last := changes[len(changes)-1]
		next = PageToken(last.ChangedAt, last.ReservationID)
	}
	return rows, next, nil
}

// startCursor returns the cursor after which the page begins: that of q.Token, or the one before the first change at q.Since if the token
// is empty or is before it. Stored times have microseconds, so a finer q.Since is rounded up: nothing before it is listed. It fails if the
// token is malformed.
func (q Query) startCursor() (cursor, error) {
	since := cursor{at: q.Since.Add(time.Microsecond - 1).Truncate(time.Microsecond)}
	if since.at.Year() > 9999 { // rounded up to a year of five digits, the time would sort before all others
		since.at = q.Since
	}
	if q.Token == "" {
		return since, nil
	}
	at, reservationID, err := ParsePageToken(q.Token)
	if err != nil || at.Before(since.at) {
		return since, err
	}
	return cursor{at, reservationID}, nil
}

// PlaceOf returns the space of a reservation under the current mapping. The place has no space if the reservation has none.
func PlaceOf(tx *db.Tx, row *ent.Reservation) (space.Place, error) {
	place, _, err := space.Resolve(tx, stayOf(row, false).Space)
	return place, err
}

// PlacesOf is [PlaceOf] for reservations of one property. The results are in the order of rows. The number of its queries does not depend
// on the number of reservations.
func PlacesOf(tx *db.Tx, rows []*ent.Reservation) ([]space.Place, error) {
	requests := make([]space.Request, len(rows))
	for i, row := range rows {
		requests[i] = stayOf(row, false).Space
	}
	resolved, err := space.ResolveAll(tx, requests)
	if err != nil {
		return nil, err
	}
	places := make([]space.Place, len(rows))
	for i, r := range resolved {
		places[i] = r.Place
	}
	return places, nil
}

// Plan returns the present access plan of a reservation, and stores nothing. It describes the stored codes and window, and not what a new
// plan would change: see [access.Show].
func (svc Service) Plan(tx *db.Tx, row *ent.Reservation, property *ent.Property) (access.Plan, error) {
	plan, _, err := svc.PlanPlace(tx, row, property)
	return plan, err
}

// PlanPlace returns both the results of [Service.Plan] and [PlaceOf], and resolves the space only once.
func (svc Service) PlanPlace(tx *db.Tx, row *ent.Reservation, property *ent.Property) (access.Plan, space.Place, error) {
	rules, err := access.SettingsOf(property).Rules()
	if err != nil {
		return access.Plan{}, space.Place{}, err
	}
	return access.ShowPlace(tx, svc.Keys, stayOf(row, false), rules)
}

// PageToken encodes the last entry of a page, in a list ordered by a time, which counts in microseconds, then id.
func PageToken(at time.Time, lastID string) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro())) // ParsePageToken converts back
	return base64.RawURLEncoding.EncodeToString(append(b, lastID...))
}

// ParsePageToken is the inverse of PageToken for a list of reservations. Any other text is a fault.
func ParsePageToken(token string) (at time.Time, reservationID string, err error) {
	return ParsePageTokenOf(id.Reservation, token)
}

// ParsePageTokenOf is the inverse of PageToken for a list of entries whose ids have a prefix. Every string that PageToken does not return
// is a fault, because clients send the token.
func ParsePageTokenOf(prefix, token string) (at time.Time, lastID string, err error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil && len(b) > 8 {
		at, lastID = time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(), string(b[8:]) // inverse of the conversion in PageToken
		if at.Year() >= 1970 && at.Year() < 9999 && id.Valid(prefix, lastID) && PageToken(at, lastID) == token {
			return at, lastID, nil
		}
	}
	return time.Time{}, "", fault.BadPageToken()
}
