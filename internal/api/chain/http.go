package chain

import (
	"context"
	"net"
	"net/http"

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
