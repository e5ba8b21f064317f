package space

import (
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/conflict"
	"latchkey.dev/ent/mapping"
	"latchkey.dev/ent/mappingchange"
	entspace "latchkey.dev/ent/space"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/watch"
)

// ChangeKind is the action by which a person changed a mapping.
type ChangeKind string

const (
	SetOne       ChangeKind = "set"         // one space was mapped
	UnsetOne     ChangeKind = "unset"       // one mapping was removed
	SetMany      ChangeKind = "batch"       // several spaces were mapped or unmapped by one call
	SetSuggested ChangeKind = "suggestions" // suggested mappings were stored
	CreatedAll   ChangeKind = "create"      // spaces were created for those without a suggestion, and mapped
	AppliedCure  ChangeKind = "cure"        // a conflict was ended by one of its fixes
	UndoneChange ChangeKind = "undo"        // an earlier change was undone
)

// NoChange is the id of the latest change of a mapping that was never changed.
const NoChange = "none"

// ChangeRow is a stored change of a mapping.
type ChangeRow = ent.MappingChange

// ChangeOf describes a change that a person makes to a mapping, for [Mappings.RecordChange].
type ChangeOf struct {
	PropertyID, IntegrationID string
	Kind                      ChangeKind
	Author                    string // Author names the caller as in the audit log, such as "staff:prs_..."
	Seen                      string // Seen is the latest change that the caller knows, or NoChange; empty: any
	Undoes                    string // Undoes is the change that this one undoes, or empty
}

// RecordChange runs a change of an integration's mapping by a person, and stores what it changed, so that it can be undone. It returns the
// id of the stored change, or "" if nothing changed. It returns a fault, and does not run the change, if c.Seen is set and is not the
// latest change, because the person has not seen the later one. If no change is stored, it accepts each c.Seen that is NoChange or has the
// form of an id. It returns the error of change, after which the caller must roll back.
func (m Mappings) RecordChange(tx *db.Tx, c ChangeOf, change func() error) (changeID string, err error) {
	if err := checkSeen(tx, c); err != nil {
		return "", err
	}
	before, err := loadMapped(tx, c.PropertyID, c.IntegrationID)
	if err != nil {
		return "", err
	}
	if err := change(); err != nil {
		return "", err
	}
	after, err := loadMapped(tx, c.PropertyID, c.IntegrationID)
	if err != nil {
		return "", err
	}
	rows := diffMappings(before, after)
	if len(rows) == 0 {
		return "", nil
	}
	row, err := tx.MappingChange.Create().SetID(id.New(id.MappingChange)).SetPropertyID(c.PropertyID).SetIntegrationID(c.IntegrationID).SetKind(string(c.Kind)).
		SetAuthor(c.Author).SetRows(rows).SetUndoes(c.Undoes).SetCreatedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return "", fmt.Errorf("store a change of a mapping: %w", err)
	}
	return row.ID, nil
}

// checkSeen returns a fault if the mapping was changed after c.Seen, the latest change that the caller has seen. It accepts an empty
// c.Seen, and any id if no change is stored.
func checkSeen(tx *db.Tx, c ChangeOf) error {
	if c.Seen == "" {
		return nil
	}
	if c.Seen != NoChange && !id.Valid(id.MappingChange, c.Seen) {
		return fault.Fields(fault.Field{Path: "lastChangeId", Reason: fault.BadFormat, Message: "must be the id of a change, or " + NoChange})
	}
	recent, err := ListChanges(tx, c.PropertyID, c.IntegrationID, "", 1)
	if err != nil || len(recent) == 0 || recent[0].ID == c.Seen {
		return err
	}
	return putChange(fault.New(fault.Aborted, fault.Outdated, "the mapping was changed since you read it: read it again"), recent[0])
}

// putChange adds the id, time and author of a change to the error f that the change caused.
func putChange(f *fault.Fault, c *ent.MappingChange) *fault.Fault {
	return f.Put("changeId", c.ID).Put("by", c.Author).Put("at", c.CreatedAt.UTC().Format(time.RFC3339))
}

// LastChange returns the id of the latest change of an integration's mapping, or [NoChange].
func LastChange(tx *db.Tx, propertyID, integrationID string) (string, error) {
	id, err := tx.MappingChange.Query().Where(mappingchange.PropertyID(propertyID), mappingchange.IntegrationID(integrationID)).
		Order(mappingchange.ByID(sql.OrderDesc())).FirstID(tx.Context())
	if ent.IsNotFound(err) {
		return NoChange, nil
	}
	if err != nil {
		return "", fmt.Errorf("find the last change of a mapping: %w", err)
	}
	return id, nil
}

// loadMapped loads the present mappings of an integration, without OwnDormID.
func loadMapped(tx *db.Tx, propertyID, integrationID string) ([]Mapped, error) {
	rows, err := tx.Mapping.Query().Where(mapping.PropertyID(propertyID), mapping.IntegrationID(integrationID)).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load mappings: %w", err)
	}
	all := make([]Mapped, len(rows))
	for i, r := range rows {
		all[i] = mappedOf(r)
	}
	return all, nil
}

// ListChanges lists changes of an integration's mapping, the latest first: at most size that are older than the change after, or the latest
// if after is empty.
func ListChanges(tx *db.Tx, propertyID, integrationID, after string, size int) ([]*ent.MappingChange, error) {
	q := tx.MappingChange.Query().Where(mappingchange.PropertyID(propertyID), mappingchange.IntegrationID(integrationID))
	if after != "" {
		q = q.Where(mappingchange.IDLT(after))
	}
	rows, err := q.Order(mappingchange.ByID(sql.OrderDesc())).Limit(size).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the changes of a mapping: %w", err)
	}
	return rows, nil
}

// Undo restores the mappings as they were before a change, and stores that as the new change newID by author. It returns a fault if the
// change is unknown or too old, if it is undone already, if one of these mappings was changed since, or if a former space was deleted or is
// mapped to another space now. The result selects the reservations whose access the caller must plan again.
func (m Mappings) Undo(tx *db.Tx, propertyID, changeID, author string) (newID string, _ AffectedStays, err error) {
	change, err := getChange(tx, propertyID, changeID)
	if err != nil {
		return "", AffectedStays{}, err
	}
	if change.UndoneBy != "" {
		return "", AffectedStays{}, alreadyUndone(tx, change)
	}
	restore, err := loadUndo(tx, change)
	if err != nil {
		return "", AffectedStays{}, err
	}
	touched, err := staysOfChange(tx, change)
	if err != nil {
		return "", AffectedStays{}, err
	}
	newID, err = m.RecordChange(tx, ChangeOf{
		PropertyID: propertyID, IntegrationID: change.IntegrationID, Kind: UndoneChange, Author: author, Undoes: change.ID,
	}, func() error { return m.restore(tx, change, restore, touched) })
	if err != nil {
		return "", AffectedStays{}, err
	}
	err = tx.MappingChange.Update().Where(mappingchange.PropertyID(propertyID), mappingchange.ID(change.ID)).SetUndoneBy(newID).Exec(tx.Context())
	if err != nil {
		return "", AffectedStays{}, fmt.Errorf("store that a change was undone: %w", err)
	}
	return newID, touched, nil
}

// alreadyUndone returns the error of a second undo of a change, with who undid it; a not-found fault if that undo is not stored any more.
func alreadyUndone(tx *db.Tx, change *ent.MappingChange) error {
	undo, err := getChange(tx, change.PropertyID, change.UndoneBy)
	if err != nil {
		return err
	}
	return putChange(fault.New(fault.Aborted, fault.Outdated, "this change is undone already"), undo)
}

// getChange returns a change of a mapping, or a not-found fault, also for one that retention deleted.
func getChange(tx *db.Tx, propertyID, changeID string) (*ent.MappingChange, error) {
	row, err := tx.MappingChange.Query().Where(mappingchange.PropertyID(propertyID), mappingchange.ID(changeID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.NotFoundReason, "this property has no such change of a mapping, or it is too old")
	}
	if err != nil {
		return nil, fmt.Errorf("load a change of a mapping: %w", err)
	}
	return row, nil
}

// loadUndo returns the mappings that restore the state before a change: see [planUndo]. It returns an error that names
// what was changed since, and by whom.
func loadUndo(tx *db.Tx, change *ent.MappingChange) (map[string]*MappedSpace, error) {
	now, err := loadMapped(tx, change.PropertyID, change.IntegrationID)
	if err != nil {
		return nil, err
	}
	var spaces []string
	for _, c := range change.Rows {
		if c.Before != nil {
			spaces = append(spaces, c.Before.SpaceID)
		}
	}
	existing, err := tx.Space.Query().Where(entspace.PropertyID(change.PropertyID), entspace.IDIn(spaces...)).IDs(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the former spaces of a mapping: %w", err)
	}
	restore, differences := planUndo(change.Rows, now, func(spaceID string) bool { return slices.Contains(existing, spaceID) })
	if len(differences) == 0 {
		return restore, nil
	}
	return nil, explainDifference(tx, change, differences[0])
}

// maxRecentChanges bounds the recent changes among which [explainDifference] looks for the later change.
const maxRecentChanges = 200

// explainDifference returns the error of an undo that d prevents. If one of the latest maxRecentChanges changes is the cause, the error
// names it, its author and its time.
func explainDifference(tx *db.Tx, change *ent.MappingChange, d difference) error {
	later, err := ListChanges(tx, change.PropertyID, change.IntegrationID, "", maxRecentChanges)
	if err != nil {
		return err
	}
	message := fmt.Sprintf("the mapping of %q was changed since: undo the later change first", d.ExternalID)
	switch d.Reason {
	case spaceTaken:
		message = fmt.Sprintf("the former space is mapped to %q now: unmap that first", d.ExternalID)
	case spaceDeleted:
		message = fmt.Sprintf("the space that %q was mapped to does not exist any more", d.ExternalID)
	}
	f := fault.New(fault.Aborted, fault.Outdated, "%s", message)
	for _, l := range later {
		if l.ID > change.ID && slices.ContainsFunc(l.Rows, func(c Changed) bool { return c.ExternalID == d.ExternalID }) {
			f = putChange(f, l)
			break
		}
	}
	return f.Put("difference", d.Reason).Put("externalId", d.ExternalID).Put("spaceId", d.SpaceID)
}

// staysOfChange selects the reservations that a change of a mapping, or its undo, may affect.
func staysOfChange(tx *db.Tx, change *ent.MappingChange) (AffectedStays, error) {
	var touched AffectedStays
	for _, c := range change.Rows {
		touched.Externals = append(touched.Externals, External{change.IntegrationID, c.ExternalID})
		for _, s := range []*MappedSpace{c.Before, c.After} {
			if s != nil {
				touched.SpaceIDs = append(touched.SpaceIDs, s.SpaceID)
			}
		}
	}
	touched.SpaceIDs = unique(touched.SpaceIDs)
	return addPartnersBeds(tx, change.PropertyID, touched)
}

// restore stores the mappings that [planUndo] returned for a change, where nil removes a mapping, and evaluates the conflicts again. It
// notifies the watchers of the spaces in touched, but plans no access.
func (m Mappings) restore(tx *db.Tx, change *ent.MappingChange, restore map[string]*MappedSpace, touched AffectedStays) error {
	externals := sortedKeys(restore)
	for part := range slices.Chunk(externals, chunkSize) {
		_, err := tx.Mapping.Delete().Where(mapping.PropertyID(change.PropertyID), mapping.IntegrationID(change.IntegrationID), mapping.ExternalIDIn(part...)).Exec(tx.Context())
		if err != nil {
			return fmt.Errorf("delete mappings: %w", err)
		}
	}
	var rows []*ent.MappingCreate
	for _, externalID := range externals {
		if was := restore[externalID]; was != nil {
			rows = append(rows, tx.Mapping.Create().SetPropertyID(change.PropertyID).SetIntegrationID(change.IntegrationID).SetExternalID(externalID).
				SetSpaceID(was.SpaceID).SetName(was.Name).SetType(was.Type).SetParentExternalID(was.Room).SetCreatedAt(tx.Now()))
		}
	}
	for part := range slices.Chunk(rows, chunkSize) {
		if err := tx.Mapping.CreateBulk(part...).Exec(tx.Context()); err != nil {
			return fmt.Errorf("store mappings: %w", err)
		}
	}
	watch.Notify(tx, change.PropertyID, watch.Spaces, append(slices.Clone(touched.SpaceIDs), change.IntegrationID)...)
	reopened, err := conflictsToReopen(tx, change)
	if err != nil {
		return err
	}
	return m.reevaluateConflicts(tx, change.PropertyID, change.IntegrationID, reopened...)
}

// conflictsToReopen returns the spaces of the PMS that had no mapping before a change, and whose conflict NewUnmapped was closed since
// then.
func conflictsToReopen(tx *db.Tx, change *ent.MappingChange) (ids []string, err error) {
	closed, err := tx.Conflict.Query().Where(conflict.PropertyID(change.PropertyID), conflict.IntegrationID(change.IntegrationID),
		conflict.Kind(string(NewUnmapped)), conflict.ClosedAtGTE(change.CreatedAt)).Select(conflict.FieldExternalID).Strings(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the conflicts that a change closed: %w", err)
	}
	for _, c := range change.Rows {
		if c.Before == nil && slices.Contains(closed, c.ExternalID) {
			ids = append(ids, c.ExternalID)
		}
	}
	return ids, nil
}

// ForgetChanges deletes up to most changes of mappings from before a time, and returns their number.
func ForgetChanges(tx *db.Tx, before time.Time, most int) (int, error) {
	ids, err := tx.MappingChange.Query().Where(mappingchange.CreatedAtLT(before)).Limit(most).IDs(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("load old changes of mappings: %w", err)
	}
	n, err := tx.MappingChange.Delete().Where(mappingchange.IDIn(ids...)).Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("delete old changes of mappings: %w", err)
	}
	return n, nil
}
