package property

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

// mappingCall is a call that changes the mapping of an integration.
type mappingCall struct {
	integrationID string
	kind          space.ChangeKind
	seen          string // id of the latest change that the caller has read; empty skips the check
	validateOnly  bool
	change        mappingChange
}

// mappingChange changes the mapping of a property and returns the stays that the change affects.
type mappingChange func(tx *db.Tx, propertyID string) (space.AffectedStays, error)

// runMapping runs a change of a mapping, records it so that it can be undone, and recomputes the access of the affected stays. It fails if
// the mapping changed after c.seen, unless that is "". With validateOnly it stores nothing. answer builds the response from the id of the
// recorded change ("" if nothing changed), or from the preview.
func runMapping[R proto.Message](ctx context.Context, s *mappings, c mappingCall, answer func(changeID string, p *propertyv1.MappingPreview) R) (R, error) {
	var changeID string
	record := func(tx *db.Tx, propertyID string) (touched space.AffectedStays, err error) {
		changeID, err = s.Mappings.RecordChange(tx, space.ChangeOf{
			PropertyID: propertyID, IntegrationID: c.integrationID, Kind: c.kind, Author: author(ctx), Seen: c.seen,
		}, func() (err error) {
			touched, err = c.change(tx, propertyID)
			return err
		})
		return touched, err
	}
	if c.validateOnly {
		return previewed(ctx, s.Deps, record, func(p *propertyv1.MappingPreview) R { return answer("", p) })
	}
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (R, error) {
		var none R
		touched, err := record(tx, propertyID)
		if err != nil {
			return none, err
		}
		return answer(changeID, nil), s.Replan(tx, propertyID, touched)
	})
}

// author returns the caller as the recorded author of a change.
func author(ctx context.Context) string {
	who, _ := actor.From(ctx)
	return who.Author()
}

// maxPreviewed bounds the reservations that a preview lists. It counts further ones.
const maxPreviewed = 20

// errPreviewed rolls back the savepoint of a change after its effect was read.
var errPreviewed = errors.New("the change was only previewed")

// previewed returns the response that answer builds from a preview: what a change would do to the stays of the caller's property. It stores
// nothing, so the audit log gets no entry.
func previewed[R any](ctx context.Context, d Deps, change mappingChange, answer func(*propertyv1.MappingPreview) R) (out R, err error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return out, err
	}
	err = d.DB.Write(ctx, func(tx *db.Tx) error {
		p, err := preview(tx, propertyID, change)
		if err != nil {
			return err
		}
		out = answer(p)
		return nil
	})
	if err == nil {
		chain.From(ctx).MarkRecorded()
	}
	return out, err
}

// preview runs a change in a savepoint and rolls it back. Of the reservations that have not ended, it returns how many the change may
// affect, how many of these get other doors, and the first maxPreviewed of the latter with their spaces before and after the change.
func preview(tx *db.Tx, propertyID string, change mappingChange) (*propertyv1.MappingPreview, error) {
	var affected reservation.AffectedList
	var after reservation.AffectedPlaces
	err := tx.Savepoint(func() error {
		touched, err := change(tx, propertyID)
		if err != nil {
			return err
		}
		if affected, err = reservation.ListAffected(tx, propertyID, touched); err != nil {
			return err
		}
		if after, err = affected.Places(tx); err != nil {
			return err
		}
		return errPreviewed
	})
	if !errors.Is(err, errPreviewed) {
		return nil, err
	}
	before, err := affected.Places(tx)
	if err != nil {
		return nil, err
	}
	changed, moved, err := affected.FindMoved(tx, before, after, maxPreviewed)
	if err != nil {
		return nil, err
	}
	out := &propertyv1.MappingPreview{Reservations: int32(affected.Len()), Changed: int32(changed)}
	for _, m := range moved {
		out.Stays = append(out.Stays, &propertyv1.PreviewedStay{
			ReservationId: m.ID, PmsNumber: m.PmsNumber, State: m.State, From: timestamppb.New(m.FromAt), To: timestamppb.New(m.ToAt),
			SpaceBefore: placeName(m.Before), SpaceAfter: placeName(m.After),
			ParentSpaceBefore: m.Before.ParentName(), ParentSpaceAfter: m.After.ParentName(),
		})
	}
	return out, nil
}

// placeName returns the name of a reservation's space, or "".
func placeName(p space.Place) string {
	if p.Space == nil {
		return ""
	}
	return p.Space.Name
}

// ListMappingChanges lists a page of the changes of an integration's mapping, the latest first.
func (s *mappings) ListMappingChanges(ctx context.Context, r *propertyv1.ListMappingChangesRequest) (*propertyv1.ListMappingChangesResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	if r.GetPageToken() != "" && !id.Valid(id.MappingChange, r.GetPageToken()) {
		return nil, fault.BadPageToken()
	}
	size := int(r.GetPageSize())
	if size == 0 {
		size = defaultPage
	}
	view := s.DB.View(ctx)
	if _, err := partner.Integration(view, propertyID, r.GetIntegrationId()); err != nil {
		return nil, err
	}
	rows, err := space.ListChanges(view, propertyID, r.GetIntegrationId(), r.GetPageToken(), size+1)
	if err != nil {
		return nil, err
	}
	own, err := allSpaces(view, propertyID, "")
	if err != nil {
		return nil, err
	}
	spaces := make(map[string]*space.Row, len(own))
	for _, o := range own {
		spaces[o.ID] = o
	}
	list := &propertyv1.MappingChangeList{}
	if len(rows) > size {
		rows, list.NextPageToken = rows[:size], rows[size-1].ID
	}
	people, err := namesOf(view, s.Keys, propertyID, rows, func(c *space.ChangeRow) string { return c.Author })
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		m := changeMessage(row, spaces)
		m.AuthorName = people[row.Author]
		list.List = append(list.List, m)
	}
	return &propertyv1.ListMappingChangesResponse{Data: list}, nil
}

// changeMessage converts a recorded change of a mapping. spaces are those of the property, by id. A space that was deleted since has no
// name.
func changeMessage(c *space.ChangeRow, spaces map[string]*space.Row) *propertyv1.MappingChange {
	out := &propertyv1.MappingChange{
		Id: c.ID, IntegrationId: c.IntegrationID, Kind: c.Kind, Author: c.Author, At: timestamppb.New(c.CreatedAt), Undoes: c.Undoes, UndoneBy: c.UndoneBy,
	}
	mapped := func(m *space.MappedSpace) *propertyv1.MappedSpace {
		if m == nil {
			return nil
		}
		out := &propertyv1.MappedSpace{SpaceId: m.SpaceID, PartnerName: m.Name}
		if own := spaces[m.SpaceID]; own != nil {
			out.SpaceName = own.Name
			if dorm := spaces[own.ParentID]; dorm != nil {
				out.ParentSpaceName = dorm.Name
			}
		}
		return out
	}
	for _, row := range c.Rows {
		out.Rows = append(out.Rows, &propertyv1.ChangedMapping{ExternalId: row.ExternalID, Before: mapped(row.Before), After: mapped(row.After)})
	}
	return out
}

// UndoMappingChange undoes a recorded change of a mapping and recomputes the access of the affected stays, or with validateOnly only
// previews the effect. It fails if the change is undone already, if one of its mappings was changed since, or if a former space is deleted
// or mapped otherwise.
func (s *mappings) UndoMappingChange(ctx context.Context, r *propertyv1.UndoMappingChangeRequest) (*propertyv1.UndoMappingChangeResponse, error) {
	newID := ""
	undo := func(tx *db.Tx, propertyID string) (touched space.AffectedStays, err error) {
		newID, touched, err = s.Mappings.Undo(tx, propertyID, r.GetId(), author(ctx))
		return touched, err
	}
	if r.GetValidateOnly() {
		return previewed(ctx, s.Deps, undo, func(p *propertyv1.MappingPreview) *propertyv1.UndoMappingChangeResponse {
			return &propertyv1.UndoMappingChangeResponse{Preview: p}
		})
	}
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.UndoMappingChangeResponse, error) {
		touched, err := undo(tx, propertyID)
		if err != nil {
			return nil, err
		}
		return &propertyv1.UndoMappingChangeResponse{ChangeId: newID}, s.Replan(tx, propertyID, touched)
	})
}

// ApplyCure resolves a mapping conflict by one of the cures that ListConflicts returned, and recomputes the access of the affected stays,
// or with validateOnly only previews the effect. It fails if the conflict does not offer that cure any more.
func (s *mappings) ApplyCure(ctx context.Context, r *propertyv1.ApplyCureRequest) (*propertyv1.ApplyCureResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	found, err := space.GetConflict(s.DB.View(ctx), propertyID, r.GetConflictId())
	if err != nil {
		return nil, err
	}
	return runMapping(ctx, s, mappingCall{
		integrationID: found.IntegrationID, kind: space.AppliedCure, validateOnly: r.GetValidateOnly(),
		change: func(tx *db.Tx, propertyID string) (space.AffectedStays, error) {
			row, err := space.GetConflict(tx, propertyID, r.GetConflictId())
			if err != nil {
				return space.AffectedStays{}, err
			}
			return s.Mappings.ApplyCure(tx, row, space.Cure{Kind: space.CureKind(r.GetKind()), SpaceID: r.GetSpaceId(), ExternalID: r.GetExternalId()})
		},
	}, func(changeID string, p *propertyv1.MappingPreview) *propertyv1.ApplyCureResponse {
		return &propertyv1.ApplyCureResponse{ChangeId: changeID, Preview: p}
	})
}

// CreateMissingSpaces creates a space for each space of a PMS that no space of the property matches, maps it, and recomputes the access of
// the affected stays, or with validateOnly only previews the effect. One call creates at most 500 spaces; the answer has the number of
// those that are left. It fails for an outdated lastChangeId, which is optional.
func (s *mappings) CreateMissingSpaces(ctx context.Context, r *propertyv1.CreateMissingSpacesRequest) (*propertyv1.CreateMissingSpacesResponse, error) {
	out := &propertyv1.CreateMissingSpacesResponse{}
	return runMapping(ctx, s, mappingCall{
		integrationID: r.GetIntegrationId(), kind: space.CreatedAll, seen: r.GetLastChangeId(), validateOnly: r.GetValidateOnly(),
		change: func(tx *db.Tx, propertyID string) (space.AffectedStays, error) {
			created, left, touched, err := s.Mappings.CreateUnmatched(tx, propertyID, r.GetIntegrationId())
			if err != nil {
				return space.AffectedStays{}, err
			}
			out.Data, err = createdSpaces(tx, propertyID, created, r.GetValidateOnly())
			out.Data.Left = int32(left)
			return touched, err
		},
	}, func(changeID string, p *propertyv1.MappingPreview) *propertyv1.CreateMissingSpacesResponse {
		out.ChangeId, out.Preview = changeID, p
		return out
	})
}

// createdSpaces converts created spaces. With validateOnly they have no ids, because they are rolled back.
func createdSpaces(tx *db.Tx, propertyID string, created []space.Created, validateOnly bool) (*propertyv1.CreatedSpaceList, error) {
	out := &propertyv1.CreatedSpaceList{}
	ids := make([]string, len(created))
	for i, c := range created {
		ids[i] = c.Space.ID
	}
	dorms, err := space.DormNames(tx, propertyID, ids)
	for _, c := range created {
		m := &propertyv1.CreatedSpace{
			SpaceId: c.Space.ID, ExternalId: c.ExternalID, Type: c.Space.Type, Name: c.Space.Name, Floor: c.Space.Floor, ParentName: dorms[c.Space.ID],
		}
		if validateOnly {
			m.SpaceId = ""
		}
		out.List = append(out.List, m)
	}
	return out, err
}
