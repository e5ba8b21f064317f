package connectrpc_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

// endless is a body that stops after its beginning, until free is closed.
type endless struct {
	io.Reader
	free chan struct{}
}

func (b endless) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		<-b.free
	}
	return n, err
}

// TestUnfinishedBodiesLeaveMemory holds large bodies of one caller open, over each protocol.
func TestUnfinishedBodiesLeaveMemory(t *testing.T) {
	handler := start(t, &service{}).Config.Handler
	for _, kind := range []string{"application/json", "application/proto", "application/grpc", "application/grpc-web+json"} {
		synctest.Test(t, func(t *testing.T) {
			free := make(chan struct{})
			send := func(body io.Reader) *http.Response {
				r := httptest.NewRequestWithContext(t.Context(), "POST", "/latchkey.partner.v1.ReservationService/UpsertReservation", body)
				r.Proto, r.ProtoMajor, r.ProtoMinor, r.RemoteAddr, r.ContentLength = "HTTP/2.0", 2, 0, "127.0.0.1:1000", -1
				r.Header.Set("Content-Type", kind)
				r.Header.Set("Access-Token", "at")
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				return w.Result()
			}
			begin := "\x00\x00\x0f\xff\xff" + strings.Repeat(" ", 20<<10) // over gRPC, a message of a megabyte begins
			for range 4 {
				go send(endless{strings.NewReader(begin), free})
			}
			synctest.Wait()
			got := send(strings.NewReader(begin))
			status := got.Header.Get("Grpc-Status") + got.Trailer.Get("Grpc-Status")
			if raw, _ := io.ReadAll(got.Body); got.StatusCode != http.StatusServiceUnavailable && status != "14" && !strings.Contains(string(raw), "grpc-status: 14") {
				t.Errorf("%s: %d %v %q", kind, got.StatusCode, got.Header, raw)
			}
			close(free)
		})
	}
}
