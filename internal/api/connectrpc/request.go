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

	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/inproc"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/fault/envelope"
)

// refuseInChain passes a call without a message to the interceptor chain, which refuses, counts and logs it. The chain refuses it with f
// unless it finds an earlier reason, such as a missing credential. f is nil if the chain has refused the call already. The result is the
// error for the caller.
func (h *Handler) refuseInChain(r *http.Request, f *fault.Fault) error {
	full := r.URL.Path
	sts := inproc.NewTransport(full)
	ctx := grpc.NewContextWithServerTransportStream(r.Context(), sts)
	call := chain.From(ctx)
	if call == nil {
		ctx, call = h.admit(ctx, full, chain.Connect)
		defer call.End()
	}
	if f != nil {
		call.Fail(f)
	}
	_, err := h.unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: full}, func(context.Context, any) (any, error) { return nil, f })
	return connectError(err, sts.Header())
}

// Supported content types. gRPC uses the same ones for unary calls and streams.
var (
	grpcContentTypes   = []string{"application/grpc", "application/grpc+json", "application/grpc+proto", "application/grpc-web", "application/grpc-web+json", "application/grpc-web+proto"}
	unaryContentTypes  = []string{"application/json", "application/proto"}
	streamContentTypes = []string{"application/connect+json", "application/connect+proto"}
)

// checkEncoding checks that the request r uses POST and a supported content type. If not, it returns the HTTP status and the error for the
// answer, and sets Allow or Accept-Post, which list the supported values, in the header of the answer. Otherwise it returns 0 and nil.
// streams means that the method is a stream.
func checkEncoding(header http.Header, r *http.Request, streams bool) (int, *fault.Fault) {
	if r.Method != http.MethodPost {
		header.Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, fault.New(fault.MethodNotAllowed, fault.MethodNotAllowedReason, "this method supports only POST")
	}
	kinds := unaryContentTypes
	if streams {
		kinds = streamContentTypes
	}
	base, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	plain := len(params) == 0 || len(params) == 1 && strings.EqualFold(params["charset"], "utf-8") && strings.HasSuffix(base, "json")
	if err == nil && plain && (slices.Contains(kinds, base) || slices.Contains(grpcContentTypes, base)) {
		return 0, nil
	}
	header.Set("Accept-Post", strings.Join(slices.Concat(kinds, grpcContentTypes), ", "))
	return http.StatusUnsupportedMediaType, fault.Fields(fault.Field{Path: "Content-Type", Reason: fault.Unsupported, Message: "must be " + strings.Join(kinds, " or ")})
}

// reject answers a request that does not reach the chain. It uses Connect's error format with an HTTP status for which Connect has no code.
func (h *Handler) reject(w http.ResponseWriter, r *http.Request, code int, f *fault.Fault) {
	id := chain.NewRequestID(r.Header.Get(chain.HeaderRequestID))
	err := connectError(envelope.Status(f, id).Err(), metadata.MD{chain.HeaderRequestID: {id}})
	bare := r.Clone(r.Context())
	bare.Header.Del("Content-Type") // forces Connect to write the answer as JSON
	_ = h.errorWriter.Write(fixedStatusWriter{w, code}, bare, err)
}

// fixedStatusWriter replaces the HTTP status of an answer.
type fixedStatusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader ignores the status that Connect chose, and writes c.status.
func (c fixedStatusWriter) WriteHeader(int) { c.ResponseWriter.WriteHeader(c.status) }

// requestBody is a request body whose Read returns an error with a reason if the body arrives too slowly or is too large, or if no memory
// is free for it.
type requestBody struct {
	io.ReadCloser
	header    http.Header              // headers of the request
	remaining int                      // number of bytes that can still be read before the limit; unused if refuse is nil
	refuse    func(*fault.Fault) error // returns the error for a refused body of a unary call; nil for a stream, whose size requestBody does not limit
}

// Read returns TooSlow if the body arrives too slowly, TooLarge beyond the limit, and the fault of the body below, such as for memory that
// is not free. If refuse is set, the chain counts and logs the last two. Beyond the limit it discards the rest of the body.
func (c *requestBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return n, c.withReason(chain.TooSlow())
	}
	if f, ok := fault.Of(err); ok && c.refuse != nil {
		return n, c.refuse(f)
	} else if ok {
		return n, c.withReason(f)
	}
	if c.refuse == nil {
		return n, err
	}
	if c.remaining -= n; c.remaining >= 0 {
		return n, err
	}
	// Read the rest up to a limit, so that the sender receives the answer.
	_, _ = io.Copy(io.Discard, io.LimitReader(c.ReadCloser, chain.MaxDiscard))
	return 0, c.refuse(chain.TooLarge())
}

// withReason returns f as the error for the caller, with the id of the request. It is for a body that the chain cannot refuse, so the call
// is not counted and logged.
func (c *requestBody) withReason(f *fault.Fault) error {
	id := chain.NewRequestID(c.header.Get(chain.HeaderRequestID))
	return connectError(envelope.Status(f, id).Err(), metadata.MD{chain.HeaderRequestID: {id}})
}

// gzipReader decompresses at most one byte more than the maximum, so that the chain refuses the message with a reason. Connect's own limit
// gives no reason.
type gzipReader struct {
	gzip.Reader
	remaining int64
}

// newDecompressor creates a gzip decompressor, which Connect pools and resets for each message.
func newDecompressor() connect.Decompressor { return &gzipReader{} }

// newCompressor creates a gzip compressor, which Connect pools and resets for each message.
func newCompressor() connect.Compressor { return gzip.NewWriter(io.Discard) }

// Reset begins a new message with the full limit of decompressed bytes.
func (u *gzipReader) Reset(r io.Reader) error {
	u.remaining = chain.MaxRequestBytes + 1
	return u.Reader.Reset(r)
}

// Read reports io.EOF at the limit, as if the message ended there. The codec then finds the message too large.
func (u *gzipReader) Read(p []byte) (int, error) {
	if u.remaining <= 0 {
		return 0, io.EOF
	}
	n, err := u.Reader.Read(p[:min(int64(len(p)), u.remaining)])
	u.remaining -= int64(n)
	return n, err
}

// Names of the compression and timeout headers of Connect, Connect streams and gRPC.
var (
	encodingHeaders      = []string{"Content-Encoding", "Connect-Content-Encoding", "Grpc-Encoding"}
	connectTimeoutHeader = "Connect-Timeout-Ms"
	grpcTimeoutHeader    = "Grpc-Timeout"
)

// deadlineKey is the context key of the time at which the caller's timeout ends.
type deadlineKey struct{}

// negotiate validates the compression and timeout headers, because Connect refuses invalid ones without a reason. It moves the timeout from
// the header, which it deletes, to the context of the request that it returns, for [withCallerDeadline]. The fault is nil if all these
// headers are valid or missing.
func negotiate(r *http.Request) (*http.Request, *fault.Fault) {
	for _, name := range encodingHeaders {
		if v := r.Header.Get(name); v != "" && v != "identity" && v != "gzip" {
			return r, fault.New(fault.Unimplemented, fault.UnimplementedReason, "the encoding in %s is not supported: use gzip or none", name)
		}
	}
	name, parse := connectTimeoutHeader, parseConnectTimeout
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		name, parse = grpcTimeoutHeader, parseGRPCTimeout
	}
	v := r.Header.Get(name)
	if v == "" {
		return r, nil
	}
	wait, ok := parse(v)
	if !ok {
		return r, fault.Fields(fault.Field{Path: name, Reason: fault.BadFormat, Message: "is not a valid timeout"})
	}
	r.Header.Del(name)
	return r.WithContext(context.WithValue(r.Context(), deadlineKey{}, time.Now().Add(wait))), nil
}

// withCallerDeadline applies the timeout that negotiate stored to the context, so that the interceptor chain reports when it is exceeded.
// Without such a timeout it returns ctx unchanged.
func withCallerDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if at, ok := ctx.Value(deadlineKey{}).(time.Time); ok {
		return context.WithDeadline(ctx, at)
	}
	return ctx, func() {}
}

// parseConnectTimeout parses a Connect timeout: milliseconds, at most ten digits. It returns false for an invalid one.
func parseConnectTimeout(v string) (time.Duration, bool) {
	n, err := strconv.ParseUint(v, 10, 63)
	return time.Duration(n) * time.Millisecond, err == nil && len(v) <= 10
}

// parseGRPCTimeout parses a gRPC timeout: at most eight digits and a unit, such as 10S. v must not be empty. It returns false for an
// invalid one, and cuts hours at 1,000,000.
func parseGRPCTimeout(v string) (time.Duration, bool) {
	units := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond}
	unit := units[v[len(v)-1]]
	n, err := strconv.ParseUint(v[:len(v)-1], 10, 31)
	if unit == 0 || err != nil || len(v) > 9 {
		return 0, false
	}
	if unit == time.Hour {
		n = min(n, 1_000_000) // limits hours to about a century, because a Duration overflows soon after
	}
	return time.Duration(n) * unit, true
}
