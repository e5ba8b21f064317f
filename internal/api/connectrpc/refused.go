package connectrpc

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"latchkey.dev/internal/api/body"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/inproc"
	"latchkey.dev/internal/fault"
)

// refused has the chain refuse a request of which there is no message: it says who may be told, counts it and writes it down.
func (h *Handler) refused(r *http.Request, f *fault.Fault) error {
	full := r.URL.Path
	sts := inproc.NewTransport(full)
	ctx := grpc.NewContextWithServerTransportStream(r.Context(), sts)
	ctx = body.With(ctx, &body.Report{Fault: f})
	_, err := h.unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: full}, func(context.Context, any) (any, error) { return nil, f })
	return translate(err, sts.Header())
}

// Types of content that are served, after those of gRPC, which are the same for every method.
var (
	ofGRPC    = []string{"application/grpc", "application/grpc+json", "application/grpc+proto", "application/grpc-web", "application/grpc-web+json", "application/grpc-web+proto"}
	ofCalls   = []string{"application/json", "application/proto"}
	ofStreams = []string{"application/connect+json", "application/connect+proto"}
)

// unspoken says what is wrong with a request that speaks no protocol that is served here, and in the header what would do.
func unspoken(header http.Header, r *http.Request, streams bool) (int, *fault.Fault) {
	if r.Method != http.MethodPost {
		header.Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, fault.New(fault.MethodNotAllowed, fault.MethodNotAllowedReason, "this method is called by POST")
	}
	kinds := ofCalls
	if streams {
		kinds = ofStreams
	}
	base, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	plain := len(params) == 0 || len(params) == 1 && strings.EqualFold(params["charset"], "utf-8") && strings.HasSuffix(base, "json")
	if err == nil && plain && (slices.Contains(kinds, base) || slices.Contains(ofGRPC, base)) {
		return 0, nil
	}
	header.Set("Accept-Post", strings.Join(slices.Concat(kinds, ofGRPC), ", "))
	return http.StatusUnsupportedMediaType, fault.Fields(fault.Field{Path: "Content-Type", Reason: fault.Unsupported, Message: "must be " + strings.Join(kinds, " or ")})
}

// turnAway answers a request of which there is no call, in Connect's words and with a status of HTTP that Connect has no code for.
func (h *Handler) turnAway(w http.ResponseWriter, r *http.Request, code int, f *fault.Fault) {
	id := chain.NewRequestID(r.Header.Get(chain.HeaderRequestID))
	err := translate(chain.Status(f, id).Err(), metadata.MD{chain.HeaderRequestID: {id}})
	bare := r.Clone(r.Context())
	bare.Header.Del("Content-Type") // whatever it is, the answer is JSON
	_ = h.refusals.Write(coded{w, code}, bare, err)
}

// coded answers with a status of its own.
type coded struct {
	http.ResponseWriter
	code int
}

func (c coded) WriteHeader(int) { c.ResponseWriter.WriteHeader(c.code) }

// content is the body of a request, which says why it ends when it does not come in time or is too large.
type content struct {
	io.ReadCloser
	header http.Header  // of the request
	left   int          // how many bytes may come yet
	over   func() error // what is said to more; nil: they are counted elsewhere
}

func (c *content) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		id := chain.NewRequestID(c.header.Get(chain.HeaderRequestID))
		return n, translate(chain.Status(chain.TooSlow(), id).Err(), metadata.MD{chain.HeaderRequestID: {id}})
	}
	if c.over == nil {
		return n, err
	}
	if c.left -= n; c.left >= 0 {
		return n, err
	}
	// A sender that goes on beyond this, or stops, is cut off.
	_, _ = io.Copy(io.Discard, io.LimitReader(c.ReadCloser, chain.MaxDiscard))
	return 0, c.over()
}

// unpacker is a decompressor that stops where a message is too large, so that the chain may refuse it: Connect's own bound
// would, without a reason.
type unpacker struct {
	gzip.Reader
	left int64
}

func newUnpacker() connect.Decompressor { return &unpacker{} }
func newPacker() connect.Compressor     { return gzip.NewWriter(io.Discard) }

func (u *unpacker) Reset(r io.Reader) error {
	u.left = chain.MaxRequestBytes + 1
	return u.Reader.Reset(r)
}

func (u *unpacker) Read(p []byte) (int, error) {
	if u.left <= 0 {
		return 0, io.EOF
	}
	n, err := u.Reader.Read(p[:min(int64(len(p)), u.left)])
	u.left -= int64(n)
	return n, err
}

// Headers in which callers say how long they wait and how they packed what they send: Connect, Connect's streams, gRPC.
var (
	encodings   = []string{"Content-Encoding", "Connect-Content-Encoding", "Grpc-Encoding"}
	connectWait = "Connect-Timeout-Ms"
	grpcWait    = "Grpc-Timeout"
)

type dueKey struct{}

// negotiate reads what Connect would refuse without a reason. How long the caller waits it takes out of the header, for [due].
func negotiate(r *http.Request) (*http.Request, *fault.Fault) {
	for _, name := range encodings {
		if v := r.Header.Get(name); v != "" && v != "identity" && v != "gzip" {
			return r, fault.New(fault.Unimplemented, fault.UnimplementedReason, "%s names an encoding that is not offered here: send gzip, or none", name)
		}
	}
	name, read := connectWait, milliseconds
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		name, read = grpcWait, grpcTimeout
	}
	v := r.Header.Get(name)
	if v == "" {
		return r, nil
	}
	wait, ok := read(v)
	if !ok {
		return r, fault.Fields(fault.Field{Path: name, Reason: fault.BadFormat, Message: "is no time of this protocol"})
	}
	r.Header.Del(name)
	return r.WithContext(context.WithValue(r.Context(), dueKey{}, time.Now().Add(wait))), nil
}

// due bounds a call by what its caller waits, which the chain then explains when it is over.
func due(ctx context.Context) (context.Context, context.CancelFunc) {
	if at, ok := ctx.Value(dueKey{}).(time.Time); ok {
		return context.WithDeadline(ctx, at)
	}
	return ctx, func() {}
}

// milliseconds reads at most ten digits, as the Connect protocol has them.
func milliseconds(v string) (time.Duration, bool) {
	n, err := strconv.ParseUint(v, 10, 63)
	return time.Duration(n) * time.Millisecond, err == nil && len(v) <= 10 //nolint:gosec // ten digits
}

// grpcTimeout reads at most eight digits and a unit, as gRPC has them.
func grpcTimeout(v string) (time.Duration, bool) {
	units := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond}
	unit := units[v[len(v)-1]]
	n, err := strconv.ParseUint(v[:len(v)-1], 10, 31)
	if unit == 0 || err != nil || len(v) > 9 {
		return 0, false
	}
	if unit == time.Hour {
		n = min(n, 1_000_000) // a century; more is more than a Duration holds
	}
	return time.Duration(n) * unit, true //nolint:gosec // eight digits
}
