package chain

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
)

// Names of headers, which are also those of gRPC metadata.
const (
	HeaderRequestID      = "x-request-id"
	HeaderIdempotencyKey = "idempotency-key"
	HeaderProperty       = "latchkey-property"
	HeaderForwardedFor   = "x-forwarded-for"
	HeaderRetryAfter     = "retry-after"
	HeaderRateLimit      = "ratelimit"
	HeaderRatePolicy     = "ratelimit-policy"
)

// Incoming lists the headers that reach the chain; no other header does.
var Incoming = [...]string{
	"client-token", "access-token", "api-key", "authorization",
	HeaderIdempotencyKey, HeaderProperty, HeaderRequestID, HeaderForwardedFor, "if-match", "accept-language",
}

// Outgoing lists the headers that the chain and handlers may send to a caller.
var Outgoing = [...]string{
	HeaderRequestID, HeaderRetryAfter, HeaderRateLimit, HeaderRatePolicy,
	"etag", "deprecation", "sunset", "link", "www-authenticate",
}

// handlerHeaders are the headers that handlers can read from the incoming metadata.
var handlerHeaders = [...]string{"if-match", "accept-language"}

// Protocol is the protocol of a call.
type Protocol string

// The protocols of the API.
const (
	GRPC    Protocol = "grpc"
	REST    Protocol = "rest"
	Connect Protocol = "connect"
)

// Credentials are the credentials in a call's headers. A field is empty if its header was not sent.
type Credentials struct {
	ClientToken string
	AccessToken string
	APIKey      string
	Bearer      string // of Authorization: Bearer
	UnixSocket  bool   // the call came over the operators' Unix socket
	Property    string // that the operator works for; over a Unix socket alone
}

// Call is the state of one call in the chain.
type Call struct {
	RequestID string
	Method    string // full name; shortened if the method is unknown
	Protocol  Protocol
	Client    netip.Addr // see clientAddr; zero over a Unix socket
	// Report is what was found while reading a request in JSON; nil for a request in protobuf. The reader of the request sets it
	// before Unary runs the call.
	Report *jsonpb.Report

	chain       *Chain
	method      *method
	started     time.Time   // when the call arrived
	workStarted time.Time   // started, plus the time that the message took to arrive
	md          metadata.MD // incoming
	header      metadata.MD // outgoing, sent with the answer

	// Set by the admission.
	admissionDone  bool
	admissionTime  time.Duration // duration of the admission, if it ran before the message arrived
	actor          actor.Actor   // zero until authenticated
	idempotencyKey string        // value of Idempotency-Key
	refusal        error         // why the call is refused; nil if it is admitted

	running     bool   // Unary or Stream has started the call
	releaseSlot func() // nil if the call is not counted as unfinished
	reserved    int64  // bytes held of Chain.decodeMemory
}

type callKey struct{}

// From returns the call of a context, or nil.
func From(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Until returns the deadline of an action that a call requests: limit after the call arrived, or the call's own
// deadline if that is earlier. Time that the call spends waiting does not extend it.
func Until(ctx context.Context, limit time.Duration) time.Time {
	arrived := time.Now()
	if call := From(ctx); call != nil {
		arrived = call.started
	}
	until := arrived.Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		return deadline
	}
	return until
}

// IdempotencyKey returns the idempotency key of the call, or "".
func IdempotencyKey(ctx context.Context) string {
	if call := From(ctx); call != nil {
		return call.idempotencyKey
	}
	return ""
}

// ReportOf returns what was found while reading the request of a call, or nil for a request in protobuf.
func ReportOf(ctx context.Context) *jsonpb.Report {
	if call := From(ctx); call != nil {
		return call.Report
	}
	return nil
}

// WithCall returns the context of a call that did not pass a chain, with an idempotency key and a report. It is for tests of handlers.
func WithCall(ctx context.Context, idempotencyKey string, r *jsonpb.Report) context.Context {
	return context.WithValue(ctx, callKey{}, &Call{idempotencyKey: idempotencyKey, Report: r, started: time.Now()})
}

// NewRequestID returns the request id that the caller sent if it is valid, and otherwise a new one.
func NewRequestID(sent string) string {
	if isValidRequestID(sent) {
		return sent
	}
	return id.New(id.Request)
}

func isValidRequestID(s string) bool {
	if len(s) == 0 || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.:/+=", c) >= 0) {
			return false
		}
	}
	return true
}

// newCall creates the call of a context that holds the metadata and the peer. It is a gRPC call unless it is admitted as another.
func (c *Chain) newCall(ctx context.Context, fullMethod string) *Call {
	md, _ := metadata.FromIncomingContext(ctx)
	call := &Call{
		RequestID: NewRequestID(singleValue(md, HeaderRequestID)),
		Method:    fullMethod, Protocol: GRPC,
		chain: c, method: c.findMethod(fullMethod), started: time.Now(), md: md,
	}
	if call.method == unknownMethod {
		call.Method = printableMethod(fullMethod)
	}
	call.header = metadata.MD{HeaderRequestID: {call.RequestID}}
	return call
}

// startCall starts the call that was admitted in the context. Without one, it creates a call and adds it to the
// context.
func (c *Chain) startCall(ctx context.Context, fullMethod string) (context.Context, *Call) {
	call := From(ctx)
	if call == nil || call.running || call.chain != c || call.method != c.findMethod(fullMethod) {
		call = c.newCall(ctx, fullMethod)
		ctx = context.WithValue(ctx, callKey{}, call)
	}
	call.running = true
	call.workStarted = time.Now().Add(-call.admissionTime)
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewIncomingContext(ctx, handlerMetadata(md))
	}
	return ctx, call
}

// handlerMetadata returns only the metadata that handlers can read.
func handlerMetadata(md metadata.MD) metadata.MD {
	var kept metadata.MD
	for _, k := range handlerHeaders {
		if v := md[k]; len(v) > 0 {
			if kept == nil {
				kept = metadata.MD{}
			}
			kept[k] = v
		}
	}
	return kept
}

// singleValue returns the value of a header, or "" if the header was sent more than once.
func singleValue(md metadata.MD, name string) string {
	if v := md[name]; len(v) == 1 {
		return v[0]
	}
	return ""
}

func (call *Call) credentials(ctx context.Context) Credentials {
	cr := Credentials{
		ClientToken: singleValue(call.md, "client-token"),
		AccessToken: singleValue(call.md, "access-token"),
		APIKey:      singleValue(call.md, "api-key"),
	}
	if scheme, token, ok := strings.Cut(singleValue(call.md, "authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
		cr.Bearer = strings.TrimSpace(token)
	}
	if p, ok := peer.FromContext(ctx); ok {
		_, cr.UnixSocket = p.Addr.(*net.UnixAddr)
	}
	if cr.UnixSocket {
		cr.Property = singleValue(call.md, HeaderProperty)
	}
	return cr
}

// maxIdempotencyKey is the maximum length of an Idempotency-Key.
const maxIdempotencyKey = 255

// readIdempotencyKey validates and stores the Idempotency-Key of a call that changes something.
func (c *Chain) readIdempotencyKey(_ context.Context, call *Call) error {
	values := call.md[HeaderIdempotencyKey]
	if len(values) == 0 || !call.method.access.GetMutates() {
		return nil
	}
	key := values[0]
	ok := len(values) == 1 && len(key) > 0 && len(key) <= maxIdempotencyKey
	for i := range len(key) {
		ok = ok && key[i] > ' ' && key[i] < 0x7f
	}
	if !ok {
		return fault.Fields(fault.Field{Path: "Idempotency-Key", Reason: fault.BadFormat, Message: "must be sent once, as 1 to 255 printable ASCII characters without spaces"})
	}
	call.idempotencyKey = key
	return nil
}
