package staff

import (
	"net/http"
	"strconv"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/web/kit"
)

// auditRow is one entry of the audit log.
type auditRow struct {
	*propertyv1.AuditEntry
	Chip    chip
	Call    string // service and method of the API call, such as LockService/UnlockLock
	What    string // kind of the message that describes the call; not every call has such a message, see callText
	Touches []link // links to the objects of the entry
}

// callOf removes the package from the full name of an RPC: the result is, for example, LockService/UnlockLock.
func callOf(action string) string { return action[strings.LastIndexByte(action, '.')+1:] }

// callText returns the kind of the message that describes an API call in words, such as "Open a door from afar". Not every call has such a
// message. A caller that needs a text checks it with Has.
func callText(call string) string { return "staff.did." + strings.Replace(call, "/", ".", 1) }

// newAuditRow returns the row of an entry of the audit log. A damaged entry gets no links and no outcome. may reports whether the person
// has a right, see subjectLink.
func newAuditRow(e *propertyv1.AuditEntry, may func(right string) bool) auditRow {
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
		if to := subjectLink(id, may); to.URL != "" {
			r.Touches = append(r.Touches, to)
		}
	}
	return r
}

type auditView struct {
	Rows   []auditRow
	Inputs []kit.Input             // the form fields that filter the entries
	Chosen bool                    // a filter is active
	Next   string                  // URL of the next page, or ""
	Report *propertyv1.AuditReport // result of the verification, or nil if the person has not requested one
	From   int64                   // sequence number of the first entry that was verified
	Until  int64                   // sequence number of the last entry that was verified; 0 unless Verify is set
	Verify string                  // URL that verifies the following entries; "" if there are none, or after a problem
	Chip   chip                    // state of the chain in Report
}

// verifyCalls is how many API calls one press of the button makes to verify the log. Each call verifies at most 20,000 entries. If entries
// are left, the page has a link that verifies the next ones.
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
		v.Rows = append(v.Rows, newAuditRow(e, x.may))
	}
	if v.Inputs, err = x.auditInputs(p, r, v.Rows); err != nil {
		return err
	}
	if next := found.GetData().GetNextPageToken(); next != "" {
		v.Next = listURL("/app/audit", "actor", r.GetActor(), "action", r.GetAction(), "firstDay", r.GetFirstDay(), "lastDay", r.GetLastDay(), "page", next)
	}
	if q.Has("verify") {
		if err := x.verifyAudit(&v); err != nil {
			return err
		}
	}
	p.Here, p.Data = "audit", v
	x.resizable(p, size, mostRows, len(v.Rows), v.Next != "")
	return x.render(status, "audit", p)
}

// verifyAudit verifies the hash chain of the audit log with at most verifyCalls API calls, until the first problem, and sets the result in
// v. It begins at the entry in the query "from" or, without one, at the first.
func (x *exchange) verifyAudit(v *auditView) error {
	next, err := strconv.ParseInt(x.R.URL.Query().Get("from"), 10, 64)
	if err != nil || next < 0 {
		next = 0
	}
	first := next
	for range verifyCalls {
		found, err := x.site.api.Audit.VerifyEntries(x.call(), &propertyv1.VerifyEntriesRequest{FromSeq: next})
		if err != nil {
			return err
		}
		v.Report = found.GetData()
		if next = v.Report.GetNextSeq(); next == 0 || v.Report.GetProblem() != "" {
			break
		}
	}
	v.From, v.Chip = max(first, v.Report.GetFirstSeq()), reportChip(v.Report)
	switch {
	case v.Report.GetProblem() != "":
	case next != 0:
		v.Until, v.Verify = next-1, listURL("/app/audit", "verify", "yes", "from", strconv.FormatInt(next, 10))
	case v.From > v.Report.GetFirstSeq(): // the report is only about the last part of the log: earlier presses of the button verified the others
		v.Chip.Text = "staff.audit.rest"
	}
	return nil
}

// reportChip returns the chip that shows whether the hash chain is intact, or that entries are left to verify.
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
