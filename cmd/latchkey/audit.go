package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type auditCommands struct {
	remote `embed:""`

	List   auditList   `cmd:"" help:"List who changed or saw what, the latest first."`
	Verify auditVerify `cmd:"" help:"Check that no entry was changed or deleted."`
}

type auditList struct {
	Limit int    `default:"50" help:"How many entries at most."`
	Who   string `placeholder:"CALLER" help:"Only entries of this caller, as in the column who."`
	What  string `placeholder:"CALL" help:"Only entries of this call, as in the column call, or of all calls of a service, such as LockService."`
	From  string `placeholder:"YYYY-MM-DD" help:"Only entries of this day and later, in the property's time zone."`
	To    string `placeholder:"YYYY-MM-DD" help:"Only entries of this day and earlier."`
}

// Help returns what --help adds: what the outcome means, and examples.
func (auditList) Help() string {
	return `The outcome is that of the call: "done" means that it succeeded, also if there was nothing to change. Examples:
  latchkey audit list
  latchkey audit list --limit 1000 --json
  latchkey audit list --what ReservationService/RevealPin --from 2026-07-01 --to 2026-07-31
  latchkey audit list --who staff:prs_01jz8k3v5m7n9p1q3r5s7t9w1x`
}

// Run prints the latest entries of the audit log that match the flags, at most --limit.
func (c *auditList) Run(ctx context.Context, r *remote, io *streams) error {
	if err := checkLimit(c.Limit); err != nil {
		return err
	}
	return r.asStaff(ctx, io, func(s *session) error {
		all, err := c.load(s)
		return s.printAnswer(&propertyv1.ListEntriesResponse{Data: all}, err, func() {
			var rows [][]string
			for _, e := range all.GetList() {
				if e.GetDamaged() {
					rows = append(rows, []string{strconv.FormatInt(e.GetSeq(), 10), "", "", "", "cannot be read, see: latchkey audit verify", "", "", ""})
					continue
				}
				action := e.GetAction()[strings.LastIndexByte(e.GetAction(), '.')+1:]
				rows = append(rows, []string{strconv.FormatInt(e.GetSeq(), 10), formatTime(e.GetAt()), e.GetActor(), action, e.GetOutcome(), strings.Join(e.GetSubjects(), " "), e.GetFrom(), e.GetReason()})
			}
			s.printTable("The audit log has no such entry.", []string{"no.", "at", "who", "call", "outcome", "about", "from", "reason"}, rows)
		})
	})
}

// load returns the latest entries of the audit log that match the flags: at most --limit.
func (c *auditList) load(s *session) (*propertyv1.AuditEntryList, error) {
	all := &propertyv1.AuditEntryList{}
	for {
		answer, err := propertyv1.NewAuditServiceClient(s.conn).ListEntries(s, &propertyv1.ListEntriesRequest{
			PageSize: int32(min(c.Limit-len(all.GetList()), 200)), PageToken: all.GetNextPageToken(),
			Actor: c.Who, Action: c.What, FirstDay: c.From, LastDay: c.To,
		})
		if err != nil {
			return nil, err
		}
		all.List = append(all.List, answer.GetData().GetList()...)
		all.NextPageToken = answer.GetData().GetNextPageToken()
		if all.GetNextPageToken() == "" || len(all.GetList()) >= c.Limit {
			return all, nil
		}
	}
}

type auditVerify struct{}

// Help returns what --help adds: what the exit code means, and an example.
func (auditVerify) Help() string {
	return `The exit code is 1 if an entry was changed, moved or deleted, and names the first one. Example:
  latchkey audit verify --property "Hostel Miramar"`
}

// Run lets the server verify the audit log, one part per call until the end, and fails at the first entry that was changed, moved or
// deleted.
func (*auditVerify) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		verified, from := int32(0), int64(0)
		for {
			part, cancel := context.WithTimeout(ctx, sessionTimeout)
			answer, err := propertyv1.NewAuditServiceClient(s.conn).VerifyEntries(part, &propertyv1.VerifyEntriesRequest{FromSeq: from})
			cancel()
			if err != nil {
				return err
			}
			report := answer.GetData()
			verified += report.GetVerified()
			if report.GetProblem() != "" {
				return fmt.Errorf("the audit log does not verify: %s at entry %d; %d entries before it are intact", problemText(report.GetProblem()), report.GetProblemSeq(), verified)
			}
			if from = report.GetNextSeq(); from == 0 {
				return s.printAnswer(answer, nil, func() {
					s.say("The audit log verifies: %d entries, %d to %d.", verified, report.GetFirstSeq(), report.GetLastSeq())
				})
			}
		}
	})
}

// problemText returns the text for a problem that the server found in the audit log: changed, missing, or any other, which concerns its
// end.
func problemText(problem string) string {
	switch problem {
	case "changed":
		return "content was changed"
	case "missing":
		return "an entry is missing"
	}
	return "the record of the last entry was changed or deleted"
}
