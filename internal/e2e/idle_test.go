package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// TestIdleSession leaves a page open: neither its stream nor what it loads by itself keeps the session of a person who went away. What the person
// does keeps it.
func TestIdleSession(t *testing.T) {
	t.Parallel()
	now := &e2etest.Offset{}
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Options.Clock = now })
	away, here := newSurfer(t, w), newSurfer(t, w)
	away.join(w, "ada@example.com")
	here.join(w, "eve@example.com")
	listen := func(s *surfer) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/app/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		if _, err := a.Body.Read(make([]byte, 1)); err != nil || a.StatusCode != http.StatusOK {
			t.Errorf("the stream of the page: %d, %v", a.StatusCode, err)
		}
		st, err := propertyv1.NewEventServiceClient(w.Public).Watch(metadata.NewOutgoingContext(ctx, metadata.New(signedIn{token: s.session()}.at(w.PropertyID).Headers)), &propertyv1.WatchRequest{Topics: []string{"reservations"}})
		if err == nil {
			_, err = st.Recv()
		}
		if err != nil {
			t.Errorf("the stream of the API: %v", err)
		}
	}
	for _, after := range []time.Duration{10 * time.Minute, 20 * time.Minute, 29 * time.Minute} {
		now.Set(after)
		listen(away)
		if a := away.do(http.MethodGet, "/app/today", nil, "Latchkey-Script", "1", "Latchkey-Automatic", "1"); a.status != http.StatusOK {
			t.Errorf("after %s: %d to %q", after, a.status, a.moved)
		}
		if a := here.do(http.MethodGet, "/app/today", nil); a.status != http.StatusOK {
			t.Errorf("after %s: %d to %q", after, a.status, a.moved)
		}
	}
	now.Set(31 * time.Minute)
	if a := away.do(http.MethodGet, "/app/today", nil); !strings.HasPrefix(a.moved, "/app/login") {
		t.Errorf("the session of a person who is away goes on: %d", a.status)
	}
	if a := here.do(http.MethodGet, "/app/today", nil); a.status != http.StatusOK {
		t.Errorf("the session of a person who works has ended: %d to %q", a.status, a.moved)
	}
}
