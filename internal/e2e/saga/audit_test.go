package saga

import (
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// judgeAudit checks that the audit log has the clearance of each guest that was answered, and that its chain verifies after all kills of the
// server.
func (w *world) judgeAudit(t *testing.T, guests []*guest) {
	t.Helper()
	api := propertyv1.NewAuditServiceClient(w.Public)
	cleared := map[string]int{}
	for token := ""; ; {
		page, err := api.ListEntries(w.asStaff(), &propertyv1.ListEntriesRequest{PageSize: 200, PageToken: token})
		w.must(err)
		for _, e := range page.GetData().GetList() {
			if e.GetAction() == "latchkey.property.v1.CheckInService/ClearStage" && e.GetOutcome() == "done" {
				for _, s := range e.GetSubjects() {
					cleared[s]++
				}
			}
		}
		if token = page.GetData().GetNextPageToken(); token == "" {
			break
		}
	}
	for _, g := range guests {
		if cleared[g.stay] == 0 {
			t.Errorf("the audit log has no clearance of the stay %s: %v", g.stay, cleared)
		}
	}
	for from := int64(0); ; {
		r, err := api.VerifyEntries(w.asStaff(), &propertyv1.VerifyEntriesRequest{FromSeq: from})
		w.must(err)
		if r.GetData().GetProblem() != "" {
			t.Errorf("after the kills the audit log does not verify: %v", r.GetData())
			return
		}
		if from = r.GetData().GetNextSeq(); from == 0 {
			return
		}
	}
}
