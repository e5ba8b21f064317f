package staff

import (
	"net/http"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/web/kit"
)

// auditRow is one entry of the audit log.
type auditRow struct {
	*propertyv1.AuditEntry
	Chip    chip
	Call    string // service and method of the API call, such as LockService/UnlockLock
	What    string // message about the call, which exists only for known calls
	Touches []link // links to the objects of the entry
}

// callOf returns the service and the method in the full name of an RPC: without its package.
func callOf(action string) string { return action[strings.LastIndexByte(action, '.')+1:] }

// callText returns the message about a call, which names the task. It may not exist.
func callText(call string) string { return "staff.did." + strings.Replace(call, "/", ".", 1) }

// newAuditRow returns the row of an entry of the audit log.
func newAuditRow(e *propertyv1.AuditEntry) auditRow {
	r := auditRow{AuditEntry: e, Chip: chip{"unknown", "?", "staff.audit.other"}, Call: callOf(e.GetAction())}
	r.What = callText(r.Call)
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
	for _, id := range e.GetSubjects() {
		if to := subjectLink(id); to.URL != "" {
			r.Touches = append(r.Touches, to)
		}
	}
	return r
}

type auditView struct {
	Rows   []auditRow
	Inputs []kit.Input // the choice of entries
	Chosen bool        // the page shows only some entries
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
	r := &propertyv1.ListEntriesRequest{
		PageSize: int32(size), PageToken: q.Get("page"), Actor: q.Get("actor"), Action: q.Get("action"), FirstDay: q.Get("firstDay"), LastDay: q.Get("lastDay"),
	}
	found, err := s.api.Audit.ListEntries(x.call(), r)
	p, status := x.newPage("staff.audit.title"), http.StatusOK
	v := auditView{Chosen: r.GetActor()+r.GetAction()+r.GetFirstDay()+r.GetLastDay() != ""}
	if err != nil {
		if p.Wrong = wrongDays(p, s.Fault(err)); len(p.Wrong) == 0 {
			return err
		}
		status = http.StatusUnprocessableEntity
	}
	for _, e := range found.GetData().GetList() {
		v.Rows = append(v.Rows, newAuditRow(e))
	}
	if v.Inputs, err = x.auditInputs(p, r, v.Rows); err != nil {
		return err
	}
	if next := found.GetData().GetNextPageToken(); next != "" {
		v.Next = listURL("/app/audit", "actor", r.GetActor(), "action", r.GetAction(), "firstDay", r.GetFirstDay(), "lastDay", r.GetLastDay(), "page", next)
	}
	if q.Has("verify") {
		if v.Report, err = x.verifyAudit(); err != nil {
			return err
		}
		v.Chip = reportChip(v.Report)
	}
	p.Here, p.Data = "audit", v
	x.resizable(p, size, mostRows, len(v.Rows), v.Next != "")
	return x.render(status, "audit", p)
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
