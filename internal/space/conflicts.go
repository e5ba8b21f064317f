package space

import (
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/conflict"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// maxNamed limits the reservations that a conflict lists.
const maxNamed = 200

// ConflictFilter filters a list of conflicts.
type ConflictFilter struct {
	IntegrationID string // IntegrationID is empty for all
	Kind          Kind   // Kind is empty for all
	Closed        bool   // Closed includes closed conflicts
	Page
}

// ConflictRow is a stored conflict, open or closed.
type ConflictRow = ent.Conflict

// ConflictText returns the text of a conflict for staff, in the language of the reader to. A conflict without parameters has a stored text,
// in one language only.
func ConflictText(c *ConflictRow, to message.Reader) string {
	if c.Parameters == nil {
		return c.Detail
	}
	return to.Text(messageOf(c))
}

// messageOf returns the text of a stored conflict, which must have parameters, for staff.
func messageOf(c *ConflictRow) message.Message {
	return Finding{Kind: Kind(c.Kind), Params: c.Parameters}.message()
}

// ListConflicts returns one page of conflicts, newest first, and the total number that f selects. It omits closed conflicts unless f.Closed
// is set.
func ListConflicts(tx *db.Tx, propertyID string, f ConflictFilter) ([]*ent.Conflict, int, error) {
	where := []predicate.Conflict{conflict.PropertyID(propertyID)}
	if f.IntegrationID != "" {
		where = append(where, conflict.IntegrationID(f.IntegrationID))
	}
	if f.Kind != "" {
		where = append(where, conflict.Kind(string(f.Kind)))
	}
	if !f.Closed {
		where = append(where, conflict.ClosedAtIsNil())
	}
	total, err := tx.Conflict.Query().Where(where...).Aggregate(ent.Count()).Int(tx.Context())
	if err != nil {
		return nil, 0, fmt.Errorf("count conflicts: %w", err)
	}
	limit, offset := f.limitAndOffset()
	list, err := tx.Conflict.Query().Where(where...).Order(conflict.ByID(sql.OrderDesc())).Limit(limit).Offset(offset).All(tx.Context())
	if err != nil {
		return nil, 0, fmt.Errorf("list conflicts: %w", err)
	}
	return list, total, nil
}

// storeConflicts stores which conflicts opened, changed and closed, as out says. It stores events for the PMS, and adds and resolves
// notices for staff. s is the stored state before that.
func (m Mappings) storeConflicts(tx *db.Tx, s *listingState, out DiffResult) error {
	rows := make(map[string]*ent.Conflict, len(s.open))
	for _, c := range s.open {
		rows[openKey(s.integrationID, Finding{Kind: Kind(c.Kind), ExternalID: c.ExternalID})] = c
	}
	for _, f := range out.Closed {
		if err := m.closeConflict(tx, rows[openKey(s.integrationID, f)]); err != nil {
			return err
		}
	}
	for _, f := range out.StillOpen {
		if err := m.refreshConflict(tx, rows[openKey(s.integrationID, f)], f); err != nil {
			return err
		}
	}
	opened := map[Kind][]*ent.Conflict{}
	for _, f := range out.Opened {
		row, err := m.openConflict(tx, s, f)
		if err != nil {
			return err
		}
		opened[f.Kind] = append(opened[f.Kind], row)
	}
	for _, kind := range Kinds {
		if err := notifyOpened(tx, opened[kind]); err != nil {
			return err
		}
	}
	return resolveGroupNotices(tx, s, out)
}

// resolveGroupNotices resolves the notice about several conflicts of one kind, for each kind whose last open conflict has just closed.
func resolveGroupNotices(tx *db.Tx, s *listingState, out DiffResult) error {
	done := map[Kind]bool{}
	for _, f := range out.Closed {
		done[f.Kind] = true
	}
	for _, f := range slices.Concat(out.StillOpen, out.Opened) {
		delete(done, f.Kind)
	}
	for _, kind := range Kinds {
		if !done[kind] {
			continue
		}
		if err := notice.ResolveAbout(tx, s.propertyID, noticeKinds[kind], s.integrationID); err != nil {
			return err
		}
	}
	return nil
}

// openConflict stores a new conflict with the reservations that it affects, and its event. The caller adds the notice.
func (m Mappings) openConflict(tx *db.Tx, s *listingState, f Finding) (*ent.Conflict, error) {
	affected, err := m.affectedReservations(tx, s.propertyID, s.integrationID, f)
	if err != nil {
		return nil, err
	}
	row, err := tx.Conflict.Create().SetID(id.New(id.Conflict)).SetPropertyID(s.propertyID).SetIntegrationID(s.integrationID).
		SetKind(string(f.Kind)).SetExternalID(f.ExternalID).SetParameters(f.Params).SetReservationIds(affected).
		SetOpenedAt(tx.Now()).SetOpenKey(openKey(s.integrationID, f)).Save(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("store a conflict: %w", err)
	}
	return row, appendEvent(tx, event.ConflictOpened, row)
}

// notifyOpened sends staff one notice about newly opened conflicts, which are all of one kind and one integration. Without conflicts it
// does nothing.
func notifyOpened(tx *db.Tx, rows []*ent.Conflict) error {
	if len(rows) == 0 {
		return nil
	}
	first := rows[0]
	n := notice.Notice{
		PropertyID: first.PropertyID, Kind: noticeKinds[Kind(first.Kind)], Subject: first.ID, Params: noticeParams(rows), OnceKey: *first.OpenKey,
	}
	if len(rows) > 1 { // a notice about several conflicts stays open until no conflict of the kind is open, see resolveGroupNotices
		n.Subject, n.OnceKey = first.IntegrationID, first.ID+"/several"
	}
	return notice.Add(tx, n)
}

// refreshConflict updates the parameters and the affected reservations of an open conflict. It adds neither a notice nor an event.
func (m Mappings) refreshConflict(tx *db.Tx, row *ent.Conflict, f Finding) error {
	affected, err := m.affectedReservations(tx, row.PropertyID, row.IntegrationID, f)
	if err != nil {
		return err
	}
	update := tx.Conflict.UpdateOneID(row.ID).SetReservationIds(affected)
	same := message.Same(row.Parameters, f.Params)
	if same && slices.Equal(row.ReservationIds, affected) {
		return nil
	}
	if !same {
		update.SetParameters(f.Params).SetDetail("")
	}
	err = update.Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store a conflict: %w", err)
	}
	return nil
}

// closeConflict stores that a conflict has ended, with its event, and resolves its notice.
func (m Mappings) closeConflict(tx *db.Tx, row *ent.Conflict) error {
	key := openKey(row.IntegrationID, Finding{Kind: Kind(row.Kind), ExternalID: row.ExternalID})
	if err := tx.Conflict.UpdateOneID(row.ID).SetClosedAt(tx.Now()).ClearOpenKey().Exec(tx.Context()); err != nil {
		return fmt.Errorf("store a conflict: %w", err)
	}
	if err := notice.Resolve(tx, row.PropertyID, key); err != nil {
		return err
	}
	return appendEvent(tx, event.ConflictClosed, row)
}

// ForgetConflicts deletes up to most conflicts that were closed before a time, and returns their number.
func ForgetConflicts(tx *db.Tx, before time.Time, most int) (int, error) {
	ids, err := tx.Conflict.Query().Where(conflict.ClosedAtLT(before)).Limit(most).IDs(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("load old conflicts: %w", err)
	}
	n, err := tx.Conflict.Delete().Where(conflict.IDIn(ids...)).Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("delete old conflicts: %w", err)
	}
	return n, nil
}

// affectedReservations returns the sorted ids of up to maxNamed reservations that m.Affected selects for the space of a conflict. It
// returns none if the conflict is not about a space, or if m.Affected is nil.
func (m Mappings) affectedReservations(tx *db.Tx, propertyID, integrationID string, f Finding) ([]string, error) {
	if m.Affected == nil || f.ExternalID == "" {
		return []string{}, nil
	}
	ids, err := m.Affected(tx, propertyID, integrationID, []string{f.ExternalID})
	if err != nil {
		return nil, fmt.Errorf("load the reservations a conflict affects: %w", err)
	}
	ids = unique(ids)
	slices.Sort(ids)
	return ids[:min(len(ids), maxNamed)], nil
}

// appendEvent stores an event about a conflict, for the PMS. It leaves out the parameters of the kind Unreadable.
func appendEvent(tx *db.Tx, kind event.Kind, row *ent.Conflict) error {
	body := map[string]any{"conflictId": row.ID, "kind": row.Kind, "spaceId": row.ExternalID, "reservationIds": row.ReservationIds}
	// The parameters of Unreadable have the error text of the PMS, which is only for staff.
	if row.Kind != string(Unreadable) {
		body["parameters"] = row.Parameters
	}
	return event.Append(tx, event.Event{PropertyID: row.PropertyID, Subject: row.IntegrationID, Kind: kind, Body: body})
}

// openKey returns a key for a conflict that is unique among the open conflicts of the installation. The notice about a single conflict has
// it as OnceKey.
func openKey(integrationID string, f Finding) string {
	return integrationID + "/" + string(f.Kind) + "/" + f.ExternalID
}

// noticeKinds has the kind of the notice about each kind of conflict.
var noticeKinds = map[Kind]notice.Kind{
	Missing: notice.MappingMissing, Inactive: notice.MappingInactive, Renamed: notice.MappingRenamed, Retyped: notice.MappingRetyped,
	Moved: notice.MappingMoved, NewUnmapped: notice.MappingNewUnmapped, BedWithoutRoom: notice.MappingBedWithoutRoom, DuplicateID: notice.MappingDuplicateID,
	Unreadable: notice.MappingUnreadable,
}

// listedInNotice limits the conflicts that a notice describes. It only counts the others.
const listedInNotice = 3

// noticeParams returns the parameters of a notice about conflicts of one kind: the text of a single conflict, or their number and the texts
// of the first few, and the number of affected reservations, of which each conflict names at most maxNamed.
func noticeParams(rows []*ent.Conflict) message.Params {
	affected := map[string]bool{}
	var details []message.Message
	for _, row := range rows {
		for _, id := range row.ReservationIds {
			affected[id] = true
		}
		if len(details) < listedInNotice {
			details = append(details, messageOf(row))
		}
	}
	params := message.Params{"conflicts": details, "affected": nil}
	if len(rows) > 1 {
		several := message.Params{"count": len(rows), "details": details, "more": nil}
		if more := len(rows) - len(details); more > 0 {
			several["more"] = message.Message{Kind: "conflicts.more", Params: message.Params{"count": more}}
		}
		params["conflicts"] = message.Message{Kind: "conflicts.several", Params: several}
	}
	if len(affected) > 0 {
		params["affected"] = message.Message{Kind: "conflicts.affected", Params: message.Params{"count": len(affected)}}
	}
	return params
}
