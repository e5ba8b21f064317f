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

// FromHTTP returns the context of an HTTP call with the client's address and TLS state, in the form that gRPC uses.
func FromHTTP(ctx context.Context, r *http.Request) context.Context {
	from := &peer.Peer{Addr: remoteAddr(r.RemoteAddr)}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr); ok {
		from.Addr = local
	}
	if r.TLS != nil {
		from.AuthInfo = credentials.TLSInfo{State: *r.TLS}
	}
	return peer.NewContext(ctx, from)
}

// remoteAddr is a net.Addr made of an unparsed string, because most calls do not need the parsed address.
type remoteAddr string

func (remoteAddr) Network() string  { return "tcp" }
func (a remoteAddr) String() string { return string(a) }

// TooSlow returns the fault for a request whose body does not arrive in time.
func TooSlow() *fault.Fault {
	return fault.New(fault.Deadline, fault.BodyTooSlow, "the body did not arrive in time, and nothing was changed: send the request again without pauses")
}

// MaxDiscard is how many bytes of a refused body are read and discarded. Without reading them, the sender would see a broken connection in
// place of the answer.
const MaxDiscard = 8 << 20

// discardTimeout is how long Discard waits for the body of a refused request.
const discardTimeout = 2 * time.Second

// Discard reads and discards the body of a refused request. late reports whether discardTimeout was exceeded. After a body larger than
// MaxDiscard, the HTTP server closes the connection. Discard reads nothing from a sender that waits for "100 Continue".
func Discard(w http.ResponseWriter, r *http.Request) (late bool) {
	if r.Body == nil || strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return false
	}
	// Only response writers in tests do not support deadlines.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(discardTimeout))
	_, err := io.Copy(io.Discard, io.LimitReader(r.Body, MaxDiscard))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// header is a header's name in HTTP and in gRPC metadata.
type header struct{ http, metadata string }

var incoming, outgoing = headers(Incoming[:]), headers(Outgoing[:])

// headers adds to each name of gRPC metadata its spelling in HTTP.
func headers(list []string) []header {
	out := make([]header, 0, len(list))
	for _, name := range list {
		out = append(out, header{http.CanonicalHeaderKey(name), name})
	}
	return out
}

// MetadataOf returns the request headers in Incoming as gRPC metadata. It drops all others.
func MetadataOf(h http.Header) metadata.MD {
	md := make(metadata.MD, 4)
	for _, name := range incoming {
		if v := h[name.http]; len(v) > 0 {
			md[name.metadata] = v
		}
	}
	return md
}

// CopyHeader copies the headers of an answer that are in Outgoing, in place of those in to. It drops all others.
func CopyHeader(to http.Header, md metadata.MD) {
	for _, name := range outgoing {
		if v := md[name.metadata]; len(v) > 0 {
			to[name.http] = v
		}
	}
}
