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
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
)

// Names of headers, which are also those of gRPC metadata.
const (
	HeaderRequestID      = "x-request-id"
	HeaderIdempotencyKey = "idempotency-key"
	HeaderForwardedFor   = "x-forwarded-for"
	HeaderRetryAfter     = "retry-after"
	HeaderRateLimit      = "ratelimit"
	HeaderRatePolicy     = "ratelimit-policy"
)

// Incoming lists the headers that reach the chain; no other header does.
var Incoming = [...]string{
	"client-token", "access-token", "api-key", "authorization",
	HeaderIdempotencyKey, HeaderRequestID, HeaderForwardedFor, "if-match", "accept-language",
}

// Outgoing lists the headers that the chain and handlers may send to a caller.
var Outgoing = [...]string{
	HeaderRequestID, HeaderRetryAfter, HeaderRateLimit, HeaderRatePolicy,
	"etag", "deprecation", "sunset", "link", "www-authenticate",
}

// passed are the headers that handlers may read from their incoming metadata.
var passed = [...]string{"if-match", "accept-language"}

// Protocol names how a call came in.
type Protocol string

// The protocols of the API.
const (
	GRPC    Protocol = "grpc"
	REST    Protocol = "rest"
	Connect Protocol = "connect"
)

type protocolKey struct{}

// WithProtocol marks the calls of a context as brought by another protocol than gRPC.
func WithProtocol(ctx context.Context, p Protocol) context.Context {
	return context.WithValue(ctx, protocolKey{}, p)
}

// Credentials are what a caller showed. Empty fields were not sent.
type Credentials struct {
	ClientToken string
	AccessToken string
	APIKey      string
	Bearer      string // of Authorization: Bearer
	UnixSocket  bool   // the call came over a Unix socket of ours
}

// Call is what the chain knows of one call.
type Call struct {
	RequestID string
	Method    string // of one that nobody offers, the beginning
	Protocol  Protocol
	Client    netip.Addr // as far as trusted proxies say; zero over a Unix socket

	chain   *Chain
	method  *method
	started time.Time   // when it arrived
	working time.Time   // as started, but for the time that its message took to arrive
	md      metadata.MD // incoming
	header  metadata.MD // outgoing, sent with the answer

	// What the admission found.
	judged bool
	spent  time.Duration // by the admission, if it came before the message
	who    actor.Actor   // once authenticated
	key    string        // the Idempotency-Key
	wrong  error         // why the call is refused; see also Fail

	begun bool   // Unary or Stream runs the call
	slot  func() // gives back the place of a call whose message is awaited; nil: it has none
	room  int64  // what the call holds of Chain.decoding
}

type callKey struct{}

// From returns the call of a context, nil outside of one.
func From(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Until is the moment by which something that a call asks for must be done: most after the call arrived, or the call's own
// deadline, whichever is earlier. What the call waits for meanwhile does not move it.
func Until(ctx context.Context, most time.Duration) time.Time {
	arrived := time.Now()
	if call := From(ctx); call != nil {
		arrived = call.started
	}
	until := arrived.Add(most)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		return deadline
	}
	return until
}

// IdempotencyKey returns the key that the caller sent with a call, "" when none.
func IdempotencyKey(ctx context.Context) string {
	key, _ := ctx.Value(idempotencyKey{}).(string)
	return key
}

// WithIdempotencyKey says which key a call came with; it was checked to be one.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

type idempotencyKey struct{}

// NewRequestID returns the id that a caller sent when it is a sane one, else a new one.
func NewRequestID(sent string) string {
	if saneRequestID(sent) {
		return sent
	}
	return id.New(id.Request)
}

func saneRequestID(s string) bool {
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

// newCall makes the call of a context, which holds the metadata, the peer and the protocol.
func (c *Chain) newCall(ctx context.Context, fullMethod string) *Call {
	md, _ := metadata.FromIncomingContext(ctx)
	call := &Call{
		RequestID: NewRequestID(one(md, HeaderRequestID)),
		Method:    fullMethod, Protocol: GRPC,
		chain: c, method: c.method(fullMethod), started: time.Now(), md: md,
	}
	if call.method == nobody {
		call.Method = shown(fullMethod)
	}
	if p, ok := ctx.Value(protocolKey{}).(Protocol); ok {
		call.Protocol = p
	}
	call.header = metadata.MD{HeaderRequestID: {call.RequestID}}
	return call
}

// begin returns the call that was admitted in a context, or makes one, and the context it runs in.
func (c *Chain) begin(ctx context.Context, fullMethod string) (context.Context, *Call) {
	call := From(ctx)
	if call == nil || call.begun || call.chain != c || call.method != c.method(fullMethod) {
		call = c.newCall(ctx, fullMethod)
		ctx = context.WithValue(ctx, callKey{}, call)
	}
	call.begun = true
	call.working = time.Now().Add(-call.spent)
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewIncomingContext(ctx, only(md))
	}
	return ctx, call
}

// only keeps the metadata that handlers may see.
func only(md metadata.MD) metadata.MD {
	var kept metadata.MD
	for _, k := range passed {
		if v := md[k]; len(v) > 0 {
			if kept == nil {
				kept = metadata.MD{}
			}
			kept[k] = v
		}
	}
	return kept
}

// one returns the only value of a header; a header sent twice is as good as none.
func one(md metadata.MD, name string) string {
	if v := md[name]; len(v) == 1 {
		return v[0]
	}
	return ""
}

func (call *Call) credentials(ctx context.Context) Credentials {
	cr := Credentials{
		ClientToken: one(call.md, "client-token"),
		AccessToken: one(call.md, "access-token"),
		APIKey:      one(call.md, "api-key"),
	}
	if scheme, token, ok := strings.Cut(one(call.md, "authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
		cr.Bearer = strings.TrimSpace(token)
	}
	if p, ok := peer.FromContext(ctx); ok {
		_, cr.UnixSocket = p.Addr.(*net.UnixAddr)
	}
	return cr
}

// maxKey is the longest Idempotency-Key.
const maxKey = 255

// takeKey takes the Idempotency-Key of a call that changes something.
func (c *Chain) takeKey(_ context.Context, call *Call) error {
	values := call.md[HeaderIdempotencyKey]
	if len(values) == 0 || !call.method.access.GetMutates() {
		return nil
	}
	key := values[0]
	ok := len(values) == 1 && len(key) > 0 && len(key) <= maxKey
	for i := range len(key) {
		ok = ok && key[i] > ' ' && key[i] < 0x7f
	}
	if !ok {
		return fault.Fields(fault.Field{Path: "Idempotency-Key", Reason: fault.BadFormat, Message: "must be sent once, as 1 to 255 printable ASCII characters without blanks"})
	}
	call.key = key
	return nil
}
