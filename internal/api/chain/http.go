package chain

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"latchkey.dev/internal/fault"
)

// FromHTTP returns the context of a call that a protocol on top of HTTP brought: it knows the
// protocol, the other end of the connection and its certificate.
func FromHTTP(ctx context.Context, r *http.Request, p Protocol) context.Context {
	from := &peer.Peer{Addr: address(r.RemoteAddr)}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr); ok {
		from.Addr = local
	}
	if r.TLS != nil {
		from.AuthInfo = credentials.TLSInfo{State: *r.TLS}
	}
	return WithProtocol(peer.NewContext(ctx, from), p)
}

// address is a net.Addr that is parsed by whoever wants to know.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// TooSlow is the fault of a request whose body stops coming until the server's patience ends.
func TooSlow() *fault.Fault {
	return fault.New(fault.Deadline, fault.BodyTooSlow, "the body did not come in time, and nothing was done: send it again, all of it at once")
}

// MaxDiscard bounds how much of a body that nobody wants is read and thrown away, so that its sender gets to read the answer
// instead of a broken connection.
const MaxDiscard = 8 << 20

// patience is how long the body of a refused request may take to arrive.
const patience = 2 * time.Second

// Discard reads and throws away the body of a refused request, and reports whether it did not arrive in time. A sender that
// goes on beyond that is cut off; one that waits for leave to send its body gets none.
func Discard(w http.ResponseWriter, r *http.Request) (late bool) {
	if r.Body == nil || strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return false
	}
	// A writer that has no deadlines is that of a test.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience))
	_, err := io.Copy(io.Discard, io.LimitReader(r.Body, MaxDiscard))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

type header struct{ http, metadata string }

var incoming, outgoing = headers(Incoming[:]), headers(Outgoing[:])

func headers(list []string) []header {
	out := make([]header, 0, len(list))
	for _, name := range list {
		out = append(out, header{http.CanonicalHeaderKey(name), name})
	}
	return out
}

// MetadataOf returns those headers of a request that may reach the chain.
func MetadataOf(h http.Header) metadata.MD {
	md := make(metadata.MD, 4)
	for _, name := range incoming {
		if v := h[name.http]; len(v) > 0 {
			md[name.metadata] = v
		}
	}
	return md
}

// CopyHeader copies those headers of an answer that may reach the caller.
func CopyHeader(to http.Header, md metadata.MD) {
	for _, name := range outgoing {
		if v := md[name.metadata]; len(v) > 0 {
			to[name.http] = v
		}
	}
}
