package staff

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

// changedHouse is a property whose mapping was changed by Bea. It refuses to undo a change.
type changedHouse struct {
	house
	fault *fault.Fault
}

func (h *changedHouse) ListMappingChanges(context.Context, *propertyv1.ListMappingChangesRequest, ...grpc.CallOption) (*propertyv1.ListMappingChangesResponse, error) {
	later := &propertyv1.MappingChange{Id: "mch_2", Kind: "set", Author: "staff:prs_2", AuthorName: "Bea", At: before(0), Rows: []*propertyv1.ChangedMapping{
		{ExternalId: "r-1", After: &propertyv1.MappedSpace{SpaceName: "Suite", PartnerName: "Room 101"}},
	}}
	return &propertyv1.ListMappingChangesResponse{Data: &propertyv1.MappingChangeList{List: []*propertyv1.MappingChange{later}}}, nil
}

func (h *changedHouse) UndoMappingChange(context.Context, *propertyv1.UndoMappingChangeRequest, ...grpc.CallOption) (*propertyv1.UndoMappingChangeResponse, error) {
	return nil, h.fault
}

// A refused undo says what changed meanwhile, who changed it and when.
func TestRefusedUndo(t *testing.T) {
	for _, difference := range undoDifferences {
		checkTexts(t, "staff.undo."+difference)
	}
	outdated := fault.New(fault.Aborted, fault.Outdated, "changed")
	by := func(f *fault.Fault, change string) *fault.Fault {
		return f.Put("changeId", change).Put("by", "staff:prs_2").Put("at", "2026-11-24T11:30:00Z")
	}
	for name, c := range map[string]struct {
		fault *fault.Fault
		want  []string
	}{
		"changed since":         {by(outdated, "mch_2").Put("difference", "changedSince").Put("externalId", "r-1"), []string{"“Room 101” was changed again", "Changed: Bea", "12:30"}},
		"by a former colleague": {by(outdated, "mch_0").Put("difference", "changedSince").Put("externalId", "r-9"), []string{"“r-9” was changed again", "Changed: A former colleague"}},
		"taken":                 {outdated.Put("difference", "spaceTaken").Put("externalId", "r-1"), []string{"mapped to “Room 101” of the PMS now."}},
		"deleted":               {outdated.Put("difference", "spaceDeleted").Put("externalId", "r-1"), []string{"does not exist any more."}},
		"undone already":        {by(outdated, "mch_2"), []string{"This change is undone already.", "Changed: Bea"}},
		"without details":       {outdated, []string{"The same rooms were changed again since."}},
	} {
		h := &changedHouse{house{rights: []string{"readProperty", "manageSpaces"}}, c.fault}
		w := serve(t, API{Sessions: h, Properties: h, Integrations: h, Mappings: h}, "/app/spaces/changes", url.Values{"id": {"mch_1"}, "pms": {"int_1"}})
		for _, text := range c.want {
			if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), text) {
				t.Errorf("%s: status %d without %q: %s", name, w.Code, text, w.Body)
			}
		}
	}
}
