package connectrpc_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/gen/latchkey/lock/v1/lockv1connect"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
)

func TestStreamsPassTheChain(t *testing.T) {
	srv := start(t, &service{})
	for name, options := range map[string][]connect.ClientOption{"connect": nil, "connect json": {connect.WithProtoJSON()}, "grpc": {connect.WithGRPC()}} {
		t.Run(name, func(t *testing.T) {
			open := func(options ...connect.ClientOption) *connect.BidiStreamForClientSimple[lockv1.ConnectRequest, lockv1.ConnectResponse] {
				st, err := lockv1connect.NewBridgeServiceClient(h2c(t), srv.URL, options...).Connect(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return st
			}
			st := open(append(slices.Clone(options), connect.WithInterceptors(token{}))...)
			for i := range uint64(3) {
				if err := st.Send(&lockv1.ConnectRequest{Epoch: i}); err != nil {
					t.Fatal(err)
				}
				resp, err := st.Receive()
				if err != nil || resp.GetEpoch() != i+1 {
					t.Fatalf("%v, %v", resp, err)
				}
			}
			if got := st.ResponseHeader().Get("X-Request-Id"); !strings.HasPrefix(got, "req_") {
				t.Errorf("header %v", st.ResponseHeader())
			}
			if err := st.Send(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_Hello{Hello: &lockv1.Hello{Software: "a\x00"}}}); err != nil {
				t.Fatal(err)
			}
			_, err := st.Receive()
			if code, _, fields := details(t, err); code != connect.CodeInvalidArgument || !slices.Contains(fields, "hello.software notPrintable") {
				t.Errorf("%v %v", code, fields)
			}
			stranger := open(options...)
			// The refusal may come before the message is out.
			_ = stranger.Send(&lockv1.ConnectRequest{})
			_, err = stranger.Receive()
			if code, reason, _ := details(t, err); code != connect.CodeUnauthenticated || reason != "invalidCredentials" {
				t.Errorf("%v %s", code, reason)
			}
		})
	}
}

// deadlineWriter is a response writer with read and write deadlines.
type deadlineWriter struct {
	*httptest.ResponseRecorder
	in, out bool // whether the read and the write deadline were removed
}

func (b *deadlineWriter) SetReadDeadline(at time.Time) error {
	b.in = at.IsZero()
	return nil
}

func (b *deadlineWriter) SetWriteDeadline(at time.Time) error {
	b.out = at.IsZero()
	return nil
}

// The server's timeouts and a proxy's buffer apply to unary calls, not to streams.
func TestStreamsHaveNoTimeoutsAndNoBuffer(t *testing.T) {
	srv := start(t, &service{})
	for path, want := range map[string]bool{lockv1connect.BridgeServiceConnectProcedure: true, partnerv1.ReservationService_UpsertReservation_FullMethodName: false} {
		w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(""))
		r.Header.Set("Content-Type", "application/connect+proto")
		r.Header.Set("Access-Token", "at")
		r.RemoteAddr = "127.0.0.1:1"
		srv.Config.Handler.ServeHTTP(w, r)
		if w.in != want || w.out != want {
			t.Errorf("%s: lifted %v and %v", path, w.in, w.out)
		}
		if got := w.Header().Get("X-Accel-Buffering"); (got == "no") != want {
			t.Errorf("%s: X-Accel-Buffering %q", path, got)
		}
	}
}
