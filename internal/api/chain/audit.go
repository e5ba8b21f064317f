package chain

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/staff"
)

// auditTime is the time limit for storing an entry of the audit log after the call. It applies in place of the call's own deadline.
const auditTime = 5 * time.Second

// isAudited reports whether calls of a method are recorded in the audit log: those with a right of a property's staff that change or reveal
// something.
func (m *method) isAudited() bool {
	right := m.access.GetRight()
	return right != "" && right != string(staff.Self) && (m.access.GetMutates() || m.access.GetReveals())
}

// AuditRecord returns the audit log entry for a call with an answer and an outcome. It returns false if the method is not audited, the log
// already has the entry, or the caller has no property; also for a nil call.
func (call *Call) AuditRecord(answer proto.Message, outcome audit.Outcome) (audit.Record, bool) {
	if call == nil || call.method == nil || call.recorded || call.actor.PropertyID == "" || !call.method.isAudited() {
		return audit.Record{}, false
	}
	t := call.Trace()
	return audit.Record{
		PropertyID: call.actor.PropertyID, Actor: call.actor.Author(), Action: t.Action, Outcome: outcome,
		Subjects: subjectsOf(call.request, answer), Reason: reasonOf(call.request), From: t.From,
	}, true
}

// Trace returns the method and the client's address of the call, for the audit log. It is empty for a nil call, as in a handler that runs
// outside of the chain.
func (call *Call) Trace() staff.Trace {
	if call == nil {
		return staff.Trace{}
	}
	t := staff.Trace{Action: strings.TrimPrefix(call.Method, "/")}
	if call.Client.IsValid() {
		t.From = call.Client.String()
	}
	return t
}

// MarkRecorded marks the call as recorded in the audit log, so that the chain adds no second entry.
func (call *Call) MarkRecorded() {
	if call != nil {
		call.recorded = true
	}
}

// recordCall adds a call to the audit log that is not in it yet: a refused, failed or repeated one, or one that only reveals something. It
// returns the error to answer: err, or why a successful call cannot be recorded, so that nothing is revealed. Calls over the rate limit are
// not recorded, so that they cost no write.
func (c *Chain) recordCall(ctx context.Context, call *Call, err error) error {
	r, due := call.AuditRecord(nil, outcomeOf(err))
	if !due || c.audit == nil || fault.Has(err, fault.RateLimited) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTime)
	defer cancel()
	failed := c.audit(ctx, r)
	switch {
	case failed == nil:
		call.MarkRecorded()
	case err == nil:
		return failed
	default:
		c.log.ErrorContext(ctx, "the audit log has no entry of a refused call", "method", call.Method, "requestId", call.RequestID, "error", failed)
	}
	return err
}

// outcomeOf returns the outcome that the audit log records for the error of a call: Done for nil, Failed if the server could not do the
// call or a concurrent change was first, otherwise Refused.
func outcomeOf(err error) audit.Outcome {
	if err == nil {
		return audit.Done
	}
	f, ok := fault.Of(err)
	switch {
	case !ok:
		return audit.Failed
	case slices.Contains([]fault.Kind{fault.Internal, fault.Unavailable, fault.Deadline, fault.Canceled, fault.Aborted}, f.Kind):
		return audit.Failed
	}
	return audit.Refused
}

// reasonOf returns the caller's reason in the request's field reason or refuse_because, or "".
func reasonOf(request proto.Message) string {
	switch r := request.(type) {
	case interface{ GetReason() string }:
		return r.GetReason()
	case interface{ GetRefuseBecause() string }:
		return r.GetRefuseBecause()
	}
	return ""
}

// subjectsOf returns the subjects of a call for the audit log: the ids in the request, and the id of the object in the answer's field data.
// If that object has no id, it returns the ids of the objects in it. It leaves out all other texts, because they could contain personal
// data.
func subjectsOf(request, answer proto.Message) (ids []string) {
	if request != nil {
		ids = appendIDs(ids, request.ProtoReflect(), maxSubjectDepth)
	}
	if a, ok := answer.(interface{ ProtoReflect() protoreflect.Message }); ok && answer != nil {
		if data := a.ProtoReflect().Descriptor().Fields().ByName("data"); isMessage(data) && a.ProtoReflect().Has(data) {
			ids = appendShown(ids, a.ProtoReflect().Get(data).Message())
		}
	}
	return ids
}

// isMessage reports whether a field has one message.
func isMessage(f protoreflect.FieldDescriptor) bool {
	return f != nil && f.Message() != nil && !f.IsList() && !f.IsMap()
}

// appendShown appends the id of an object in an answer. If the object has no id, it appends the ids of the objects in its fields.
func appendShown(ids []string, shown protoreflect.Message) []string {
	if own := idField(shown); own != nil {
		return appendID(ids, shown.Get(own).String())
	}
	fields := shown.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !isMessage(f) || !shown.Has(f) {
			continue
		}
		part := shown.Get(f).Message()
		if own := idField(part); own != nil {
			ids = appendID(ids, part.Get(own).String())
		}
	}
	return ids
}

// idField returns the field id of an object, or nil if it has no such text field.
func idField(m protoreflect.Message) protoreflect.FieldDescriptor {
	f := m.Descriptor().Fields().ByName("id")
	if f == nil || f.Kind() != protoreflect.StringKind || f.IsList() {
		return nil
	}
	return f
}

// maxSubjectDepth is the number of levels of nested messages in a request that subjectsOf searches for ids.
const maxSubjectDepth = 3

// appendIDs appends the ids in the fields of a message, whatever their names, and of the messages nested at most depth levels deep. It
// recognizes an id by its form. It skips maps.
func appendIDs(ids []string, m protoreflect.Message, depth int) []string {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) {
			continue
		}
		switch v := m.Get(f); {
		case f.IsMap():
		case f.IsList() && f.Kind() == protoreflect.StringKind:
			for n := range v.List().Len() {
				ids = appendID(ids, v.List().Get(n).String())
			}
		case f.Kind() == protoreflect.StringKind:
			ids = appendID(ids, v.String())
		case f.IsList() && f.Message() != nil && depth > 0:
			for n := range v.List().Len() {
				ids = appendIDs(ids, v.List().Get(n).Message(), depth-1)
			}
		case f.Message() != nil && depth > 0:
			ids = appendIDs(ids, v.Message(), depth-1)
		}
	}
	return ids
}

// appendID appends v if it is an id and not in the list.
func appendID(ids []string, v string) []string {
	if !id.IsID(v) || slices.Contains(ids, v) {
		return ids
	}
	return append(ids, v)
}
