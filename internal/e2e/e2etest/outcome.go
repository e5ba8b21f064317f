package e2etest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	errorsv1 "latchkey.dev/gen/latchkey/errors/v1"
)

// Outcome is the answer to an API call: its status, and the reply or the error.
type Outcome struct {
	Code      codes.Code
	HTTP      int // HTTP is the status of REST and Connect; 0 for gRPC
	Header    http.Header
	Reason    string
	Message   string
	Fields    map[string]string // Fields maps the path of each invalid field to its reason
	RequestID string
	Reply     proto.Message // Reply is nil if the call failed or only its status was decoded
	Raw       []byte        // Raw is the body of a REST or Connect answer, or the encoded reply to CallRaw
}

// OK reports whether the call succeeded.
func (o Outcome) OK() bool { return o.Code == codes.OK }

// WrongFields returns the paths of the fields that the server refused, sorted.
func (o Outcome) WrongFields() []string {
	out := make([]string, 0, len(o.Fields))
	for f := range o.Fields {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

// String formats the outcome for messages of tests.
func (o Outcome) String() string {
	return fmt.Sprintf("%s %d %s %v %s", o.Code, o.HTTP, o.Reason, o.Fields, o.Message)
}

// Data returns the "data" object of a REST answer, or nil if there is none.
func (o Outcome) Data() map[string]any {
	var b struct {
		Data map[string]any `json:"data"`
	}
	_ = json.Unmarshal(o.Raw, &b)
	return b.Data
}

// readDetails sets the reason, the request id and the wrong fields from the details of a gRPC error.
func (o *Outcome) readDetails(details []*anypb.Any) error {
	for _, d := range details {
		m, err := d.UnmarshalNew()
		if err != nil {
			return fmt.Errorf("detail %s: %w", d.GetTypeUrl(), err)
		}
		switch m := m.(type) {
		case *errdetails.ErrorInfo:
			o.Reason = m.GetReason()
		case *errdetails.RequestInfo:
			o.RequestID = m.GetRequestId()
		case *errdetails.BadRequest:
			o.Fields = map[string]string{}
			for _, v := range m.GetFieldViolations() {
				o.Fields[v.GetField()] = v.GetReason()
			}
		}
	}
	return nil
}

// ReadEnvelope decodes the status of a REST answer. It sets the gRPC code and, if the status is not 2xx, what the error envelope says. It
// fails if the envelope is missing or contradicts itself or the status. It does not decode a reply: see Data.
func (o *Outcome) ReadEnvelope() error {
	if o.HTTP >= 200 && o.HTTP < 300 {
		o.Code = codes.OK
		return nil
	}
	var b struct {
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(o.Raw, &b); err != nil || b.Error == nil {
		return fmt.Errorf("status %d without the envelope of an error: %.200q", o.HTTP, o.Raw)
	}
	var e errorsv1.Error
	if err := protojson.Unmarshal(b.Error, &e); err != nil {
		return fmt.Errorf("status %d, envelope %.200q: %w", o.HTTP, b.Error, err)
	}
	if int(e.GetStatus()) != o.HTTP {
		return fmt.Errorf("the envelope says %d and the status line %d", e.GetStatus(), o.HTTP)
	}
	o.Code, o.Message = codes.Code(e.GetCode()), e.GetMessage()
	if err := o.readDetails(e.GetDetails()); err != nil {
		return err
	}
	if e.GetReason() != o.Reason || e.GetRequestId() != o.RequestID {
		return fmt.Errorf("the envelope and its details disagree: %.300q", b.Error)
	}
	return nil
}

// readREST decodes the REST answer in Raw. If the call succeeded, it decodes the reply of the RPC r, otherwise the error: see ReadEnvelope.
// Its own error means that the answer is not valid.
func (o *Outcome) readREST(r RPC) error {
	if err := o.ReadEnvelope(); err != nil || !o.OK() {
		return err
	}
	o.Reply = r.Reply()
	if err := protojson.Unmarshal(o.Raw, o.Reply); err != nil {
		return fmt.Errorf("%s answered what it does not declare: %w: %.200q", r.Name, err, o.Raw)
	}
	return nil
}

// connectCodes maps the error codes of the Connect protocol to those of gRPC.
var connectCodes = map[string]codes.Code{
	"canceled": codes.Canceled, "unknown": codes.Unknown, "invalid_argument": codes.InvalidArgument,
	"deadline_exceeded": codes.DeadlineExceeded, "not_found": codes.NotFound, "already_exists": codes.AlreadyExists,
	"permission_denied": codes.PermissionDenied, "resource_exhausted": codes.ResourceExhausted,
	"failed_precondition": codes.FailedPrecondition, "aborted": codes.Aborted, "out_of_range": codes.OutOfRange,
	"unimplemented": codes.Unimplemented, "internal": codes.Internal, "unavailable": codes.Unavailable,
	"data_loss": codes.DataLoss, "unauthenticated": codes.Unauthenticated,
}

// ReadConnect decodes the answer in Raw to a unary Connect call of the RPC. The answer of a server without the service gives the code
// Unimplemented and no error.
func (o *Outcome) ReadConnect(r RPC) error {
	if o.HTTP == http.StatusOK {
		o.Code, o.Reply = codes.OK, r.Reply()
		if err := protojson.Unmarshal(o.Raw, o.Reply); err != nil {
			return fmt.Errorf("%s answered what it does not declare: %w: %.200q", r.Name, err, o.Raw)
		}
		return nil
	}
	var e struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Details []struct {
			Type  string `json:"type"`
			Value string `json:"value"`
		} `json:"details"`
	}
	if err := json.Unmarshal(o.Raw, &e); err != nil {
		if o.HTTP == http.StatusNotFound { // the server has no such service
			o.Code = codes.Unimplemented
			return nil
		}
		return fmt.Errorf("status %d without an error of Connect: %.200q", o.HTTP, o.Raw)
	}
	code, ok := connectCodes[e.Code]
	if !ok {
		return o.readUnserved()
	}
	o.Code, o.Message = code, e.Message
	var details []*anypb.Any
	for _, d := range e.Details {
		raw, err := base64.RawStdEncoding.DecodeString(d.Value)
		if err != nil {
			return fmt.Errorf("detail %s: %w", d.Type, err)
		}
		details = append(details, &anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type, Value: raw})
	}
	return o.readDetails(details)
}

// readUnserved decodes the REST error with which the server answers a Connect call to an unknown service, and sets the code Unimplemented.
// Another REST error keeps its own code.
func (o *Outcome) readUnserved() error {
	if err := o.ReadEnvelope(); err != nil {
		return err
	}
	if o.HTTP == http.StatusNotFound && o.Reason == "routeNotFound" {
		o.Code = codes.Unimplemented
	}
	return nil
}

// GRPCOutcome converts the error of a gRPC client, or nil, to an Outcome. It fails only if details of the error cannot be decoded.
func GRPCOutcome(err error) (Outcome, error) {
	st := status.Convert(err)
	o := Outcome{Code: st.Code(), Message: st.Message()}
	return o, o.readDetails(st.Proto().GetDetails())
}

// ConnectOutcome converts the error of a Connect client, which must not be nil, to an Outcome. It fails only if details of the error cannot
// be decoded.
func ConnectOutcome(err error) (Outcome, error) {
	o := Outcome{Code: codes.Code(connect.CodeOf(err)), Message: err.Error()}
	var e *connect.Error
	if !errors.As(err, &e) {
		return o, nil
	}
	var details []*anypb.Any
	for _, d := range e.Details() {
		details = append(details, &anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type(), Value: d.Bytes()})
	}
	return o, o.readDetails(details)
}
