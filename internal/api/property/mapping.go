package property

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
)

type mappings struct {
	propertyv1.UnimplementedMappingServiceServer
	Deps
}

// ListPartnerSpaces lists a page of the spaces of a PMS by name, also mapped ones that the PMS no longer lists, with the spaces they are
// mapped to, or suggestions for them.
func (s *mappings) ListPartnerSpaces(ctx context.Context, r *propertyv1.ListPartnerSpacesRequest) (*propertyv1.ListPartnerSpacesResponse, error) {
	propertyID, p, err := callerPage(ctx, r)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	if _, err := partner.Integration(view, propertyID, r.GetIntegrationId()); err != nil {
		return nil, err
	}
	// The id of the latest change is read before the list. If a change happens in between, the id is too old, and the server refuses a
	// write that sends it. Read after the list, the id could hide that change.
	latest, err := space.LastChange(view, propertyID, r.GetIntegrationId())
	if err != nil {
		return nil, err
	}
	entries, total, err := space.Entries(view, propertyID, r.GetIntegrationId(), space.EntryFilter{UnmappedOnly: r.GetUnmappedOnly(), SpaceID: r.GetSpaceId(), Page: p})
	if err != nil {
		return nil, err
	}
	list := partnerSpaces(entries)
	if slices.ContainsFunc(entries, func(e space.Entry) bool { return e.SpaceID == "" }) {
		if err := addSuggestions(view, propertyID, r.GetIntegrationId(), list); err != nil {
			return nil, err
		}
	}
	if err := addDorms(view, propertyID, list); err != nil {
		return nil, err
	}
	out := &propertyv1.PartnerSpaceList{List: list, NextPageToken: nextPageToken(p, total), Total: int32(total), LastChangeId: latest}
	return &propertyv1.ListPartnerSpacesResponse{Data: out}, nil
}

// partnerSpaces converts the spaces of a PMS with their mapping, without suggestions.
func partnerSpaces(entries []space.Entry) []*propertyv1.PartnerSpace {
	list := make([]*propertyv1.PartnerSpace, 0, len(entries))
	for _, e := range entries {
		m := &propertyv1.PartnerSpace{
			ExternalId: e.ExternalID, Type: e.Type, Name: e.Name, ParentExternalId: convert.TextOrNil(e.ParentExternalID), ParentName: convert.TextOrNil(e.ParentName), Floor: e.Floor,
			IsPrivate: e.IsPrivate, IsActive: e.IsActive, State: "unmapped", SeenAt: timestamppb.New(e.SeenAt),
			SpaceId: convert.TextOrNil(e.SpaceID), SpaceName: convert.TextOrNil(e.SpaceName),
		}
		switch {
		case e.SpaceID != "" && e.GoneAt != nil:
			m.State = "gone"
		case e.SpaceID != "":
			m.State = "mapped"
		}
		list = append(list, m)
	}
	return list
}

// addSuggestions adds to each unmapped space in the list the space that it could be mapped to, and whether one can be created for it.
func addSuggestions(view *db.Tx, propertyID, integrationID string, list []*propertyv1.PartnerSpace) error {
	suggested, unmatched, err := space.ListOffers(view, propertyID, integrationID)
	if err != nil {
		return err
	}
	byID, ids := make(map[string]space.Suggestion, len(suggested)), make([]string, len(suggested))
	for i, sg := range suggested {
		byID[sg.ExternalID], ids[i] = sg, sg.SpaceID
	}
	names, err := space.Names(view, propertyID, ids...)
	if err != nil {
		return err
	}
	creatable := make(map[string]bool, len(unmatched))
	for _, u := range unmatched {
		creatable[u.ExternalID] = true
	}
	for _, m := range list {
		if sg, ok := byID[m.GetExternalId()]; ok && m.SpaceId == nil {
			m.SuggestedSpaceId, m.SuggestedSpaceName, m.Confidence = &sg.SpaceID, convert.TextOrNil(names[sg.SpaceID]), convert.TextOrNil(string(sg.Confidence))
		}
		m.Creatable = creatable[m.GetExternalId()]
	}
	return nil
}

// addDorms adds the name of the dorm to each entry in the list that is mapped to a bed, or for which a bed is suggested.
func addDorms(view *db.Tx, propertyID string, list []*propertyv1.PartnerSpace) error {
	var ids []string
	for _, m := range list {
		if id := cmp.Or(m.GetSpaceId(), m.GetSuggestedSpaceId()); id != "" {
			ids = append(ids, id)
		}
	}
	dorms, err := space.DormNames(view, propertyID, ids)
	for _, m := range list {
		m.ParentSpaceName, m.SuggestedParentSpaceName = convert.TextOrNil(dorms[m.GetSpaceId()]), convert.TextOrNil(dorms[m.GetSuggestedSpaceId()])
	}
	return err
}

// SetMapping maps one space of a PMS to a space of the property in place of its present mapping, and recomputes the access of its stays. It
// fails if another space of the PMS is mapped to that space, and for an outdated lastChangeId; without one it overwrites. With validateOnly
// it only previews the effect.
func (s *mappings) SetMapping(ctx context.Context, r *propertyv1.SetMappingRequest) (*propertyv1.SetMappingResponse, error) {
	return runMapping(ctx, s, mappingCall{
		integrationID: r.GetIntegrationId(), kind: space.SetOne, seen: r.GetLastChangeId(), validateOnly: r.GetValidateOnly(),
		change: func(tx *db.Tx, propertyID string) (space.AffectedStays, error) {
			_, touched, err := s.Mappings.Map(tx, propertyID, r.GetIntegrationId(), r.GetExternalId(), r.GetSpaceId())
			return touched, err
		},
	}, func(changeID string, p *propertyv1.MappingPreview) *propertyv1.SetMappingResponse {
		return &propertyv1.SetMappingResponse{Data: &propertyv1.Mapping{ExternalId: r.GetExternalId(), SpaceId: &r.SpaceId}, ChangeId: changeID, Preview: p}
	})
}

// UnsetMapping removes the mapping of one space of a PMS, and recomputes the access of its stays. It fails if there is no mapping, and for
// an outdated lastChangeId; without one it overwrites. With validateOnly it only previews the effect.
func (s *mappings) UnsetMapping(ctx context.Context, r *propertyv1.UnsetMappingRequest) (*propertyv1.UnsetMappingResponse, error) {
	removed := &propertyv1.Mapping{}
	return runMapping(ctx, s, mappingCall{
		integrationID: r.GetIntegrationId(), kind: space.UnsetOne, seen: r.GetLastChangeId(), validateOnly: r.GetValidateOnly(),
		change: func(tx *db.Tx, propertyID string) (space.AffectedStays, error) {
			was, touched, err := s.Mappings.Unmap(tx, propertyID, r.GetIntegrationId(), r.GetExternalId())
			if err == nil {
				removed = &propertyv1.Mapping{ExternalId: was.ExternalID, SpaceId: &was.SpaceID}
			}
			return touched, err
		},
	}, func(changeID string, p *propertyv1.MappingPreview) *propertyv1.UnsetMappingResponse {
		return &propertyv1.UnsetMappingResponse{Data: removed, ChangeId: changeID, Preview: p}
	})
}

// BatchSetMappings maps several spaces of a PMS, and recomputes the access of their stays. An entry without a space id removes a mapping,
// if there is one. All changes succeed or none. It fails for an outdated lastChangeId, which is optional, for a space that is named twice,
// and as SetMapping does. With validateOnly it only previews the effect.
func (s *mappings) BatchSetMappings(ctx context.Context, r *propertyv1.BatchSetMappingsRequest) (*propertyv1.BatchSetMappingsResponse, error) {
	if wrong := duplicates(r.GetMappings()); len(wrong) > 0 {
		return nil, fault.Fields(wrong...)
	}
	var list *propertyv1.MappingList
	return runMapping(ctx, s, mappingCall{
		integrationID: r.GetIntegrationId(), kind: space.SetMany, seen: r.GetLastChangeId(), validateOnly: r.GetValidateOnly(),
		change: func(tx *db.Tx, propertyID string) (touched space.AffectedStays, err error) {
			list, touched, err = s.applyMappings(tx, propertyID, r.GetIntegrationId(), r.GetMappings())
			return touched, err
		},
	}, func(changeID string, p *propertyv1.MappingPreview) *propertyv1.BatchSetMappingsResponse {
		return &propertyv1.BatchSetMappingsResponse{Data: list, ChangeId: changeID, Preview: p}
	})
}

// ApplySuggestions maps the unmapped spaces of a PMS to the suggested spaces, with exactOnly only those with an exact suggestion, and
// recomputes the access of their stays. It fails for an outdated lastChangeId, which is optional. With validateOnly it only previews the
// effect.
func (s *mappings) ApplySuggestions(ctx context.Context, r *propertyv1.ApplySuggestionsRequest) (*propertyv1.ApplySuggestionsResponse, error) {
	var list *propertyv1.MappingList
	return runMapping(ctx, s, mappingCall{
		integrationID: r.GetIntegrationId(), kind: space.SetSuggested, seen: r.GetLastChangeId(), validateOnly: r.GetValidateOnly(),
		change: func(tx *db.Tx, propertyID string) (touched space.AffectedStays, err error) {
			list, touched, err = s.applySuggestions(tx, propertyID, r)
			return touched, err
		},
	}, func(changeID string, p *propertyv1.MappingPreview) *propertyv1.ApplySuggestionsResponse {
		return &propertyv1.ApplySuggestionsResponse{Data: list, ChangeId: changeID, Preview: p}
	})
}

// applySuggestions stores the suggested mappings, or only the exact ones. It returns them and the stays that they affect.
func (s *mappings) applySuggestions(tx *db.Tx, propertyID string, r *propertyv1.ApplySuggestionsRequest) (*propertyv1.MappingList, space.AffectedStays, error) {
	if _, err := partner.Integration(tx, propertyID, r.GetIntegrationId()); err != nil {
		return nil, space.AffectedStays{}, err
	}
	suggested, err := space.Suggestions(tx, propertyID, r.GetIntegrationId())
	if err != nil {
		return nil, space.AffectedStays{}, err
	}
	var desired []*propertyv1.Mapping
	for _, sg := range suggested {
		if !r.GetExactOnly() || sg.Confidence == space.Exact {
			desired = append(desired, &propertyv1.Mapping{ExternalId: sg.ExternalID, SpaceId: &sg.SpaceID})
		}
	}
	return s.applyMappings(tx, propertyID, r.GetIntegrationId(), desired)
}

// applyMappings stores the desired mappings; one without a space id removes a mapping. It returns those it stored, and the stays that all
// changes affect. It first removes the mappings that end or swap, so that one call can swap two spaces.
func (s *mappings) applyMappings(tx *db.Tx, propertyID, integrationID string, desired []*propertyv1.Mapping) (*propertyv1.MappingList, space.AffectedStays, error) {
	replaced, err := replacedMappings(tx, propertyID, integrationID, desired)
	if err != nil {
		return nil, space.AffectedStays{}, err
	}
	list := &propertyv1.MappingList{}
	var touched []space.AffectedStays
	err = s.Mappings.Edit(tx, propertyID, integrationID, func(e space.Edit) error {
		for _, externalID := range replaced {
			_, t, err := e.Unmap(externalID)
			if err != nil && !fault.Has(err, space.SpaceNotMapped) {
				return err
			}
			touched = append(touched, t)
		}
		for i, w := range desired {
			if w.GetSpaceId() == "" {
				continue
			}
			_, t, err := e.Map(w.GetExternalId(), w.GetSpaceId())
			if err != nil {
				return PrefixFields(fmt.Sprintf("mappings[%d]", i), err)
			}
			touched = append(touched, t)
			list.List = append(list.List, &propertyv1.Mapping{ExternalId: w.GetExternalId(), SpaceId: w.SpaceId})
		}
		return nil
	})
	list.Total = int32(len(list.List))
	return list, space.AffectedStays{}.Union(touched...), err
}

// replacedMappings returns the ids of the PMS's spaces whose mapping must be removed first: those that the request unmaps, and those that
// swap. A space swaps if the request maps it to another space, and another space of the PMS to its present one.
func replacedMappings(tx *db.Tx, propertyID, integrationID string, desired []*propertyv1.Mapping) (replaced []string, err error) {
	goal := make(map[string]string, len(desired))
	var targets []string
	for _, w := range desired {
		goal[w.GetExternalId()] = w.GetSpaceId()
		if w.GetSpaceId() == "" {
			replaced = append(replaced, w.GetExternalId())
		} else {
			targets = append(targets, w.GetSpaceId())
		}
	}
	holders, err := space.ExternalIDs(tx, propertyID, integrationID, targets)
	if err != nil {
		return nil, err
	}
	for _, spaceID := range targets {
		holder, held := holders[spaceID]
		if to, named := goal[holder]; held && named && to != "" && to != spaceID {
			replaced = append(replaced, holder)
		}
	}
	return replaced, nil
}

// duplicates returns an error for each space, of the PMS or of the property, that a request maps more than once.
func duplicates(wanted []*propertyv1.Mapping) []fault.Field {
	var wrong []fault.Field
	theirs, ours := map[string]bool{}, map[string]bool{}
	for i, w := range wanted {
		if theirs[w.GetExternalId()] {
			wrong = append(wrong, fault.Field{Path: fmt.Sprintf("mappings[%d].externalId", i), Reason: fault.Duplicate, Message: "is named twice"})
		}
		if w.GetSpaceId() != "" && ours[w.GetSpaceId()] {
			wrong = append(wrong, fault.Field{Path: fmt.Sprintf("mappings[%d].spaceId", i), Reason: fault.Duplicate, Message: "is named twice"})
		}
		theirs[w.GetExternalId()], ours[w.GetSpaceId()] = true, true
	}
	return wrong
}

// ListConflicts lists a page of the open conflicts between the spaces of a PMS, or of all without an integration id, and those of the
// property, each with its possible cures (changes that resolve it). includeClosed adds closed ones, without cures.
func (s *mappings) ListConflicts(ctx context.Context, r *propertyv1.ListConflictsRequest) (*propertyv1.ListConflictsResponse, error) {
	propertyID, p, err := callerPage(ctx, r)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	rows, total, err := space.ListConflicts(view, propertyID, space.ConflictFilter{
		IntegrationID: r.GetIntegrationId(), Closed: r.GetIncludeClosed(), Page: p,
	})
	if err != nil {
		return nil, err
	}
	to, err := s.reader(ctx, propertyID)
	if err != nil {
		return nil, err
	}
	cures, err := space.Cures(view, propertyID, rows)
	if err != nil {
		return nil, err
	}
	list := &propertyv1.ConflictList{NextPageToken: nextPageToken(p, total), Total: int32(total)}
	for _, row := range rows {
		m := conflictMessage(row, to)
		for _, c := range cures[row.ID] {
			m.Cures = append(m.Cures, &propertyv1.Cure{Kind: string(c.Kind), SpaceId: c.SpaceID, SpaceName: c.SpaceName, ExternalId: c.ExternalID})
		}
		list.List = append(list.List, m)
	}
	return &propertyv1.ListConflictsResponse{Data: list}, nil
}

// conflictMessage converts a mapping conflict without its cures (the possible fixes). The text is in the reader's language.
func conflictMessage(c *space.ConflictRow, to message.Reader) *propertyv1.Conflict {
	return &propertyv1.Conflict{
		Id: c.ID, IntegrationId: c.IntegrationID, Kind: c.Kind, ExternalId: c.ExternalID, Detail: space.ConflictText(c, to),
		ReservationIds: c.ReservationIds, OpenedAt: timestamppb.New(c.OpenedAt), ClosedAt: convert.OptionalTime(c.ClosedAt),
		Parameters: convert.Struct(c.Parameters),
	}
}
