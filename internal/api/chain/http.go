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

// FromHTTP returns the context of a call over HTTP, with the remote address and the TLS state.
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

// remoteAddr is a net.Addr of a string that is parsed only if needed.
type remoteAddr string

func (remoteAddr) Network() string  { return "tcp" }
func (a remoteAddr) String() string { return string(a) }

// TooSlow returns the fault for a request whose body does not arrive in time.
func TooSlow() *fault.Fault {
	return fault.New(fault.Deadline, fault.BodyTooSlow, "the body did not arrive in time, and nothing was changed: send the request again without pauses")
}

// MaxDiscard bounds the bytes of an unwanted body that are read and discarded. Reading them lets the sender receive the
// answer instead of a broken connection.
const MaxDiscard = 8 << 20

// discardTimeout is how long the body of a refused request may take to arrive.
const discardTimeout = 2 * time.Second

// Discard reads and discards the body of a refused request, and reports whether it timed out. A body beyond MaxDiscard
// breaks the connection. A sender that waits for "100 Continue" does not get it.
func Discard(w http.ResponseWriter, r *http.Request) (late bool) {
	if r.Body == nil || strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return false
	}
	// Only writers in tests do not support deadlines.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(discardTimeout))
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

// MetadataOf returns the headers of a request that are passed to the chain.
func MetadataOf(h http.Header) metadata.MD {
	md := make(metadata.MD, 4)
	for _, name := range incoming {
		if v := h[name.http]; len(v) > 0 {
			md[name.metadata] = v
		}
	}
	return md
}

// CopyHeader copies the headers that are passed to the caller.
func CopyHeader(to http.Header, md metadata.MD) {
	for _, name := range outgoing {
		if v := md[name.metadata]; len(v) > 0 {
			to[name.http] = v
		}
	}
}
