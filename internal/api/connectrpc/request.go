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

// refuseInChain runs a request without a message through the chain, which refuses, counts and logs it. f is the refusal
// unless the chain refuses the call for another reason.
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

// Supported content types. Those of gRPC are the same for every method.
var (
	grpcContentTypes   = []string{"application/grpc", "application/grpc+json", "application/grpc+proto", "application/grpc-web", "application/grpc-web+json", "application/grpc-web+proto"}
	unaryContentTypes  = []string{"application/json", "application/proto"}
	streamContentTypes = []string{"application/connect+json", "application/connect+proto"}
)

// checkEncoding checks that a request uses POST and a supported content type. If not, it returns the HTTP status and
// the error, and sets the header that lists what is supported.
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

// reject answers a request that does not reach the chain, in Connect's format, with an HTTP status that Connect has no
// code for.
func (h *Handler) reject(w http.ResponseWriter, r *http.Request, code int, f *fault.Fault) {
	id := chain.NewRequestID(r.Header.Get(chain.HeaderRequestID))
	err := connectError(envelope.Status(f, id).Err(), metadata.MD{chain.HeaderRequestID: {id}})
	bare := r.Clone(r.Context())
	bare.Header.Del("Content-Type") // so that the answer is JSON
	_ = h.errorWriter.Write(statusWriter{w, code}, bare, err)
}

// statusWriter replaces the HTTP status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (c statusWriter) WriteHeader(int) { c.ResponseWriter.WriteHeader(c.status) }

// requestBody is the body of a request. It returns an error with a reason if the body does not arrive in time or is too
// large.
type requestBody struct {
	io.ReadCloser
	header     http.Header  // of the request
	remaining  int          // bytes that may still be read
	onTooLarge func() error // returns the error for more bytes; nil: no limit here
}

func (c *requestBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		id := chain.NewRequestID(c.header.Get(chain.HeaderRequestID))
		return n, connectError(envelope.Status(chain.TooSlow(), id).Err(), metadata.MD{chain.HeaderRequestID: {id}})
	}
	if c.onTooLarge == nil {
		return n, err
	}
	if c.remaining -= n; c.remaining >= 0 {
		return n, err
	}
	// Read the rest, within limits, so that the sender can receive the answer.
	_, _ = io.Copy(io.Discard, io.LimitReader(c.ReadCloser, chain.MaxDiscard))
	return 0, c.onTooLarge()
}

// gzipReader is a decompressor that stops one byte above the maximum, so that the chain refuses the message. Connect's
// own limit refuses it without a reason.
type gzipReader struct {
	gzip.Reader
	remaining int64
}

func newDecompressor() connect.Decompressor { return &gzipReader{} }
func newCompressor() connect.Compressor     { return gzip.NewWriter(io.Discard) }

// Reset starts a new message, with the full allowance of decompressed bytes.
func (u *gzipReader) Reset(r io.Reader) error {
	u.remaining = chain.MaxRequestBytes + 1
	return u.Reader.Reset(r)
}

func (u *gzipReader) Read(p []byte) (int, error) {
	if u.remaining <= 0 {
		return 0, io.EOF
	}
	n, err := u.Reader.Read(p[:min(int64(len(p)), u.remaining)])
	u.remaining -= int64(n)
	return n, err
}

// Headers for compression and timeouts in Connect, Connect streams and gRPC.
var (
	encodingHeaders      = []string{"Content-Encoding", "Connect-Content-Encoding", "Grpc-Encoding"}
	connectTimeoutHeader = "Connect-Timeout-Ms"
	grpcTimeoutHeader    = "Grpc-Timeout"
)

type deadlineKey struct{}

// negotiate validates the compression and timeout headers, because Connect refuses them without a reason. It moves the
// timeout from the header to the context, for [withCallerDeadline].
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

// withCallerDeadline applies the caller's timeout. The chain then reports when it is exceeded.
func withCallerDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if at, ok := ctx.Value(deadlineKey{}).(time.Time); ok {
		return context.WithDeadline(ctx, at)
	}
	return ctx, func() {}
}

// parseConnectTimeout parses milliseconds of at most ten digits, as the Connect protocol defines.
func parseConnectTimeout(v string) (time.Duration, bool) {
	n, err := strconv.ParseUint(v, 10, 63)
	return time.Duration(n) * time.Millisecond, err == nil && len(v) <= 10 // ten digits
}

// parseGRPCTimeout parses at most eight digits and a unit, as the gRPC protocol defines.
func parseGRPCTimeout(v string) (time.Duration, bool) {
	units := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond}
	unit := units[v[len(v)-1]]
	n, err := strconv.ParseUint(v[:len(v)-1], 10, 31)
	if unit == 0 || err != nil || len(v) > 9 {
		return 0, false
	}
	if unit == time.Hour {
		n = min(n, 1_000_000) // about a century; a Duration cannot hold much more
	}
	return time.Duration(n) * unit, true // eight digits
}
