package rest_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"latchkey.dev/internal/api/chain"
)

// heldBody is a body whose end arrives only when free is closed.
type heldBody struct {
	io.Reader
	free chan struct{}
}

func (b *heldBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		<-b.free
	}
	return n, err
}

// TestUnfinishedBodies holds many bodies of one caller open, which must not take all memory and all calls of others.
func TestUnfinishedBodies(t *testing.T) {
	for _, step := range []struct {
		name   string
		size   int
		held   int // unfinished calls of the caller
		status int // answer to one more of the same size
		reason string
	}{
		{"bodies up to the memory of a caller", 1 << 20, 3, 400, "badJson"},
		{"large bodies", 1 << 20, 4, 503, "unavailable"},
		{"small bodies", 1 << 10, 63, 400, "badJson"},
		{"many small bodies", 1 << 10, 64, 429, "rateLimited"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStack(t, chain.Limits{})
			free := make(chan struct{})
			send := func(body io.Reader) *http.Response {
				r := httptest.NewRequestWithContext(t.Context(), "PATCH", "/v1/reservations", body)
				r.Header.Set("Authorization", "Bearer at")
				r.RemoteAddr = "192.0.2.1:1000"
				r.ContentLength = int64(step.size)
				w := httptest.NewRecorder()
				s.handler.ServeHTTP(w, r)
				return w.Result()
			}
			for range step.held {
				go send(&heldBody{bytes.NewReader(make([]byte, step.size)), free})
			}
			synctest.Wait()
			if e := readEnvelope(t, send(bytes.NewReader(make([]byte, step.size)))); e.Error.Status != step.status || e.Error.Reason != step.reason {
				t.Errorf("%s: %+v", step.name, e.Error)
			}
			close(free)
			synctest.Wait()
			if e := readEnvelope(t, send(bytes.NewReader(make([]byte, step.size)))); e.Error.Status != 400 {
				t.Errorf("%s: after the others have ended: %+v", step.name, e.Error)
			}
		})
	}
}
