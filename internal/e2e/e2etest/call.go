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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Protocol is one way to call an RPC.
type Protocol string

// The protocols of the API.
const (
	GRPC    Protocol = "grpc"
	REST    Protocol = "rest"
	Connect Protocol = "connect"
)

// Protocols are all of them.
var Protocols = []Protocol{GRPC, REST, Connect}

// Caller is who calls, and with what.
type Caller struct {
	Name    string
	Headers map[string]string
	Socket  bool // over the operators' Unix socket
}

// With returns a caller that sends one more header.
func (c Caller) With(name, value string) Caller {
	h := maps.Clone(c.Headers)
	if h == nil {
		h = map[string]string{}
	}
	h[name] = value
	c.Headers = h
	return c
}

// API reaches every listener that callers have.
type API struct {
	Base   string // http://host:port
	Public *grpc.ClientConn
	Socket *grpc.ClientConn
	HTTP   *http.Client
	local  *http.Client // over the socket
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// Dial makes clients of a server until t ends.
func Dial(t testing.TB, httpAddr, grpcAddr, socket string) *API {
	t.Helper()
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	public, err := grpc.NewClient(grpcAddr, plain)
	if err != nil {
		t.Fatal(err)
	}
	local, err := grpc.NewClient("unix:"+socket, plain)
	if err != nil {
		t.Fatal(err)
	}
	a := &API{Base: "http://" + httpAddr, Public: public, Socket: local}
	a.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}
	a.local = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
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

// Call calls an RPC and says what came of it. The error is of the way there; what the server refuses is an outcome.
func (a *API) Call(ctx context.Context, p Protocol, c Caller, r RPC, req proto.Message) (Outcome, error) {
	switch p {
	case GRPC:
		return a.grpc(ctx, c, r, req)
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
		verb, path, raw, err := r.Routes[0].Write(req)
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

func (a *API) grpc(ctx context.Context, c Caller, r RPC, req proto.Message) (Outcome, error) {
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
	o := Outcome{Code: st.Code(), Message: st.Message(), Header: headers(header, trailer)}
	if err == nil {
		o.Reply = reply
	}
	return o, o.readDetails(st.Proto().GetDetails())
}

func headers(all ...metadata.MD) http.Header {
	h := http.Header{}
	for _, md := range all {
		for k, v := range md {
			h[http.CanonicalHeaderKey(k)] = v
		}
	}
	return h
}

// HTTPCall sends any request over HTTP and returns the raw answer.
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
	o.Raw, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return o, err
}

// Do calls a route with an unchanged body, or with a value encoded as JSON, and reads the answer as JSON.
func (a *API) Do(ctx context.Context, c Caller, verb, path string, content any) (Outcome, error) {
	raw, err := body(content)
	if err != nil {
		return Outcome{}, err
	}
	o, err := a.HTTPCall(ctx, c, verb, path, "application/json", raw)
	if err != nil {
		return o, err
	}
	return o, o.ReadEnvelope()
}

// Raw calls over gRPC with bytes that need be no message of the method.
func (a *API) Raw(ctx context.Context, c Caller, r RPC, raw []byte) (Outcome, error) {
	conn := a.Public
	if c.Socket {
		conn = a.Socket
	}
	if len(c.Headers) > 0 {
		ctx = metadata.NewOutgoingContext(ctx, metadata.New(c.Headers))
	}
	var answer []byte
	var header, trailer metadata.MD
	err := conn.Invoke(ctx, "/"+r.Name, &raw, &answer, grpc.ForceCodecV2(bare{}), grpc.Header(&header), grpc.Trailer(&trailer))
	o, wrong := OfGRPC(err)
	o.Raw, o.Header = answer, headers(header, trailer)
	return o, wrong
}

// bare is a codec that does not change bytes.
type bare struct{}

func (bare) Name() string { return "proto" }

func (bare) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (bare) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
