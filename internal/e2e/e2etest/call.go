package e2etest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Protocol is a protocol over which a test calls an RPC.
type Protocol string

const (
	GRPC    Protocol = "grpc"
	REST    Protocol = "rest"
	Connect Protocol = "connect"
)

// Protocols are all protocols.
var Protocols = []Protocol{GRPC, REST, Connect}

// Caller is who calls the API: a name for messages of tests, and the credentials that its calls send.
type Caller struct {
	Name    string
	Headers map[string]string
	Socket  bool // Socket means that calls use the operators' Unix socket
}

// WithHeader returns a copy of the caller that also sends the given header, in place of one with the same name.
func (c Caller) WithHeader(name, value string) Caller {
	h := maps.Clone(c.Headers)
	if h == nil {
		h = map[string]string{}
	}
	h[name] = value
	c.Headers = h
	return c
}

// API is a client of a server's HTTP and gRPC listeners and of its Unix socket for operators.
type API struct {
	Base   string // Base is the URL http://host:port
	Public *grpc.ClientConn
	Socket *grpc.ClientConn
	HTTP   *http.Client
	local  *http.Client // client over the Unix socket for operators
}

// maxAnswerSize is the size in bytes up to which a test reads an HTTP answer.
const maxAnswerSize = 16 << 20

// Dial returns clients of a server, which connect at the first call. They are closed when the test ends.
func Dial(t testing.TB, httpAddr, grpcAddr, socket string) *API {
	t.Helper()
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUnaryInterceptor(withTimeout), grpc.WithConnectParams(reconnect)}
	public, err := grpc.NewClient(grpcAddr, options...)
	if err != nil {
		t.Fatal(err)
	}
	local, err := grpc.NewClient("unix:"+socket, options...)
	if err != nil {
		t.Fatal(err)
	}
	a := &API{Base: "http://" + httpAddr, Public: public, Socket: local}
	a.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: callTimeout}
	a.local = &http.Client{Timeout: callTimeout, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	t.Cleanup(func() {
		a.HTTP.CloseIdleConnections()
		a.local.CloseIdleConnections()
		if err := errors.Join(public.Close(), local.Close()); err != nil {
			t.Error(err)
		}
	})
	return a
}

// reconnect makes clients find a restarted server soon.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 200 * time.Millisecond},
	MinConnectTimeout: 20 * time.Second,
}

// callTimeout is the timeout of each unary call. A call that the server never answers fails its test with the name of the RPC.
const callTimeout = time.Minute

// withTimeout is a gRPC interceptor of clients that sets callTimeout. It adds the name of the RPC to the error of a call whose context has
// ended.
func withTimeout(ctx context.Context, method string, req, res any, cc *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := call(ctx, method, req, res, cc, opts...)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", method, err)
	}
	return err
}

// Call calls an RPC over a protocol with the credentials of c. A refusal by the server is a valid Outcome: the error is only for calls
// without a valid answer. Over gRPC, a failed connection and a timeout are an Outcome, too, with the code of the client. REST uses the
// first route of r, which must have one.
func (a *API) Call(ctx context.Context, p Protocol, c Caller, r RPC, req proto.Message) (Outcome, error) {
	switch p {
	case GRPC:
		return a.callGRPC(ctx, c, r, req)
	case Connect:
		raw, err := protojson.Marshal(req)
		if err != nil {
			return Outcome{}, err
		}
		o, err := a.HTTPCall(ctx, c, http.MethodPost, "/"+r.Name, "application/json", raw)
		if err != nil {
			return o, err
		}
		return o, o.ReadConnect(r)
	case REST:
		verb, path, raw, err := r.Routes[0].Encode(req)
		if err != nil {
			return Outcome{}, err
		}
		o, err := a.HTTPCall(ctx, c, verb, path, "application/json", raw)
		if err != nil {
			return o, err
		}
		return o, o.readREST(r)
	}
	return Outcome{}, fmt.Errorf("no protocol %q", p)
}

// callGRPC is Call over gRPC. A refusal, a failed connection and a timeout are an Outcome. The error says that details of a refusal cannot
// be decoded.
func (a *API) callGRPC(ctx context.Context, c Caller, r RPC, req proto.Message) (Outcome, error) {
	conn := a.Public
	if c.Socket {
		conn = a.Socket
	}
	if len(c.Headers) > 0 {
		ctx = metadata.NewOutgoingContext(ctx, metadata.New(c.Headers))
	}
	var header, trailer metadata.MD
	reply := r.Reply()
	err := conn.Invoke(ctx, "/"+r.Name, req, reply, grpc.Header(&header), grpc.Trailer(&trailer))
	st := status.Convert(err)
	o := Outcome{Code: st.Code(), Message: st.Message(), Header: headerOfMetadata(header, trailer)}
	if err == nil {
		o.Reply = reply
	}
	return o, o.readDetails(st.Proto().GetDetails())
}

// headerOfMetadata converts metadata of gRPC to an HTTP header.
func headerOfMetadata(all ...metadata.MD) http.Header {
	h := http.Header{}
	for _, md := range all {
		for k, v := range md {
			h[http.CanonicalHeaderKey(k)] = v
		}
	}
	return h
}

// HTTPCall sends an HTTP request and returns the raw answer, cut at maxAnswerSize. The outcome is not decoded: see ReadEnvelope and
// ReadConnect.
func (a *API) HTTPCall(ctx context.Context, c Caller, verb, path, contentType string, raw []byte) (Outcome, error) {
	client := a.HTTP
	if c.Socket {
		client = a.local
	}
	var content io.Reader
	if raw != nil {
		content = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, verb, a.Base+path, content)
	if err != nil {
		return Outcome{}, err
	}
	if raw != nil && contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for k, v := range c.Headers {
		req.Header.Set(k, v)
	}
	res, err := client.Do(req)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { _ = res.Body.Close() }()
	o := Outcome{HTTP: res.StatusCode, Header: res.Header, Code: codes.Unknown}
	o.Raw, err = io.ReadAll(io.LimitReader(res.Body, maxAnswerSize))
	return o, err
}

// Do calls a REST route. content is nil, a raw body as []byte or string, or a value to encode as JSON. The outcome has no Reply: see Data.
// A refusal is an Outcome, too. The error is for a call without a valid answer.
func (a *API) Do(ctx context.Context, c Caller, verb, path string, content any) (Outcome, error) {
	raw, err := encodeBody(content)
	if err != nil {
		return Outcome{}, err
	}
	o, err := a.HTTPCall(ctx, c, verb, path, "application/json", raw)
	if err != nil {
		return o, err
	}
	return o, o.ReadEnvelope()
}

// CallRaw calls an RPC over gRPC. raw is sent in place of an encoded request, so that a test can send an invalid one. As with Call over
// gRPC, a failed connection is an Outcome.
func (a *API) CallRaw(ctx context.Context, c Caller, r RPC, raw []byte) (Outcome, error) {
	conn := a.Public
	if c.Socket {
		conn = a.Socket
	}
	if len(c.Headers) > 0 {
		ctx = metadata.NewOutgoingContext(ctx, metadata.New(c.Headers))
	}
	var answer []byte
	var header, trailer metadata.MD
	err := conn.Invoke(ctx, "/"+r.Name, &raw, &answer, grpc.ForceCodecV2(rawCodec{}), grpc.Header(&header), grpc.Trailer(&trailer))
	o, wrong := GRPCOutcome(err)
	o.Raw, o.Header = answer, headerOfMetadata(header, trailer)
	return o, wrong
}

// rawCodec is a gRPC codec that sends and receives bytes without encoding them. Its values must be of the type *[]byte.
type rawCodec struct{}

// Name returns the name of the standard codec. It is sent in the content type, so that the server decodes the bytes as protobuf.
func (rawCodec) Name() string { return "proto" }

// Marshal returns the bytes to which v, a *[]byte, points. It panics for another type.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

// Unmarshal stores a copy of data in the slice to which v, a *[]byte, points. It panics for another type.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
