package chain

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/message"
)

// Names of HTTP headers, which are also the keys of gRPC metadata.
const (
	HeaderRequestID      = "x-request-id"
	HeaderIdempotencyKey = "idempotency-key"
	HeaderProperty       = "latchkey-property"
	HeaderAutomatic      = "latchkey-automatic" // no person acts, such as at an open page's reload, so it is no use of the credential
	HeaderForwardedFor   = "x-forwarded-for"
	HeaderRetryAfter     = "retry-after"
	HeaderRateLimit      = "ratelimit"
	HeaderRatePolicy     = "ratelimit-policy"
)

// Incoming lists the request headers that are passed to the chain. All other headers are dropped.
var Incoming = [...]string{
	"client-token", "access-token", "api-key", "authorization",
	HeaderIdempotencyKey, HeaderProperty, HeaderAutomatic, HeaderRequestID, HeaderForwardedFor, "if-match", "accept-language",
}

// Outgoing lists the headers that the chain and handlers may send to a caller. REST and Connect drop all others.
var Outgoing = [...]string{
	HeaderRequestID, HeaderRetryAfter, HeaderRateLimit, HeaderRatePolicy,
	"etag", "deprecation", "sunset", "link", "www-authenticate",
}

// handlerHeaders lists the request headers that handlers may read.
var handlerHeaders = [...]string{"if-match", "accept-language"}

// Protocol is the protocol that a call uses, such as gRPC or REST.
type Protocol string

const (
	GRPC    Protocol = "grpc"
	REST    Protocol = "rest"
	Connect Protocol = "connect"
)

// Credentials are the credentials in a call's headers. A field is empty if its header was not sent, or was repeated.
type Credentials struct {
	ClientToken string
	AccessToken string
	APIKey      string
	Bearer      string // Bearer is the token of an Authorization header with the scheme Bearer; empty for another scheme
	UnixSocket  bool   // UnixSocket means that the call arrived over the operators' Unix socket
	Property    string // Property is the value of Latchkey-Property, not verified, which operators on the Unix socket and people send
	Automatic   bool   // Automatic means that no person acts, such as in a stream, so that the call does not count as a use of the credential
}

// Call is the state of one call in the chain.
type Call struct {
	RequestID string
	Method    string // Method is the full method name; shortened if the method is unknown
	Protocol  Protocol
	Client    netip.Addr // Client is the client's address (see clientAddr); zero over a Unix socket

	chain       *Chain
	method      *method
	started     time.Time
	workStarted time.Time   // when the duration for metrics and logs begins: the arrival of the whole message, less admissionTime
	md          metadata.MD // metadata of the request
	header      metadata.MD // header of the answer

	// Results of the admission, the checks before the message is read.
	admissionDone  bool
	admissionTime  time.Duration // duration of the admission; zero if it ran after the message arrived
	actor          actor.Actor   // authenticated caller; zero before authentication
	idempotencyKey string        // value of the Idempotency-Key header; empty if it is missing or the call changes nothing
	refusal        error         // error with which the call is refused; nil if it is accepted

	report   *jsonpb.Report // what the JSON reader found in the request of a unary call; nil for a protobuf request
	request  proto.Message  // message of a unary call
	recorded bool           // the audit log has an entry of the call

	running  bool        // Unary or Stream has begun to handle the call, also if it is refused; with its context, they begin a new call
	arriving bool        // the call is counted as unfinished: see beginArrival
	memory   reservation // the memory that the call has reserved
}

// callKey is the context key of a *Call.
type callKey struct{}

// From returns the call that a context belongs to, or nil.
func From(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// ActionDeadline returns the deadline for an action that a call requests: limit after the call arrived, or ctx's deadline if that is
// earlier. Waiting in the server does not extend it. Without a call in ctx, it counts from now.
func ActionDeadline(ctx context.Context, limit time.Duration) time.Time {
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

// IdempotencyKey returns the Idempotency-Key of a call that changes something, or "".
func (call *Call) IdempotencyKey() string { return call.idempotencyKey }

// SetReport passes to the call what the JSON reader finds in its request. The server calls it before Unary runs the call. The reader can
// fill r later, but before the handler runs.
func (call *Call) SetReport(r *jsonpb.Report) { call.report = r }

// IncompleteBody returns the JSON body of the request if it contains anything that its message cannot represent, else nil: see
// [jsonpb.Report.IncompleteBody].
func (call *Call) IncompleteBody() []byte { return call.report.IncompleteBody() }

// NewCall returns a call that did not run through a chain. It is for tests of handlers and interceptors.
func NewCall(idempotencyKey string, r *jsonpb.Report) *Call {
	return &Call{idempotencyKey: idempotencyKey, report: r, started: time.Now()}
}

// With returns a context from which [From] returns the call.
func (call *Call) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// NewRequestID returns the caller's request id if it is valid, otherwise a new one.
func NewRequestID(sent string) string {
	if isValidRequestID(sent) {
		return sent
	}
	return id.New(id.Request)
}

// isValidRequestID reports whether s is 1 to 128 characters of an ASCII set that is safe in logs and headers.
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

// newCall creates the call for a context that holds the metadata and the peer. Its protocol is gRPC; Admit changes that for other
// protocols.
func (c *Chain) newCall(ctx context.Context, fullMethod string) *Call {
	md, _ := metadata.FromIncomingContext(ctx)
	call := &Call{
		RequestID: NewRequestID(singleValue(md, HeaderRequestID)),
		Method:    fullMethod, Protocol: GRPC,
		chain: c, method: c.findMethod(fullMethod), started: time.Now(), md: md, memory: reservation{chain: c},
	}
	if call.method == unknownMethod {
		call.Method = printableMethod(fullMethod)
	}
	call.header = metadata.MD{HeaderRequestID: {call.RequestID}}
	return call
}

// startCall begins the call that Admit put into the context. If there is none, or it runs already, or it is another chain's or another
// method's, startCall begins a new one. The returned context hides metadata that handlers must not read.
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

// handlerMetadata returns the metadata that handlers may read, or nil if there is none. It drops all other.
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

// singleValue returns the value of a header; "" if the header is missing or repeated.
func singleValue(md metadata.MD, name string) string {
	if v := md[name]; len(v) == 1 {
		return v[0]
	}
	return ""
}

// credentials reads the credentials in the call's headers. ctx holds the peer, which shows a Unix socket.
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
	cr.Property = singleValue(call.md, HeaderProperty)
	cr.Automatic = call.method.streams || len(call.md[HeaderAutomatic]) > 0
	return cr
}

// maxIdempotencyKey is the maximum length of an Idempotency-Key in characters, all ASCII.
const maxIdempotencyKey = 255

// readIdempotencyKey validates and stores the Idempotency-Key of a call. It ignores the header of a call that changes nothing.
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

// maxLanguages is the largest size in bytes of an Accept-Language header. A longer header is ignored.
const maxLanguages = 256

// Language returns the language for the texts of an answer: the first language in the call's Accept-Language header that has texts, else
// the first of more that has texts, else English. gRPC calls send the header as metadata.
func Language(ctx context.Context, more ...string) string {
	md, _ := metadata.FromIncomingContext(ctx)
	accept := singleValue(md, "accept-language")
	if len(accept) > maxLanguages {
		accept = ""
	}
	if accept == "" && len(more) == 0 {
		return message.English
	}
	if language := message.Match(accept, more...); language != "" {
		return language
	}
	return message.English
}

// Reader returns a renderer of texts in the language of a call. It has no time zone, so it is for texts without times.
func Reader(ctx context.Context) message.Reader { return message.Reader{Language: Language(ctx)} }
