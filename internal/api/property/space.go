package property

import (
	"context"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/access/code"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/staff"
)

type spaces struct {
	propertyv1.UnimplementedSpaceServiceServer
	Deps
}

// ListSpaces lists a page of the spaces that the request selects, ordered by name, with the number of all that it selects.
func (s *spaces) ListSpaces(ctx context.Context, r *propertyv1.ListSpacesRequest) (*propertyv1.ListSpacesResponse, error) {
	propertyID, p, err := callerPage(ctx, r)
	if err != nil {
		return nil, err
	}
	rows, total, err := space.List(s.DB.View(ctx), propertyID, space.Filter{Type: r.GetType(), ParentID: r.GetParentSpaceId(), Page: p})
	if err != nil {
		return nil, err
	}
	list, err := spaceMessages(s.DB.View(ctx), propertyID, rows...)
	if err != nil {
		return nil, err
	}
	return &propertyv1.ListSpacesResponse{Data: &propertyv1.SpaceList{List: list, NextPageToken: nextPageToken(p, total), Total: int32(total)}}, nil
}

// GetSpace returns a space with what happened last at its door: the uses of codes that belong to no stay, also refused ones, and the remote
// unlocks by staff, at most maxOpenings of each. It has no uses of guests' PINs and SmartKeys. A person without the right to read codes gets
// no uses of them, because these name the holders.
func (s *spaces) GetSpace(ctx context.Context, r *propertyv1.GetSpaceRequest) (*propertyv1.GetSpaceResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	row, err := space.Get(s.DB.View(ctx), propertyID, r.GetId())
	if err != nil {
		return nil, err
	}
	m, err := spaceMessage(s.DB.View(ctx), propertyID, row)
	if err != nil {
		return nil, err
	}
	var uses []code.Use
	if a, _ := actor.From(ctx); mayReadCodeUses(a) {
		if uses, err = code.Uses(s.DB.View(ctx), propertyID, row.ID, maxOpenings); err != nil {
			return nil, err
		}
	}
	unlocks, err := lock.RemoteUnlocks(s.DB.View(ctx), propertyID, row.ID, maxOpenings)
	if err != nil {
		return nil, err
	}
	answer := &propertyv1.GetSpaceResponse{Data: m}
	if answer.CodeUses, err = s.codeUseMessages(ctx, uses); err != nil {
		return nil, err
	}
	for _, e := range unlocks {
		answer.RemoteUnlocks = append(answer.RemoteUnlocks, &propertyv1.RemoteUnlock{At: timestamppb.New(e.OccurredAt), LockId: e.Subject})
	}
	return answer, nil
}

// mayReadCodeUses reports whether the caller may read who used codes. A person needs the right ReadAccess. A token may always, because even
// the role viewer lists the codes.
func mayReadCodeUses(a actor.Actor) bool {
	return a.PersonID == "" || staff.Allows(staff.Role(a.Role), staff.ReadAccess)
}

// maxOpenings bounds each list of openings in one answer: the uses of codes, the remote unlocks, and the events of a lock.
const maxOpenings = 50

// codeUseMessages converts uses of codes, with the decrypted names of the holders.
func (s *spaces) codeUseMessages(ctx context.Context, uses []code.Use) ([]*propertyv1.CodeUse, error) {
	var list []*propertyv1.CodeUse
	for _, u := range uses {
		holder, err := code.HolderOf(ctx, s.Keys, u.Code)
		if err != nil {
			return nil, err
		}
		list = append(list, &propertyv1.CodeUse{
			At: timestamppb.New(u.At), CodeId: u.Code.ID, Kind: u.Code.Kind, Holder: holder, LockId: u.LockID,
			Opened: u.Opened, Reason: convert.TextOrNil(u.Reason),
		})
	}
	return list, nil
}

// CreateSpace creates a space. A bed must name its dorm, by id or by name.
func (s *spaces) CreateSpace(ctx context.Context, r *propertyv1.CreateSpaceRequest) (*propertyv1.CreateSpaceResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.CreateSpaceResponse, error) {
		row, err := createSpace(tx, propertyID, r.GetSpace(), &dormFinder{})
		if err != nil {
			return nil, PrefixFields("space", err)
		}
		m, err := spaceMessage(tx, propertyID, row)
		return &propertyv1.CreateSpaceResponse{Data: m}, err
	})
}

// BatchCreateSpaces creates all spaces of the request or none. A bed may name a dorm that is earlier in the list.
func (s *spaces) BatchCreateSpaces(ctx context.Context, r *propertyv1.BatchCreateSpacesRequest) (*propertyv1.BatchCreateSpacesResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.BatchCreateSpacesResponse, error) {
		known := &dormFinder{}
		var wrong []fault.Field
		rows := make([]*space.Row, 0, len(r.GetSpaces()))
		for i, n := range r.GetSpaces() {
			row, err := createSpace(tx, propertyID, n, known)
			if f, ok := fault.Of(err); ok && len(f.Fields) > 0 {
				f, _ = fault.Of(PrefixFields(fmt.Sprintf("spaces[%d]", i), err))
				wrong = append(wrong, f.Fields...)
				continue
			} else if ok {
				return nil, f.Put("index", strconv.Itoa(i))
			}
			if err != nil {
				return nil, err
			}
			if row.Type == space.Dorm {
				known.add(row.Name, row.ID)
			}
			rows = append(rows, row)
		}
		if len(wrong) > 0 {
			return nil, fault.Fields(wrong...)
		}
		list, err := spaceMessages(tx, propertyID, rows...)
		return &propertyv1.BatchCreateSpacesResponse{Data: &propertyv1.SpaceList{List: list, Total: int32(len(list))}}, err
	})
}

// createSpace creates a space. known finds the dorm of a bed that names its dorm, and refuses an unknown name.
func createSpace(tx *db.Tx, propertyID string, n *propertyv1.NewSpace, known *dormFinder) (*space.Row, error) {
	if wrong := parentErrors(n); len(wrong) > 0 {
		return nil, fault.Fields(wrong...)
	}
	parent := n.GetParentSpaceId()
	if n.GetParentName() != "" {
		var err error
		if parent, err = known.find(tx, propertyID, n.GetParentName()); err != nil {
			return nil, err
		}
	}
	return space.Create(tx, propertyID, space.Draft{Type: n.GetType(), Name: n.GetName(), Floor: n.GetFloor(), ParentID: parent, IsPrivate: n.IsPrivate})
}

// parentErrors validates how a new space names its dorm, without stored data. For an invalid type, it only refuses a dorm that is named by
// id and by name.
func parentErrors(n *propertyv1.NewSpace) []fault.Field {
	kind, byID, byName := n.GetType(), n.GetParentSpaceId() != "", n.GetParentName() != ""
	var wrong []fault.Field
	add := func(path string, r fault.Reason, message string) {
		wrong = append(wrong, fault.Field{Path: path, Reason: r, Message: message})
	}
	switch {
	case kind == space.Bed && !byID && !byName:
		add("parentSpaceId", fault.Required, "is required: the dorm of the bed")
	case space.ValidType(kind) && kind != space.Bed && byID:
		add("parentSpaceId", fault.Conflicting, "only beds can be in another space")
	case space.ValidType(kind) && kind != space.Bed && byName:
		add("parentName", fault.Conflicting, "only beds can be in another space")
	}
	if byID && byName {
		add("parentName", fault.Conflicting, "name the dorm by parentSpaceId or by parentName, not by both")
	}
	return wrong
}

// UpdateSpace changes the fields of a space that the request has, and recomputes the access of its stays. It refuses an outdated etag;
// without one it overwrites.
func (s *spaces) UpdateSpace(ctx context.Context, r *propertyv1.UpdateSpaceRequest) (*propertyv1.UpdateSpaceResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.UpdateSpaceResponse, error) {
		stored, err := space.Get(tx, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		if err := convert.CheckEtag(r.GetEtag(), bareSpace(stored), lockField); err != nil {
			return nil, err
		}
		row, touched, err := space.Update(tx, propertyID, r.GetId(), space.Change{
			Type: r.Type, Name: r.Name, Floor: r.Floor, ParentID: r.ParentSpaceId, IsPrivate: r.IsPrivate, IsActive: r.IsActive,
		})
		if err != nil {
			return nil, err
		}
		if err := s.Replan(tx, propertyID, touched); err != nil {
			return nil, err
		}
		m, err := spaceMessage(tx, propertyID, row)
		return &propertyv1.UpdateSpaceResponse{Data: m}, err
	})
}

// DeleteSpace deletes a space and recomputes the access of its stays, or with validateOnly only previews the effect. It fails if the space
// has beds, a lock or a mapping, or is the only one of a gate.
func (s *spaces) DeleteSpace(ctx context.Context, r *propertyv1.DeleteSpaceRequest) (*propertyv1.DeleteSpaceResponse, error) {
	if r.GetValidateOnly() {
		return previewed(ctx, s.Deps, func(tx *db.Tx, propertyID string) (space.AffectedStays, error) {
			return space.Delete(tx, propertyID, r.GetId())
		},
			func(p *propertyv1.MappingPreview) *propertyv1.DeleteSpaceResponse {
				return &propertyv1.DeleteSpaceResponse{Preview: p}
			})
	}
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.DeleteSpaceResponse, error) {
		row, err := space.Get(tx, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		touched, err := space.Delete(tx, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		if err := s.Replan(tx, propertyID, touched); err != nil {
			return nil, err
		}
		m, err := spaceMessage(tx, propertyID, row)
		return &propertyv1.DeleteSpaceResponse{Data: m}, err
	})
}

// dormFinder finds a property's dorms by name. It loads them on first use.
type dormFinder struct{ byName map[string]string }

// add records a dorm that the call has created, so that find returns it for a later bed of the same call.
func (d *dormFinder) add(name, spaceID string) {
	if d.byName != nil {
		d.byName[name] = spaceID
	}
}

// find returns the id of the dorm with a name, or an error if there is none.
func (d *dormFinder) find(tx *db.Tx, propertyID, name string) (string, error) {
	if d.byName == nil {
		d.byName = map[string]string{}
		rows, err := allSpaces(tx, propertyID, space.Dorm)
		if err != nil {
			return "", err
		}
		for _, row := range rows {
			d.byName[row.Name] = row.ID
		}
	}
	if found, ok := d.byName[name]; ok {
		return found, nil
	}
	return "", fault.Fields(fault.Field{Path: "parentName", Reason: fault.WrongValue, Message: "names no dorm of the property; create the dorm first, or earlier in the same batch"})
}

// allSpaces loads the spaces of a property. kind selects spaces of one type; "" selects all.
func allSpaces(view *db.Tx, propertyID, kind string) ([]*space.Row, error) {
	return allPages(func(p space.Page) ([]*space.Row, int, error) {
		return space.List(view, propertyID, space.Filter{Type: kind, Page: p})
	})
}

// allPages loads a whole list. load returns one page and the number of entries on all pages.
func allPages[R any](load func(space.Page) ([]R, int, error)) ([]R, error) {
	var all []R
	for number := 0; ; number++ {
		rows, total, err := load(space.Page{Limit: 200, Number: number})
		if err != nil {
			return nil, err
		}
		if all = append(all, rows...); len(all) >= total || len(rows) == 0 {
			return all, nil
		}
	}
}

// bareSpace converts a space without its lock and its etag.
func bareSpace(row *space.Row) *propertyv1.Space {
	return &propertyv1.Space{
		Id: row.ID, Type: row.Type, Name: row.Name, Floor: row.Floor, ParentSpaceId: convert.TextOrNil(row.ParentID),
		IsPrivate: row.IsPrivate, IsActive: row.IsActive, CreatedAt: timestamppb.New(row.CreatedAt),
	}
}

// spaceMessages converts spaces with the ids of their locks and, for beds, the names of their dorms.
func spaceMessages(view *db.Tx, propertyID string, rows ...*space.Row) ([]*propertyv1.Space, error) {
	ids, beds := make([]string, len(rows)), []string{}
	for i, row := range rows {
		ids[i] = row.ID
		if row.ParentID != "" {
			beds = append(beds, row.ID)
		}
	}
	locked, err := lock.IDsByDoor(view, propertyID, ids)
	if err != nil {
		return nil, err
	}
	dorms, err := space.DormNames(view, propertyID, beds)
	if err != nil {
		return nil, err
	}
	list := make([]*propertyv1.Space, 0, len(rows))
	for _, row := range rows {
		m := bareSpace(row)
		m.Etag = convert.Etag(m, lockField)
		m.ParentName = convert.TextOrNil(dorms[row.ID]) // not in the etag: renaming a dorm must not change the etags of its beds
		m.LockId = convert.TextOrNil(locked[row.ID])
		list = append(list, m)
	}
	return list, nil
}

// spaceMessage converts a space with the id of its lock and, for a bed, the name of its dorm.
func spaceMessage(view *db.Tx, propertyID string, row *space.Row) (*propertyv1.Space, error) {
	list, err := spaceMessages(view, propertyID, row)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}
