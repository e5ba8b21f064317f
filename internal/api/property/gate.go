package property

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/space"
)

// gates implements GateService. A gate is a door that several spaces share, such as the front door.
type gates struct {
	propertyv1.UnimplementedGateServiceServer
	Deps
}

// ListGates lists all gates of the property by name, without pages.
func (s *gates) ListGates(ctx context.Context, _ *propertyv1.ListGatesRequest) (*propertyv1.ListGatesResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := allPages(func(p space.Page) ([]*space.GateRow, int, error) {
		return space.ListGates(s.DB.View(ctx), propertyID, space.GateFilter{Page: p})
	})
	if err != nil {
		return nil, err
	}
	list, err := gateMessages(s.DB.View(ctx), propertyID, rows...)
	if err != nil {
		return nil, err
	}
	return &propertyv1.ListGatesResponse{Data: &propertyv1.GateList{List: list, Total: int32(len(list))}}, nil
}

// CreateGate creates a gate (a door that several spaces share) without a lock, and recomputes the access of the stays that it affects. It
// refuses a name that another gate has, and unknown spaces.
func (s *gates) CreateGate(ctx context.Context, r *propertyv1.CreateGateRequest) (*propertyv1.CreateGateResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.CreateGateResponse, error) {
		row, touched, err := space.CreateGate(tx, propertyID, space.GateDraft{Name: r.GetName(), Floor: r.GetFloor(), SpaceIDs: r.GetSpaceIds()})
		if err != nil {
			return nil, err
		}
		m, err := s.replanAndRender(tx, propertyID, row, touched)
		return &propertyv1.CreateGateResponse{Data: m}, err
	})
}

// UpdateGate changes the fields of a gate (a shared door) that the request has, and recomputes the access of the stays that it affects. It
// refuses an outdated etag; without one it overwrites.
func (s *gates) UpdateGate(ctx context.Context, r *propertyv1.UpdateGateRequest) (*propertyv1.UpdateGateResponse, error) {
	c := space.GateChange{Name: r.Name, Floor: r.Floor}
	if r.GetSpaces() != nil {
		ids := r.GetSpaces().GetIds()
		c.SpaceIDs = &ids
	}
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.UpdateGateResponse, error) {
		stored, err := space.GetGate(tx, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		if err := convert.CheckEtag(r.GetEtag(), bareGate(stored), lockField); err != nil {
			return nil, err
		}
		row, touched, err := space.UpdateGate(tx, propertyID, r.GetId(), c)
		if err != nil {
			return nil, err
		}
		m, err := s.replanAndRender(tx, propertyID, row, touched)
		return &propertyv1.UpdateGateResponse{Data: m}, err
	})
}

// DeleteGate deletes a gate (a shared door), and recomputes the access of the stays that it affects. It fails if the gate has a lock.
func (s *gates) DeleteGate(ctx context.Context, r *propertyv1.DeleteGateRequest) (*propertyv1.DeleteGateResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.DeleteGateResponse, error) {
		row, err := space.GetGate(tx, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		touched, err := space.DeleteGate(tx, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		m, err := s.replanAndRender(tx, propertyID, row, touched)
		return &propertyv1.DeleteGateResponse{Data: m}, err
	})
}

// replanAndRender recomputes the access of the stays that a change of a gate affects, and returns the gate's message.
func (s *gates) replanAndRender(tx *db.Tx, propertyID string, row *space.GateRow, touched space.AffectedStays) (*propertyv1.Gate, error) {
	if err := s.Replan(tx, propertyID, touched); err != nil {
		return nil, err
	}
	list, err := gateMessages(tx, propertyID, row)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// lockField is the field of a gate or space with its lock, which AssignLock changes. The etag does not cover it.
const lockField = "lockId"

// bareGate converts a gate without its lock and its etag.
func bareGate(row *space.GateRow) *propertyv1.Gate {
	return &propertyv1.Gate{Id: row.ID, Name: row.Name, Floor: row.Floor, SpaceIds: row.SpaceIds, CreatedAt: timestamppb.New(row.CreatedAt)}
}

// gateMessages converts gates with the ids of their locks.
func gateMessages(view *db.Tx, propertyID string, rows ...*space.GateRow) ([]*propertyv1.Gate, error) {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	locked, err := lock.IDsByDoor(view, propertyID, ids)
	if err != nil {
		return nil, err
	}
	list := make([]*propertyv1.Gate, 0, len(rows))
	for _, row := range rows {
		m := bareGate(row)
		m.Etag = convert.Etag(m, lockField)
		m.LockId = convert.TextOrNil(locked[row.ID])
		list = append(list, m)
	}
	return list, nil
}
