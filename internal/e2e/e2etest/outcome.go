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

// Outcome is what came of a call.
type Outcome struct {
	Code      codes.Code
	HTTP      int // of REST and Connect
	Header    http.Header
	Reason    string
	Message   string
	Fields    map[string]string // reason by path
	RequestID string
	Reply     proto.Message // of a call that went well
	Raw       []byte        // of REST and Connect
}

// OK says whether the call went well.
func (o Outcome) OK() bool { return o.Code == codes.OK }

// Named lists the wrong fields, sorted.
func (o Outcome) Named() []string {
	out := make([]string, 0, len(o.Fields))
	for f := range o.Fields {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

func (o Outcome) String() string {
	return fmt.Sprintf("%s %d %s %v %s", o.Code, o.HTTP, o.Reason, o.Fields, o.Message)
}

// Data is the data of an answer over REST.
func (o Outcome) Data() map[string]any {
	var b struct {
		Data map[string]any `json:"data"`
	}
	_ = json.Unmarshal(o.Raw, &b)
	return b.Data
}

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

// ReadEnvelope reads the error of REST, and of an answer that is none takes the code.
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

// connectCodes are the words of the Connect protocol.
var connectCodes = map[string]codes.Code{
	"canceled": codes.Canceled, "unknown": codes.Unknown, "invalid_argument": codes.InvalidArgument,
	"deadline_exceeded": codes.DeadlineExceeded, "not_found": codes.NotFound, "already_exists": codes.AlreadyExists,
	"permission_denied": codes.PermissionDenied, "resource_exhausted": codes.ResourceExhausted,
	"failed_precondition": codes.FailedPrecondition, "aborted": codes.Aborted, "out_of_range": codes.OutOfRange,
	"unimplemented": codes.Unimplemented, "internal": codes.Internal, "unavailable": codes.Unavailable,
	"data_loss": codes.DataLoss, "unauthenticated": codes.Unauthenticated,
}

// ReadConnect reads the answer of a unary Connect call.
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
		if o.HTTP == http.StatusNotFound { // a service that is not there at all
			o.Code = codes.Unimplemented
			return nil
		}
		return fmt.Errorf("status %d without an error of Connect: %.200q", o.HTTP, o.Raw)
	}
	code, ok := connectCodes[e.Code]
	if !ok {
		return o.notServed()
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

// notServed reads an answer to a Connect call that REST gave, because no Connect service took it.
func (o *Outcome) notServed() error {
	if err := o.ReadEnvelope(); err != nil {
		return err
	}
	if o.HTTP == http.StatusNotFound && o.Reason == "routeNotFound" {
		o.Code = codes.Unimplemented
	}
	return nil
}

// OfGRPC is the outcome that an error of a gRPC client stands for.
func OfGRPC(err error) (Outcome, error) {
	st := status.Convert(err)
	o := Outcome{Code: st.Code(), Message: st.Message()}
	return o, o.readDetails(st.Proto().GetDetails())
}

// OfConnect is the outcome that an error of a Connect client stands for.
func OfConnect(err error) (Outcome, error) {
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
