package e2e

import (
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// A preview names the stays whose door a change of the mapping would take away, and leaves them their door. An undo gives it back.
func TestPreviewOfAMappingNamesStays(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	e2etest.PushReservation(t, w, "M-1", map[string]any{"state": "confirmed", "roomId": "R101"})
	e2etest.PushReservation(t, w, "M-2", map[string]any{"state": "confirmed", "roomId": "R102"})
	e2etest.PushReservation(t, w, "M-3", map[string]any{"state": "canceled", "roomId": "R101"})
	client, staff := propertyv1.NewMappingServiceClient(w.Public), w.Staff(t.Context())
	preview := func(p *propertyv1.MappingPreview, before, after string) {
		t.Helper()
		if p.GetReservations() != 1 || len(p.GetStays()) != 1 {
			t.Fatalf("the preview is %v", p)
		}
		if s := p.GetStays()[0]; s.GetPmsNumber() != "N-M-1" || s.GetSpaceBefore() != before || s.GetSpaceAfter() != after || s.GetState() != "confirmed" {
			t.Errorf("the preview shows %v", s)
		}
	}
	unset := func(validateOnly bool) *propertyv1.UnsetMappingResponse {
		t.Helper()
		answer, err := client.UnsetMapping(staff, &propertyv1.UnsetMappingRequest{IntegrationId: w.IntegrationID, ExternalId: "R101", ValidateOnly: validateOnly})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	preview(unset(true).GetPreview(), "Room 101", "")
	preview(unset(true).GetPreview(), "Room 101", "")
	changeID := unset(false).GetChangeId()
	undone, err := client.UndoMappingChange(staff, &propertyv1.UndoMappingChangeRequest{Id: changeID, ValidateOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	preview(undone.GetPreview(), "", "Room 101")
	if _, err := client.UndoMappingChange(staff, &propertyv1.UndoMappingChangeRequest{Id: changeID}); err != nil {
		t.Fatal(err)
	}
	preview(unset(true).GetPreview(), "Room 101", "")
	entries, err := propertyv1.NewAuditServiceClient(w.Public).ListEntries(staff, &propertyv1.ListEntriesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	recorded := 0
	for _, e := range entries.GetData().GetList() {
		if e.GetAction() == "latchkey.property.v1.MappingService/UnsetMapping" {
			recorded++
		}
	}
	if recorded != 1 {
		t.Errorf("the audit log has %d entries of UnsetMapping, want only that of the change", recorded)
	}
}
