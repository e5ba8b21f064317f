// Package envelope converts faults to gRPC statuses and to the error objects of REST.
package envelope

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	errorsv1 "latchkey.dev/gen/latchkey/errors/v1"
	"latchkey.dev/internal/fault"
)

// domain is the domain of every ErrorInfo.
const domain = "latchkey.dev"

// retryUnavailable is the Retry-After of faults of the kind Unavailable that have none.
const retryUnavailable = 5 * time.Second

// MaxViolations bounds the invalid fields that one answer lists.
const MaxViolations = 200

// Error codes of REST that gRPC does not have.
const (
	codeMethodNotAllowed = 17
	codeNotAcceptable    = 18
)

// kinds maps a kind of fault to its gRPC code and its default reason.
var kinds = map[fault.Kind]struct {
	code   codes.Code
	reason fault.Reason
}{
	fault.Internal:         {codes.Internal, fault.InternalError},
	fault.Invalid:          {codes.InvalidArgument, fault.InvalidFields},
	fault.Unauthenticated:  {codes.Unauthenticated, fault.InvalidCredentials},
	fault.Denied:           {codes.PermissionDenied, fault.ScopeMissing},
	fault.NotFound:         {codes.NotFound, fault.NotFoundReason},
	fault.Exists:           {codes.AlreadyExists, fault.AlreadyExists},
	fault.Aborted:          {codes.Aborted, fault.EtagMismatch},
	fault.Precondition:     {codes.FailedPrecondition, fault.InUse},
	fault.Exhausted:        {codes.ResourceExhausted, fault.RateLimited},
	fault.Unavailable:      {codes.Unavailable, fault.UnavailableReason},
	fault.Deadline:         {codes.DeadlineExceeded, fault.DeadlineExceeded},
	fault.Canceled:         {codes.Canceled, fault.CanceledReason},
	fault.Unimplemented:    {codes.Unimplemented, fault.UnimplementedReason},
	fault.MethodNotAllowed: {codes.Unimplemented, fault.MethodNotAllowedReason},
	fault.NotAcceptable:    {codes.InvalidArgument, fault.NotAcceptableReason},
}

// titles maps a code to its title and HTTP status.
var titles = map[int32]struct {
	title string
	http  int
}{
	int32(codes.Canceled):           {"CANCELED", 499},
	int32(codes.Unknown):            {"UNKNOWN", http.StatusInternalServerError},
	int32(codes.InvalidArgument):    {"INVALID_ARGUMENT", http.StatusBadRequest},
	int32(codes.DeadlineExceeded):   {"DEADLINE_EXCEEDED", http.StatusGatewayTimeout},
	int32(codes.NotFound):           {"NOT_FOUND", http.StatusNotFound},
	int32(codes.AlreadyExists):      {"ALREADY_EXISTS", http.StatusConflict},
	int32(codes.PermissionDenied):   {"PERMISSION_DENIED", http.StatusForbidden},
	int32(codes.ResourceExhausted):  {"RESOURCE_EXHAUSTED", http.StatusTooManyRequests},
	int32(codes.FailedPrecondition): {"FAILED_PRECONDITION", http.StatusConflict},
	int32(codes.Aborted):            {"ABORTED", http.StatusConflict},
	int32(codes.OutOfRange):         {"OUT_OF_RANGE", http.StatusBadRequest},
	int32(codes.Unimplemented):      {"UNIMPLEMENTED", http.StatusNotImplemented},
	int32(codes.Internal):           {"INTERNAL", http.StatusInternalServerError},
	int32(codes.Unavailable):        {"UNAVAILABLE", http.StatusServiceUnavailable},
	int32(codes.DataLoss):           {"DATA_LOSS", http.StatusInternalServerError},
	int32(codes.Unauthenticated):    {"UNAUTHORIZED", http.StatusUnauthorized},
	codeMethodNotAllowed:            {"METHOD_NOT_ALLOWED", http.StatusMethodNotAllowed},
	codeNotAcceptable:               {"NOT_ACCEPTABLE", http.StatusNotAcceptable},
}

// Status returns the gRPC status of a fault with all details (of wrong fields at most MaxViolations), and with the default reason of its
// kind if it has none. An empty requestID is left out.
func Status(f *fault.Fault, requestID string) *status.Status {
	row := kinds[f.Kind]
	reason := f.Reason
	if reason == "" {
		reason = row.reason
	}
	details := []protoadapt.MessageV1{protoadapt.MessageV1Of(&errdetails.ErrorInfo{Reason: string(reason), Domain: domain, Metadata: f.Meta})}
	if len(f.Fields) > 0 {
		details = append(details, protoadapt.MessageV1Of(badRequest(f.Fields)))
	}
	if d := RetryAfter(f); d > 0 {
		details = append(details, protoadapt.MessageV1Of(&errdetails.RetryInfo{RetryDelay: durationpb.New(d)}))
	}
	if reason == fault.RateLimited {
		details = append(details, protoadapt.MessageV1Of(&errdetails.QuotaFailure{
			Violations: []*errdetails.QuotaFailure_Violation{{Subject: f.Meta["quota"], Description: f.Message}},
		}))
	}
	if requestID != "" {
		details = append(details, protoadapt.MessageV1Of(&errdetails.RequestInfo{RequestId: requestID}))
	}
	st := status.New(row.code, f.Message)
	if full, err := st.WithDetails(details...); err == nil {
		return full
	}
	return st
}

// badRequest converts wrong fields to a gRPC error detail, at most MaxViolations.
func badRequest(fields []fault.Field) *errdetails.BadRequest {
	br := &errdetails.BadRequest{}
	for _, f := range fields[:min(len(fields), MaxViolations)] {
		br.FieldViolations = append(br.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: f.Path, Description: f.Message, Reason: string(f.Reason),
		})
	}
	return br
}

// RetryAfter returns how long to wait before retrying a call that failed with a fault: what the fault says, else 5 s (retryUnavailable) for
// the kind Unavailable, and else 0, which means no advice.
func RetryAfter(f *fault.Fault) time.Duration {
	if f.RetryAfter == 0 && f.Kind == fault.Unavailable {
		return retryUnavailable
	}
	return f.RetryAfter
}

// Of returns the error object of REST for a fault.
func Of(f *fault.Fault, requestID string) *errorsv1.Error {
	e := OfStatus(Status(f, requestID))
	switch f.Kind {
	case fault.MethodNotAllowed:
		e.Code = codeMethodNotAllowed
	case fault.NotAcceptable:
		e.Code = codeNotAcceptable
	default:
		return e
	}
	row := titles[e.GetCode()]
	e.Title, e.Status = row.title, int32(row.http)
	return e
}

// OfStatus returns the error object of REST for a status that [Status] created. The reasons BodyTooLarge and BodyTooSlow have HTTP statuses
// of their own.
func OfStatus(st *status.Status) *errorsv1.Error {
	row, ok := titles[int32(st.Code())]
	if !ok {
		row = titles[int32(codes.Unknown)]
	}
	e := &errorsv1.Error{
		Code: int32(st.Code()), Title: row.title, Message: st.Message(), Status: int32(row.http),
		Details: st.Proto().GetDetails(),
	}
	for _, d := range e.GetDetails() {
		readDetail(e, d)
	}
	switch fault.Reason(e.GetReason()) {
	case fault.BodyTooLarge:
		e.Status = http.StatusRequestEntityTooLarge
	case fault.BodyTooSlow:
		e.Status = http.StatusRequestTimeout
	}
	return e
}

// readDetail copies the reason or the request id from a detail of a status to e. It ignores a detail of another type, or one that cannot be
// decoded.
func readDetail(e *errorsv1.Error, d *anypb.Any) {
	var reason errdetails.ErrorInfo
	var request errdetails.RequestInfo
	switch {
	case d.MessageIs(&reason) && proto.Unmarshal(d.GetValue(), &reason) == nil:
		e.Reason = reason.GetReason()
	case d.MessageIs(&request) && proto.Unmarshal(d.GetValue(), &request) == nil:
		e.RequestId = request.GetRequestId()
	}
}

// Row is one row of the table of error codes in the API reference.
type Row struct {
	Status int // Status is the HTTP status
	Code   int32
	Title  string
	Reason fault.Reason // Reason is set if only one reason has this status
}

// Table returns every error code that an answer can have, sorted by HTTP status and code, for the reference page.
func Table() []Row {
	rows := make([]Row, 0, len(titles))
	for code, row := range titles {
		rows = append(rows, Row{Status: row.http, Code: code, Title: row.title})
	}
	for _, f := range []*fault.Fault{fault.New(fault.Exhausted, fault.BodyTooLarge, ""), fault.New(fault.Deadline, fault.BodyTooSlow, "")} {
		e := Of(f, "")
		rows = append(rows, Row{int(e.GetStatus()), e.GetCode(), e.GetTitle(), f.Reason})
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code)) })
	return rows
}

// kindsByCode maps the gRPC code of a call to the kind of its fault. An unimplemented method counts as unavailable, because a caller
// cannot distinguish it from an outage. Other codes count as Internal.
var kindsByCode = map[codes.Code]fault.Kind{
	codes.InvalidArgument: fault.Invalid, codes.Unauthenticated: fault.Unauthenticated, codes.PermissionDenied: fault.Denied, codes.NotFound: fault.NotFound,
	codes.AlreadyExists: fault.Exists, codes.Aborted: fault.Aborted, codes.FailedPrecondition: fault.Precondition, codes.OutOfRange: fault.Invalid,
	codes.ResourceExhausted: fault.Exhausted, codes.Unavailable: fault.Unavailable, codes.DeadlineExceeded: fault.Deadline, codes.Canceled: fault.Canceled,
	codes.Unimplemented: fault.Unavailable,
}

// FaultOf returns the fault with which a gRPC call failed. It is the inverse of [Status], but an unimplemented method and MethodNotAllowed
// become Unavailable, NotAcceptable becomes Invalid, and an unknown code Internal. It returns a fault in err's chain unchanged. err must
// not be nil.
func FaultOf(err error) *fault.Fault {
	if own := (*fault.Fault)(nil); errors.As(err, &own) {
		return own
	}
	st := status.Convert(err)
	f := fault.New(kindsByCode[st.Code()], "", "")
	f.Message = st.Message()
	for _, detail := range st.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			f.Reason, f.Meta = fault.Reason(d.GetReason()), d.GetMetadata()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				f.Fields = append(f.Fields, fault.Field{Path: v.GetField(), Reason: fault.Reason(v.GetReason()), Message: v.GetDescription()})
			}
		case *errdetails.RetryInfo:
			f.RetryAfter = d.GetRetryDelay().AsDuration()
		}
	}
	return f
}
