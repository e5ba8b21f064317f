package space

import (
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/conflict"
	"latchkey.dev/ent/integration"
	"latchkey.dev/ent/mapping"
	"latchkey.dev/ent/partnerspace"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/watch"
)

// chunkSize is the most ids or rows of one statement, so that it does not have too many parameters.
const chunkSize = 200

// Recorded is the result of storing a reading of the PMS's spaces.
type Recorded struct {
	Problem  message.Message // Problem is why the reading was rejected, for staff; zero: accepted
	Failures int             // Failures counts the failed readings in a row, including this one; 0 after an accepted reading
	Opened   []Finding
	Closed   []Finding
	// AffectedStays are the reservations that name a space that is new in the list or is in another room there: they may have another space
	// now, or another reason for having none.
	AffectedStays AffectedStays
}

// Record stores a reading (the result of a getSpaces call to the PMS), and opens and closes conflicts with their notices and events. It
// never removes a mapping. A rejected reading changes only the count of failures and the conflict Unreadable; that is not an error. It
// returns a not-found fault for an unknown integration.
func (m Mappings) Record(tx *db.Tx, propertyID, integrationID string, r Reading) (Recorded, error) {
	in, err := tx.Integration.Query().Where(integration.PropertyID(propertyID), integration.ID(integrationID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return Recorded{}, fault.New(fault.NotFound, fault.IntegrationNotFound, "no such integration at this property")
	}
	if err != nil {
		return Recorded{}, fmt.Errorf("load an integration: %w", err)
	}
	s, err := loadListing(tx, propertyID, integrationID)
	if err != nil {
		return Recorded{}, err
	}
	s.failures = in.SpacesFailures
	out := Diff(s.toKnown(), r, Options{UnreadableAfter: m.UnreadableAfter})
	change := tx.Integration.UpdateOneID(in.ID).SetSpacesTriedAt(tx.Now()).SetSpacesFailures(out.Failures)
	if out.Problem.Kind == "" {
		change.SetSpacesReadAt(tx.Now())
	}
	if err := change.Exec(tx.Context()); err != nil {
		return Recorded{}, fmt.Errorf("store the state of an integration: %w", err)
	}
	watch.Notify(tx, propertyID, watch.Spaces, integrationID)
	result := Recorded{Problem: out.Problem, Failures: out.Failures, Opened: out.Opened, Closed: out.Closed}
	if out.Problem.Kind == "" {
		if err := s.storeListing(tx, out); err != nil {
			return Recorded{}, err
		}
		for _, u := range out.Upsert {
			if was := s.byID[u.ExternalID]; was == nil || was.ParentExternalID != u.ParentExternalID {
				result.AffectedStays.Externals = append(result.AffectedStays.Externals, External{integrationID, u.ExternalID})
			}
		}
	}
	return result, m.storeConflicts(tx, s, out)
}

// reevaluateConflicts opens and closes the conflicts of an integration after a change of its mappings, without another
// getSpaces call. reopened are as in [Review].
func (m Mappings) reevaluateConflicts(tx *db.Tx, propertyID, integrationID string, reopened ...string) error {
	s, err := loadListing(tx, propertyID, integrationID)
	if err != nil {
		return err
	}
	return m.storeConflicts(tx, s, Review(s.toKnown(), reopened...))
}

// listingState is the stored state of a PMS's list of spaces.
type listingState struct {
	propertyID, integrationID string
	rows                      []*ent.PartnerSpace          // rows has also the spaces that the PMS no longer lists
	byID                      map[string]*ent.PartnerSpace // byID has rows by the PMS's id
	mappings                  []*ent.Mapping
	open                      []*ent.Conflict   // open are the open conflicts
	dorms                     map[string]string // dorms has the id of each bed's dorm, by the id of the bed
	failures                  int               // failures counts the failed readings in a row before this one; 0 unless Record has set it
}

// loadListing loads the stored list of spaces of a PMS, also those that it no longer lists, its mappings and its open conflicts. It leaves
// failures 0.
func loadListing(tx *db.Tx, propertyID, integrationID string) (*listingState, error) {
	s := &listingState{propertyID: propertyID, integrationID: integrationID}
	var err error
	s.rows, err = tx.PartnerSpace.Query().Where(partnerspace.PropertyID(propertyID), partnerspace.IntegrationID(integrationID)).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load a partner's listing: %w", err)
	}
	s.mappings, err = tx.Mapping.Query().Where(mapping.PropertyID(propertyID), mapping.IntegrationID(integrationID)).Order(mapping.ByExternalID()).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load mappings: %w", err)
	}
	s.open, err = tx.Conflict.Query().
		Where(conflict.PropertyID(propertyID), conflict.IntegrationID(integrationID), conflict.ClosedAtIsNil()).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load conflicts: %w", err)
	}
	own, _, err := loadOwn(tx, propertyID)
	if err != nil {
		return nil, err
	}
	s.dorms = make(map[string]string, len(own))
	for _, o := range own {
		s.dorms[o.ID] = o.ParentID
	}
	s.byID = make(map[string]*ent.PartnerSpace, len(s.rows))
	for _, row := range s.rows {
		s.byID[row.ExternalID] = row
	}
	return s, nil
}

// toKnown converts the stored state to the input of [Diff].
func (s *listingState) toKnown() Stored {
	k := Stored{Failures: s.failures}
	for _, row := range s.rows {
		if row.GoneAt == nil {
			k.Listing = append(k.Listing, listedOf(row))
		} else {
			k.Gone = append(k.Gone, listedOf(row))
		}
	}
	for _, m := range s.mappings {
		mapped := mappedOf(m)
		mapped.OwnDormID = s.dorms[m.SpaceID]
		k.Mappings = append(k.Mappings, mapped)
	}
	for _, c := range s.open {
		k.Open = append(k.Open, Finding{Kind: Kind(c.Kind), ExternalID: c.ExternalID, Params: c.Parameters})
	}
	return k
}

// mappedOf converts a stored mapping for [Diff], except OwnDormID, which depends on the Latchkey space.
func mappedOf(row *ent.Mapping) Mapped {
	return Mapped{ExternalID: row.ExternalID, SpaceID: row.SpaceID, Name: row.Name, Type: row.Type, ParentExternalID: row.ParentExternalID}
}

// listedOf converts a stored space of a PMS for [Diff].
func listedOf(row *ent.PartnerSpace) Listed {
	return Listed{
		ExternalID: row.ExternalID, Type: row.Type, Name: row.Name, ParentExternalID: row.ParentExternalID,
		Floor: row.Floor, IsPrivate: row.IsPrivate, IsActive: row.IsActive,
	}
}

// listedColumns are the columns of a PMS space that a getSpaces call can change.
var listedColumns = []string{
	partnerspace.FieldType, partnerspace.FieldName, partnerspace.FieldParentExternalID, partnerspace.FieldFloor,
	partnerspace.FieldIsPrivate, partnerspace.FieldIsActive,
}

// storeListing stores the new, changed and missing spaces of an accepted reading (a getSpaces call), the rooms of mapped beds, and when
// each listed space was last seen.
func (s *listingState) storeListing(tx *db.Tx, out DiffResult) error {
	for part := range slices.Chunk(out.Gone, chunkSize) {
		err := tx.PartnerSpace.Update().Where(partnerspace.PropertyID(s.propertyID), partnerspace.IntegrationID(s.integrationID), partnerspace.ExternalIDIn(part...)).
			SetGoneAt(tx.Now()).Exec(tx.Context())
		if err != nil {
			return fmt.Errorf("mark what a partner no longer lists: %w", err)
		}
	}
	for part := range slices.Chunk(out.Upsert, chunkSize) {
		insert := sql.Insert(partnerspace.Table).Columns(slices.Concat(listedColumns, []string{partnerspace.FieldPropertyID, partnerspace.FieldIntegrationID,
			partnerspace.FieldExternalID, partnerspace.FieldSeenAt})...)
		for _, u := range part {
			insert.Values(u.Type, u.Name, u.ParentExternalID, u.Floor, u.IsPrivate, u.IsActive, s.propertyID, s.integrationID, u.ExternalID, tx.Now())
		}
		insert.OnConflict(sql.ConflictColumns(partnerspace.FieldIntegrationID, partnerspace.FieldExternalID), sql.ResolveWith(func(u *sql.UpdateSet) {
			for _, column := range listedColumns {
				u.SetExcluded(column)
			}
			u.SetNull(partnerspace.FieldGoneAt)
		}))
		if _, err := tx.Insert(insert); err != nil {
			return fmt.Errorf("store a partner's listing: %w", err)
		}
	}
	if err := s.storeRooms(tx, out.Rooms); err != nil {
		return err
	}
	err := tx.PartnerSpace.Update().Where(partnerspace.PropertyID(s.propertyID), partnerspace.IntegrationID(s.integrationID), partnerspace.GoneAtIsNil()).
		SetSeenAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store when a partner's listing was read: %w", err)
	}
	return nil
}

// storeRooms stores the rooms of mapped beds in their mappings, by the id of the bed.
func (s *listingState) storeRooms(tx *db.Tx, rooms map[string]string) error {
	beds := map[string][]string{}
	for bed, room := range rooms {
		beds[room] = append(beds[room], bed)
	}
	for room, all := range beds {
		for part := range slices.Chunk(all, chunkSize) {
			err := tx.Mapping.Update().Where(mapping.PropertyID(s.propertyID), mapping.IntegrationID(s.integrationID), mapping.ExternalIDIn(part...)).
				SetParentExternalID(room).Exec(tx.Context())
			if err != nil {
				return fmt.Errorf("store the rooms of mapped beds: %w", err)
			}
		}
	}
	return nil
}

// SpacesReadAt returns when the spaces of an integration were last read successfully, and when the last attempt was; zero means never.
func SpacesReadAt(in *ent.Integration) (read, tried time.Time) {
	return valueOr(in.SpacesReadAt, time.Time{}), valueOr(in.SpacesTriedAt, time.Time{})
}
