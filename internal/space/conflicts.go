package space

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/conflict"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/staff"
)

// maxNamed is how many reservations a conflict names.
const maxNamed = 200

// ConflictFilter narrows a list of conflicts.
type ConflictFilter struct {
	IntegrationID string // "" for all
	Kind          Kind   // "" for all
	Closed        bool   // those that have healed as well
	Page
}

// ListConflicts is one page of conflicts, newest first, and how many there are in all.
func ListConflicts(ctx context.Context, c *ent.Client, propertyID string, f ConflictFilter) ([]*ent.Conflict, int, error) {
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
	total, err := c.Conflict.Query().Where(where...).Count(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("count conflicts: %w", err)
	}
	limit, offset := f.bounds()
	list, err := c.Conflict.Query().Where(where...).Order(conflict.ByID(sql.OrderDesc())).Limit(limit).Offset(offset).All(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("list conflicts: %w", err)
	}
	return list, total, nil
}

// apply stores what became of the conflicts, and tells staff and the partner.
func (m Mappings) apply(tx *db.Tx, s *stored, out Outcome) error {
	rows := make(map[string]*ent.Conflict, len(s.open))
	for _, c := range s.open {
		rows[openKey(s.integrationID, Finding{Kind: Kind(c.Kind), ExternalID: c.ExternalID})] = c
	}
	for _, f := range out.Closed {
		if err := m.close(tx, rows[openKey(s.integrationID, f)]); err != nil {
			return err
		}
	}
	for _, f := range out.Standing {
		if err := m.refresh(tx, rows[openKey(s.integrationID, f)], f); err != nil {
			return err
		}
	}
	opened := map[Kind][]*ent.Conflict{}
	for _, f := range out.Opened {
		row, err := m.open(tx, s, f)
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
	return nil
}

func (m Mappings) open(tx *db.Tx, s *stored, f Finding) (*ent.Conflict, error) {
	affected, err := m.affected(tx, s.propertyID, s.integrationID, f)
	if err != nil {
		return nil, err
	}
	row, err := tx.Conflict.Create().SetID(id.New(id.Conflict)).SetPropertyID(s.propertyID).SetIntegrationID(s.integrationID).
		SetKind(string(f.Kind)).SetExternalID(f.ExternalID).SetDetail(f.Detail).SetReservationIds(affected).
		SetOpenedAt(tx.Now()).SetOpenKey(openKey(s.integrationID, f)).Save(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("store a conflict: %w", err)
	}
	return row, appendEvent(tx, event.ConflictOpened, row)
}

// notifyOpened notifies staff of the conflicts of one kind that a reading opened, with one notice.
func notifyOpened(tx *db.Tx, rows []*ent.Conflict) error {
	if len(rows) == 0 {
		return nil
	}
	first := rows[0]
	n := staff.Notice{
		PropertyID: first.PropertyID, Kind: noticeKind(Kind(first.Kind)), Subject: first.ID, Text: notice(rows), OnceKey: *first.OpenKey,
	}
	if len(rows) > 1 {
		n.Subject = first.IntegrationID
	}
	return staff.Notify(tx, n)
}

// refresh keeps an open conflict true, and tells nobody.
func (m Mappings) refresh(tx *db.Tx, row *ent.Conflict, f Finding) error {
	affected, err := m.affected(tx, row.PropertyID, row.IntegrationID, f)
	if err != nil {
		return err
	}
	if row.Detail == f.Detail && slices.Equal(row.ReservationIds, affected) {
		return nil
	}
	err = tx.Conflict.UpdateOneID(row.ID).SetDetail(f.Detail).SetReservationIds(affected).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store a conflict: %w", err)
	}
	return nil
}

func (m Mappings) close(tx *db.Tx, row *ent.Conflict) error {
	key := openKey(row.IntegrationID, Finding{Kind: Kind(row.Kind), ExternalID: row.ExternalID})
	if err := tx.Conflict.UpdateOneID(row.ID).SetClosedAt(tx.Now()).ClearOpenKey().Exec(tx.Context()); err != nil {
		return fmt.Errorf("store a conflict: %w", err)
	}
	if err := staff.Settle(tx, key); err != nil {
		return err
	}
	return appendEvent(tx, event.ConflictClosed, row)
}

// ForgetConflicts removes conflicts that were closed before a moment, at most so many, and says how many.
func ForgetConflicts(tx *db.Tx, before time.Time, most int) (int, error) {
	ids, err := tx.Conflict.Query().Where(conflict.ClosedAtLT(before)).Limit(most).IDs(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("look for old conflicts: %w", err)
	}
	n, err := tx.Conflict.Delete().Where(conflict.IDIn(ids...)).Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("forget old conflicts: %w", err)
	}
	return n, nil
}

func (m Mappings) affected(tx *db.Tx, propertyID, integrationID string, f Finding) ([]string, error) {
	if m.Affected == nil || f.ExternalID == "" {
		return []string{}, nil
	}
	ids, err := m.Affected(tx, propertyID, integrationID, []string{f.ExternalID})
	if err != nil {
		return nil, fmt.Errorf("look for the reservations a conflict affects: %w", err)
	}
	ids = unique(ids)
	slices.Sort(ids)
	return ids[:min(len(ids), maxNamed)], nil
}

func appendEvent(tx *db.Tx, kind event.Kind, row *ent.Conflict) error {
	body := map[string]any{"conflictId": row.ID, "kind": row.Kind, "spaceId": row.ExternalID, "reservationIds": row.ReservationIds}
	if row.Kind != string(Unreadable) {
		// What a partner's error says is for staff alone.
		body["detail"] = row.Detail
	}
	return event.Append(tx, event.Event{PropertyID: row.PropertyID, Subject: row.IntegrationID, Kind: kind, Body: body})
}

// openKey is unique among open conflicts; it is also what staff are told once under.
func openKey(integrationID string, f Finding) string {
	return integrationID + "/" + string(f.Kind) + "/" + f.ExternalID
}

func noticeKind(k Kind) string {
	return "mapping" + strings.ToUpper(string(k[:1])) + string(k[1:])
}

// advice says what staff can do about each kind of conflict.
var advice = map[Kind]string{
	Missing:        "Access stays as it is. Map the space again, or unmap it.",
	Inactive:       "Access stays as it is. Unmap the space if it is no longer let.",
	Renamed:        "Map the space again to accept the new name, or correct the mapping.",
	Retyped:        "Map the space again to accept the new type, or correct the mapping.",
	NewUnmapped:    "Map it, so that its guests get access.",
	BedWithoutRoom: "Correct the listing in the partner's system.",
	DuplicateID:    "What was known before stays. Correct the listing in the partner's system.",
	Unreadable:     "The last good listing and all access stay as they are. Ask the partner to repair the endpoint.",
}

// listedInNotice is how many of several conflicts a notice names.
const listedInNotice = 3

// notice is the text of conflicts of one kind: the detail of one, or how many there are and some of them.
func notice(rows []*ent.Conflict) string {
	affected := map[string]bool{}
	details := make([]string, 0, listedInNotice)
	for _, row := range rows {
		for _, id := range row.ReservationIds {
			affected[id] = true
		}
		if len(details) < listedInNotice {
			details = append(details, strings.TrimSuffix(clip(row.Detail, maxDetail/2/min(len(rows), listedInNotice)), "."))
		}
	}
	text := strings.Join(details, ". ") + ". "
	if len(rows) > 1 {
		text = fmt.Sprintf("%d new conflicts of this kind: %s", len(rows), text)
		if more := len(rows) - len(details); more > 0 {
			text += fmt.Sprintf("And %d more. ", more)
		}
	}
	text += advice[Kind(rows[0].Kind)]
	if len(affected) > 0 {
		text += fmt.Sprintf(" Reservations affected: %d.", len(affected))
	}
	return text
}
