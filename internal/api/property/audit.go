package property

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/staff"
)

type auditLog struct {
	propertyv1.UnimplementedAuditServiceServer
	Deps
}

// verifyLimit is how many audit log entries one call verifies.
const verifyLimit = 20_000

// ListEntries returns one page of the audit log, the latest entry first. The page token is the number of the last entry of the former page.
// An entry that cannot be decoded has only its number and Damaged.
func (s *auditLog) ListEntries(ctx context.Context, r *propertyv1.ListEntriesRequest) (*propertyv1.ListEntriesResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	size, before := int(r.GetPageSize()), int64(0)
	if size == 0 {
		size = defaultPage
	}
	if token := r.GetPageToken(); token != "" {
		if before, err = strconv.ParseInt(token, 10, 64); err != nil || before <= 0 {
			return nil, fault.BadPageToken()
		}
	}
	filter, err := s.filterOf(ctx, propertyID, r)
	if err != nil {
		return nil, err
	}
	entries, err := audit.List(s.DB.View(ctx), propertyID, filter, before, size+1)
	if err != nil {
		return nil, err
	}
	list := &propertyv1.AuditEntryList{}
	if len(entries) > size {
		entries = entries[:size]
		list.NextPageToken = strconv.FormatInt(entries[size-1].Seq, 10)
	}
	names, err := namesOf(s.DB.View(ctx), s.Keys, propertyID, entries, func(e audit.Entry) string { return e.Actor })
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Damaged {
			list.List = append(list.List, &propertyv1.AuditEntry{Seq: e.Seq, Damaged: true})
			continue
		}
		list.List = append(list.List, &propertyv1.AuditEntry{
			Seq: e.Seq, At: timestamppb.New(e.At), Actor: e.Actor, Action: e.Action, Subjects: e.Subjects, From: e.From, Reason: e.Reason, Outcome: string(e.Outcome), ActorName: names[e.Actor],
		})
	}
	return &propertyv1.ListEntriesResponse{Data: list}, nil
}

// filterOf converts the filter of a request. Its days are in the property's time zone, and the last one is included. It refuses a malformed
// day, and a last day before the first.
func (s *auditLog) filterOf(ctx context.Context, propertyID string, r *propertyv1.ListEntriesRequest) (audit.Filter, error) {
	f := audit.Filter{Actor: r.GetActor(), Action: r.GetAction()}
	if r.GetFirstDay() == "" && r.GetLastDay() == "" {
		return f, nil
	}
	row, err := property.Get(s.DB.View(ctx), propertyID)
	if err != nil {
		return f, err
	}
	if r.GetFirstDay() != "" {
		if f.From, _, err = dayOf(row, "firstDay", r.GetFirstDay()); err != nil {
			return f, err
		}
	}
	if r.GetLastDay() != "" {
		if _, f.To, err = dayOf(row, "lastDay", r.GetLastDay()); err != nil {
			return f, err
		}
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		return f, fault.Fields(fault.Field{Path: "lastDay", Reason: fault.WrongValue, Message: "is before firstDay"})
	}
	return f, nil
}

// dayOf returns the start of a day and that of the next day in the property's time zone, or an error about path, the field of the request
// that has the day. day is YYYY-MM-DD and must not be empty.
func dayOf(row *property.Row, path, day string) (begins, ends time.Time, err error) {
	begins, ends, err = reservation.Day(row, day, time.Time{})
	if f, ok := fault.Of(err); ok && len(f.Fields) == 1 {
		wrong := f.Fields[0]
		wrong.Path = path
		err = fault.Fields(wrong)
	}
	return begins, ends, err
}

// namesOf maps the authors of the entries in a list to their names. It has no name for an author that is neither a person nor a staff token.
// author returns the recorded author of an entry.
func namesOf[T any](view *db.Tx, keys *keyring.Ring, propertyID string, list []T, author func(T) string) (map[string]string, error) {
	authors := map[string]bool{}
	for _, one := range list {
		authors[author(one)] = true
	}
	return staff.Names(view, keys, propertyID, slices.Sorted(maps.Keys(authors)))
}

// VerifyEntries verifies the hash chain of the audit log from an entry on, at most verifyLimit entries. It stops at the first problem. The
// answer has the entry at which the next call continues, or 0 after the last entry or a problem.
func (s *auditLog) VerifyEntries(ctx context.Context, r *propertyv1.VerifyEntriesRequest) (*propertyv1.VerifyEntriesResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	report, err := audit.Verify(s.DB.View(ctx), s.Keys, propertyID, r.GetFromSeq(), verifyLimit)
	if err != nil {
		return nil, err
	}
	return &propertyv1.VerifyEntriesResponse{Data: &propertyv1.AuditReport{
		FirstSeq: report.First, LastSeq: report.Last, Verified: int32(report.Verified), NextSeq: report.Next, Problem: string(report.Problem), ProblemSeq: report.At,
	}}, nil
}
