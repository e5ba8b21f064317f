package property

import (
	"slices"
	"strings"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/reservation"
)

// changes shows the changes of a mapping, the latest first, as "kind external:before>after".
func (h *tenant) changes(integrationID string) (words []string, ids []string) {
	h.Helper()
	for token := ""; ; {
		list := must(h.Mapping.ListMappingChanges(h.ctx, &propertyv1.ListMappingChangesRequest{IntegrationId: integrationID, PageSize: 2, PageToken: token}))(h.T).GetData()
		for _, c := range list.GetList() {
			word := c.GetKind()
			for _, row := range c.GetRows() {
				word += " " + row.GetExternalId() + ":" + row.GetBefore().GetSpaceName() + ">" + row.GetAfter().GetSpaceName()
			}
			words, ids = append(words, word), append(ids, c.GetId())
		}
		if token = list.GetNextPageToken(); token == "" {
			return words, ids
		}
	}
}

// Each change of a mapping is stored and can be undone, also an undo, but not after a later change of the same space.
func TestMappingChangesAreUndone(t *testing.T) {
	eachTenant(t, func(a, b *tenant) {
		r1, r2 := a.room("101"), a.room("102")
		in := a.integration()
		a.listed(in, "1", "2")
		set := func(externalID, spaceID, seen string) (*propertyv1.SetMappingResponse, error) {
			return a.Mapping.SetMapping(a.ctx, &propertyv1.SetMappingRequest{IntegrationId: in, ExternalId: externalID, SpaceId: spaceID, LastChangeId: seen})
		}
		latest := func() string {
			return must(a.Mapping.ListPartnerSpaces(a.ctx, &propertyv1.ListPartnerSpacesRequest{IntegrationId: in}))(t).GetData().GetLastChangeId()
		}
		same(t, "the latest change of a new mapping", "none", latest())
		first := must(set("x-1", r1, "none"))(t).GetChangeId()
		refused(set("x-2", r2, "none"))(t, "a change by a caller who has read no change", fault.Outdated)
		if again := must(set("x-1", r1, ""))(t).GetChangeId(); again != "" {
			t.Errorf("the same mapping again is the change %s", again)
		}
		second := must(set("x-2", r2, first))(t).GetChangeId()
		refused(set("x-1", r1, first))(t, "a change by a caller who has not read the latest", fault.Outdated)
		refused(a.Mapping.SetMapping(a.ctx, &propertyv1.SetMappingRequest{
			IntegrationId: in, ExternalId: "x-1", SpaceId: r1, LastChangeId: first, ValidateOnly: true,
		}))(t, "its preview", fault.Outdated)
		traded := must(a.Mapping.BatchSetMappings(a.ctx, &propertyv1.BatchSetMappingsRequest{IntegrationId: in, LastChangeId: second, Mappings: []*propertyv1.Mapping{
			{ExternalId: "x-1", SpaceId: &r2}, {ExternalId: "x-2", SpaceId: &r1},
		}}))(t).GetChangeId()

		undo := func(h *tenant, id string) (*propertyv1.UndoMappingChangeResponse, error) {
			return h.Mapping.UndoMappingChange(h.ctx, &propertyv1.UndoMappingChangeRequest{Id: id})
		}
		refused(undo(b, traded))(t, "another property's change", fault.NotFoundReason)
		_, err := undo(a, first)
		f, ok := fault.Of(err)
		if !ok || f.Reason != fault.Outdated || f.Meta["changeId"] != traded || f.Meta["by"] != "staff:tok_A" || f.Meta["externalId"] != "x-1" {
			t.Errorf("undone after a later change: %v, %v", err, f.Meta)
		}
		undone := must(undo(a, traded))(t).GetChangeId()
		same(t, "undone", []string{"x-1=101", "x-2=102"}, a.mapped(in))
		refused(undo(a, traded))(t, "twice", fault.Outdated)
		must(undo(a, undone))(t)
		same(t, "the undo undone", []string{"x-1=102", "x-2=101"}, a.mapped(in))

		words, ids := a.changes(in)
		same(t, "changes", []string{
			"undo x-1:101>102 x-2:102>101", "undo x-1:102>101 x-2:101>102", "batch x-1:101>102 x-2:102>101", "set x-2:>102", "set x-1:>101",
		}, words)
		same(t, "the latest change", ids[0], latest())
		a.w.takeReplanned()
		refused(b.Mapping.ListMappingChanges(b.ctx, &propertyv1.ListMappingChangesRequest{IntegrationId: in}))(t, "another property's changes", fault.IntegrationNotFound)
	})
}

// A preview changes nothing, and fails as the change would.
func TestPreviewOfAMapping(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		r1 := a.room("101")
		in := a.integration()
		a.listed(in, "1", "2")
		must(a.Mapping.SetMapping(a.ctx, &propertyv1.SetMappingRequest{IntegrationId: in, ExternalId: "x-1", SpaceId: r1}))(t)
		a.w.takeReplanned()
		before, _ := a.changes(in)
		shown := must(a.Mapping.UnsetMapping(a.ctx, &propertyv1.UnsetMappingRequest{IntegrationId: in, ExternalId: "x-1", ValidateOnly: true}))(t)
		if shown.GetPreview() == nil || shown.GetChangeId() != "" {
			t.Errorf("the preview is %v", shown)
		}
		refused(a.Mapping.SetMapping(a.ctx, &propertyv1.SetMappingRequest{IntegrationId: in, ExternalId: "x-2", SpaceId: r1, ValidateOnly: true}))(t, "taken", fault.AlreadyExists)
		refused(a.Space.DeleteSpace(a.ctx, &propertyv1.DeleteSpaceRequest{Id: r1, ValidateOnly: true}))(t, "mapped", fault.InUse)
		free := a.room("103")
		must(a.Space.DeleteSpace(a.ctx, &propertyv1.DeleteSpaceRequest{Id: free, ValidateOnly: true}))(t)
		must(a.Space.GetSpace(a.ctx, &propertyv1.GetSpaceRequest{Id: free}))(t)
		same(t, "mapped", []string{"x-1=101"}, a.mapped(in))
		after, _ := a.changes(in)
		same(t, "changes", before, after)
		if replanned := a.w.takeReplanned(); len(replanned) > 0 {
			t.Errorf("a preview replanned %v", replanned)
		}
	})
}

// A conflict offers its cures, and the chosen one ends it.
func TestCures(t *testing.T) {
	eachTenant(t, func(a, b *tenant) {
		a.room("2")
		r1 := a.room("Old")
		in := a.integration()
		a.listed(in, "Old")
		must(a.Mapping.SetMapping(a.ctx, &propertyv1.SetMappingRequest{IntegrationId: in, ExternalId: "x-Old", SpaceId: r1}))(t)
		a.listed(in, "2", "3", "4") // x-Old is gone, three are new
		conflict := func(externalID string) *propertyv1.Conflict {
			t.Helper()
			for _, c := range must(a.Mapping.ListConflicts(a.ctx, &propertyv1.ListConflictsRequest{IntegrationId: in}))(t).GetData().GetList() {
				if c.GetExternalId() == externalID {
					return c
				}
			}
			return nil
		}
		cure := func(h *tenant, externalID, kind string) (*propertyv1.ApplyCureResponse, error) {
			t.Helper()
			return h.Mapping.ApplyCure(h.ctx, &propertyv1.ApplyCureRequest{ConflictId: conflict(externalID).GetId(), Kind: kind})
		}
		offered := func(externalID string) string {
			var kinds []string
			for _, c := range conflict(externalID).GetCures() {
				kinds = append(kinds, c.GetKind())
			}
			return strings.Join(kinds, " ")
		}
		same(t, "of a new space with a suggestion", "map createSpace notOurs", offered("x-2"))
		same(t, "of a new space", "map createSpace notOurs", offered("x-3"))
		refused(cure(a, "x-3", "map"))(t, "without a space", fault.InvalidFields)
		same(t, "of a missing space", "unmap", offered("x-Old"))
		refused(cure(a, "x-Old", "accept"))(t, "a cure of another kind", fault.Outdated)
		refused(cure(b, "x-Old", "unmap"))(t, "another property's conflict", fault.ConflictNotFound)
		if p := must(a.Mapping.ApplyCure(a.ctx, &propertyv1.ApplyCureRequest{ConflictId: conflict("x-Old").GetId(), Kind: "unmap", ValidateOnly: true}))(t); p.GetPreview() == nil {
			t.Error("no preview")
		}
		for externalID, kind := range map[string]string{"x-2": "map", "x-3": "createSpace", "x-4": "notOurs", "x-Old": "unmap"} {
			must(cure(a, externalID, kind))(t)
			if c := conflict(externalID); c != nil {
				t.Errorf("after %s the conflict of %s is open", kind, externalID)
			}
		}
		same(t, "mapped", []string{"x-2=2", "x-3=3"}, a.mapped(in))
		a.listed(in, "2", "3", "4")
		if c := conflict("x-4"); c != nil {
			t.Errorf("the next reading opens %v again", c)
		}
	})
}

// A room that the PMS lists with a new id takes over the mapping of the old id, and an undo gives it back.
func TestCureOfARoomWithANewID(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		room := a.room("Suite")
		in := a.integration()
		a.listed(in, "Suite")
		must(a.Mapping.SetMapping(a.ctx, &propertyv1.SetMappingRequest{IntegrationId: in, ExternalId: "x-Suite", SpaceId: room}))(t)
		a.listed(in, "new=suite", "x-2=2")
		missing := func() *propertyv1.Conflict {
			for _, c := range must(a.Mapping.ListConflicts(a.ctx, &propertyv1.ListConflictsRequest{IntegrationId: in}))(t).GetData().GetList() {
				if c.GetKind() == "missing" {
					return c
				}
			}
			return nil
		}
		open := missing()
		if best := open.GetCures()[0]; best.GetKind() != "sameName" || best.GetExternalId() != "new" {
			t.Errorf("the best cure is %v", best)
		}
		for _, c := range must(a.Mapping.ListConflicts(a.ctx, &propertyv1.ListConflictsRequest{IntegrationId: in}))(t).GetData().GetList() {
			if c.GetExternalId() == "new" && slices.ContainsFunc(c.GetCures(), func(c *propertyv1.Cure) bool { return c.GetKind() == "createSpace" }) {
				t.Errorf("a second room is offered for the room with a new id: %v", c.GetCures())
			}
		}
		made := must(a.Mapping.CreateMissingSpaces(a.ctx, &propertyv1.CreateMissingSpacesRequest{IntegrationId: in, ValidateOnly: true}))(t).GetData().GetList()
		if len(made) != 1 || made[0].GetExternalId() != "x-2" {
			t.Errorf("would create %v", made)
		}
		refused(a.Mapping.ApplyCure(a.ctx, &propertyv1.ApplyCureRequest{ConflictId: open.GetId(), Kind: "sameName", ExternalId: "x-2"}))(t, "a room of another name", fault.Outdated)
		must(a.Mapping.ApplyCure(a.ctx, &propertyv1.ApplyCureRequest{ConflictId: open.GetId(), Kind: "sameName", ExternalId: "new", ValidateOnly: true}))(t)
		if missing() == nil {
			t.Error("a preview ends the conflict")
		}
		change := must(a.Mapping.ApplyCure(a.ctx, &propertyv1.ApplyCureRequest{ConflictId: open.GetId(), Kind: "sameName"}))(t).GetChangeId()
		same(t, "mapped", []string{"new=Suite"}, a.mapped(in))
		if c := missing(); c != nil {
			t.Errorf("the conflict is open: %v", c)
		}
		must(a.Mapping.UndoMappingChange(a.ctx, &propertyv1.UndoMappingChangeRequest{Id: change}))(t)
		if now := a.mapped(in); len(now) > 0 || missing() == nil { // the room that the PMS no longer lists is mapped again
			t.Errorf("after the undo, mapped: %v", now)
		}
		a.listed(in, "new=suite", "other=SUITE")
		two := missing().GetId()
		refused(a.Mapping.ApplyCure(a.ctx, &propertyv1.ApplyCureRequest{ConflictId: two, Kind: "sameName"}))(t, "two rooms of the name", fault.InvalidFields)
		must(a.Mapping.ApplyCure(a.ctx, &propertyv1.ApplyCureRequest{ConflictId: two, Kind: "sameName", ExternalId: "other"}))(t)
		same(t, "mapped", []string{"other=Suite"}, a.mapped(in))
	})
}

// A preview lists a stay only if the change gives it another door, takes its door, or gives it one.
func TestPreviewListsStaysWhoseDoorsChange(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		check(a, a.w.deps.Keys.EnsureKey(a.ctx, a.id))
		rooms := map[string]string{"": "", "101": a.room("101"), "102": a.room("102"), "103": a.room("103")}
		in := a.integration()
		a.listed(in, "1", "2", "3")
		for externalID, room := range map[string]string{"x-1": "101", "x-2": "102"} {
			must(a.Mapping.SetMapping(a.ctx, &propertyv1.SetMappingRequest{IntegrationId: in, ExternalId: externalID, SpaceId: rooms[room]}))(t)
		}
		from := a.w.clock.Now().AddDate(0, 0, 1)
		for _, n := range []string{"1", "2", "3"} {
			a.reserve(in, n, reservation.Patch{reservation.SpaceID: "x-" + n, reservation.From: from.Format(time.RFC3339), reservation.To: from.AddDate(0, 0, 2).Format(time.RFC3339)})
		}
		for name, c := range map[string]struct {
			mappings map[string]string
			touched  int32
			stays    []string
		}{
			"the same mapping again":        {map[string]string{"x-1": "101"}, 1, nil},
			"another room":                  {map[string]string{"x-1": "103"}, 1, []string{"101: 101>103"}},
			"a room for an unmapped space":  {map[string]string{"x-3": "103"}, 1, []string{"103: >103"}},
			"no room":                       {map[string]string{"x-2": ""}, 1, []string{"102: 102>"}},
			"two trade their rooms":         {map[string]string{"x-1": "102", "x-2": "101"}, 2, []string{"101: 101>102", "102: 102>101"}},
			"one of two mappings is stored": {map[string]string{"x-1": "101", "x-2": "103"}, 2, []string{"102: 102>103"}},
		} {
			r := &propertyv1.BatchSetMappingsRequest{IntegrationId: in, ValidateOnly: true}
			for externalID, room := range c.mappings {
				r.Mappings = append(r.Mappings, &propertyv1.Mapping{ExternalId: externalID, SpaceId: new(rooms[room])})
			}
			p := must(a.Mapping.BatchSetMappings(a.ctx, r))(t).GetPreview()
			var stays []string
			for _, s := range p.GetStays() {
				stays = append(stays, s.GetPmsNumber()+": "+s.GetSpaceBefore()+">"+s.GetSpaceAfter())
			}
			same(t, name, c.stays, stays)
			if int(p.GetChanged()) != len(c.stays) || p.GetReservations() != c.touched {
				t.Errorf("%s: %d of %d, want %d of %d", name, p.GetChanged(), p.GetReservations(), len(c.stays), c.touched)
			}
		}
	})
}
