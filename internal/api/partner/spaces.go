package partner

import (
	"context"
	"fmt"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/space"
)

// ListSpaces lists a page of the property's rooms, dorms and beds, also inactive ones, with the ids that the caller's PMS uses for them.
func (s *Service) ListSpaces(ctx context.Context, req *partnerv1.ListSpacesRequest) (*partnerv1.ListSpacesResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	tx := s.DB.View(ctx)
	f := space.Filter{
		Type: req.GetFilter().GetType(), Floor: req.GetFilter().GetFloor(), ParentID: req.GetFilter().GetParentSpaceId(),
		Page: spacePage(req.GetPage()),
	}
	rows, total, err := space.List(tx, a.PropertyID, f)
	if err != nil {
		return nil, err
	}
	list, err := s.spaceMessages(tx, a.PropertyID, a.IntegrationID, rows)
	return &partnerv1.ListSpacesResponse{Data: &partnerv1.SpaceList{List: list, Total: int32(total)}}, err
}

// spacePage converts the page parameters. The field offset is the page's number, counted from 0.
func spacePage(p *partnerv1.Page) space.Page {
	return space.Page{Limit: int(p.GetLimit()), Number: int(p.GetOffset())}
}

// spaceMessages converts spaces for an integration and adds the ids that the integration's PMS uses for them.
func (s *Service) spaceMessages(tx *db.Tx, propertyID, integrationID string, rows []*space.Row) ([]*partnerv1.Space, error) {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	locks, err := lock.IDsByDoor(tx, propertyID, ids)
	if err != nil {
		return nil, err
	}
	theirs, err := space.ExternalIDs(tx, propertyID, integrationID, ids)
	if err != nil {
		return nil, err
	}
	out := make([]*partnerv1.Space, len(rows))
	for i, r := range rows {
		out[i] = &partnerv1.Space{
			Id: r.ID, Type: r.Type, Name: r.Name, Floor: convert.TextOrNil(r.Floor), ParentSpaceId: convert.TextOrNil(r.ParentID),
			IsPrivate: r.IsPrivate, IsActive: r.IsActive, HasLock: locks[r.ID] != "", PmsSpaceId: convert.TextOrNil(theirs[r.ID]),
		}
	}
	return out, nil
}

// ListGates lists a page of the gates: doors that several spaces share, such as the front door.
func (s *Service) ListGates(ctx context.Context, req *partnerv1.ListGatesRequest) (*partnerv1.ListGatesResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	tx := s.DB.View(ctx)
	rows, total, err := space.ListGates(tx, a.PropertyID, space.GateFilter{Floor: req.GetFilter().GetFloor(), Page: spacePage(req.GetPage())})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	locks, err := lock.IDsByDoor(tx, a.PropertyID, ids)
	if err != nil {
		return nil, err
	}
	list := &partnerv1.GateList{Total: int32(total)}
	for _, r := range rows {
		list.List = append(list.List, &partnerv1.Gate{Id: r.ID, Name: r.Name, Floor: convert.TextOrNil(r.Floor), HasLock: locks[r.ID] != ""})
	}
	return &partnerv1.ListGatesResponse{Data: list}, nil
}

// GetIntegration returns the calling integration with its property and its endpoints, without their tokens.
func (s *Service) GetIntegration(ctx context.Context, _ *partnerv1.GetIntegrationRequest) (*partnerv1.GetIntegrationResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	tx := s.DB.View(ctx)
	row, err := partner.Integration(tx, a.PropertyID, a.IntegrationID)
	if err != nil {
		return nil, err
	}
	property, err := property.Get(tx, a.PropertyID)
	if err != nil {
		return nil, fmt.Errorf("load the property: %w", err)
	}
	out := &partnerv1.Integration{
		Id: row.ID, AppId: row.AppID, Name: row.Name, PropertyId: property.ID, PropertyName: property.Name, TimeZone: property.TimeZone,
		CheckInTime: property.CheckInTime, CheckOutTime: property.CheckOutTime, Scopes: row.Scopes,
	}
	endpoints, err := partner.Endpoints(tx, a.PropertyID, a.IntegrationID)
	if err != nil {
		return nil, err
	}
	for _, e := range endpoints {
		out.Endpoints = append(out.Endpoints, endpointMessage(e, false, chain.Reader(ctx)))
	}
	return &partnerv1.GetIntegrationResponse{Data: out}, nil
}
