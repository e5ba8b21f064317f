package staff

import (
	"net/http"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// auditRow is one entry of the audit log.
type auditRow struct {
	*propertyv1.AuditEntry
	Chip    chip
	What    string // service and method of the API call
	Touches []link // links to the objects of the entry
}

// newAuditRow returns the row of an entry of the audit log.
func newAuditRow(e *propertyv1.AuditEntry) auditRow {
	r := auditRow{AuditEntry: e, Chip: chip{"unknown", "?", "staff.audit.other"}, What: e.GetAction()}
	if e.GetDamaged() {
		r.Chip = chip{"bad", "✕", "staff.audit.damaged"}
		return r
	}
	switch e.GetOutcome() {
	case "done":
		r.Chip = chip{"ok", "●", "staff.audit.done"}
	case "refused":
		r.Chip = chip{"warn", "✕", "staff.audit.refused"}
	case "failed":
		r.Chip = chip{"bad", "✕", "staff.audit.failed"}
	}
	if _, name, ok := strings.Cut(e.GetAction(), "/"); ok {
		r.What = name
	}
	for _, id := range e.GetSubjects() {
		if to := subjectLink(id); to.URL != "" {
			r.Touches = append(r.Touches, to)
		}
	}
	return r
}

type auditView struct {
	Rows   []auditRow
	Next   string
	Report *propertyv1.AuditReport // result of the verification, or nil if the person has not requested one
	Chip   chip
}

// verifyCalls is how many API calls one press of the button makes to verify the log. Each call verifies at most 20,000 entries.
const verifyCalls = 10

// showAudit handles the list of the audit log. On request it also verifies the hash chain of the entries.
func (s *site) showAudit(x *exchange) error {
	q := x.R.URL.Query()
	size := x.pageSize(usualRows, mostRows)
	found, err := s.api.Audit.ListEntries(x.call(), &propertyv1.ListEntriesRequest{PageSize: int32(size), PageToken: q.Get("page")})
	if err != nil {
		return err
	}
	v := auditView{}
	for _, e := range found.GetData().GetList() {
		v.Rows = append(v.Rows, newAuditRow(e))
	}
	if next := found.GetData().GetNextPageToken(); next != "" {
		v.Next = listURL("/app/audit", "page", next)
	}
	if q.Has("verify") {
		if v.Report, err = x.verifyAudit(); err != nil {
			return err
		}
		v.Chip = reportChip(v.Report)
	}
	p := x.newPage("staff.audit.title")
	p.Here, p.Data = "audit", v
	x.resizable(p, size, mostRows, len(v.Rows), v.Next != "")
	return x.render(http.StatusOK, "audit", p)
}

// verifyAudit verifies the chain from its beginning in several calls, and combines their reports.
func (x *exchange) verifyAudit() (*propertyv1.AuditReport, error) {
	sum := &propertyv1.AuditReport{}
	for range verifyCalls {
		found, err := x.site.api.Audit.VerifyEntries(x.call(), &propertyv1.VerifyEntriesRequest{FromSeq: sum.GetNextSeq()})
		if err != nil {
			return nil, err
		}
		part := found.GetData()
		part.Verified += sum.GetVerified()
		if sum = part; sum.GetNextSeq() == 0 || sum.GetProblem() != "" {
			break
		}
	}
	return sum, nil
}

// reportChip returns the chip that shows whether the chain is intact.
func reportChip(r *propertyv1.AuditReport) chip {
	switch {
	case r.GetProblem() == "changed", r.GetProblem() == "missing", r.GetProblem() == "headLost":
		return chip{"bad", "✕", "staff.audit.problem." + r.GetProblem()}
	case r.GetProblem() != "":
		return chip{"bad", "✕", "staff.audit.problem.other"}
	case r.GetNextSeq() != 0:
		return chip{"info", "◐", "staff.audit.part"}
	}
	return chip{"ok", "●", "staff.audit.whole"}
}
