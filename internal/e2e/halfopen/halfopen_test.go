// Package halfopen holds a link between a bridge and the service open while nothing passes it any more, for as long as
// the product itself waits, and connections that say nothing: its tests take a minute, and have a package of their own for that.
package halfopen

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// dead is when both sides must know, at the latest, and how much later a slow machine may tell it.
const (
	dead = 45 * time.Second
	slow = 2 * time.Second
)

// logWatch records when a line was first logged.
type logWatch struct {
	mu   sync.Mutex
	what string
	at   time.Time
}

func (h *logWatch) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at.IsZero() && strings.Contains(string(p), h.what) {
		h.at = time.Now()
	}
	return len(p), nil
}

func (h *logWatch) when() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

// TestAHalfOpenLink lets every packet vanish while both sides believe in the connection. Each notices by itself within 45
// seconds; an unlock meanwhile fails with DEADLINE_EXCEEDED, and the door does not open, then or later.
func TestAHalfOpenLink(t *testing.T) {
	t.Parallel()
	between, left := newHole(t), &logWatch{what: `msg="no session with the server"`}
	w := e2etest.Open(t, func(c *sandbox.Config) {
		c.RouteBridge, c.MaxBridgeRetry = between.link, 20*time.Millisecond
		c.Options.Logger = slog.New(slog.NewTextHandler(io.MultiWriter(left, t.Output()), nil))
	})
	locks, err := propertyv1.NewLockServiceClient(w.Public).ListLocks(w.Staff(t.Context()), &propertyv1.ListLocksRequest{PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	door := locks.GetData().GetList()[0]
	unlock := func(ctx context.Context) e2etest.Outcome {
		o, err := w.Do(ctx, w.Owner(), "POST", "/v1/property/locks/"+door.GetId()+":unlock", `{}`)
		if err != nil {
			t.Error(err)
		}
		return o
	}
	state := func() string {
		b, err := propertyv1.NewBridgeServiceClient(w.Public).ListBridges(w.Staff(t.Context()), &propertyv1.ListBridgesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return b.GetData().GetList()[0].GetState()
	}
	if !left.when().IsZero() || state() != "online" {
		t.Fatal("there is no session to begin with")
	}

	between.swallow()
	began := time.Now()
	var tries sync.WaitGroup
	for _, later := range []time.Duration{0, 10 * time.Second, 20 * time.Second} {
		tries.Go(func() {
			select {
			case <-time.After(later):
			case <-t.Context().Done():
				return
			}
			if o := unlock(t.Context()); o.HTTP != 504 || o.Reason != "deadlineExceeded" {
				t.Errorf("an unlock after %v: %v", later, o)
			}
		})
	}
	var service time.Duration
	for service == 0 || left.when().IsZero() {
		if service == 0 && state() != "online" {
			service = time.Since(began)
		}
		if time.Since(began) > dead+slow {
			t.Fatalf("after %v: the service noticed: %v, the bridge: %v", dead+slow, service > 0, !left.when().IsZero())
		}
		<-time.After(100 * time.Millisecond)
	}
	bridge := left.when().Sub(began)
	t.Logf("the service noticed after %v, the bridge after %v", service.Round(time.Millisecond), bridge.Round(time.Millisecond))
	tries.Wait()
	if between.heal() == 0 {
		t.Error("nothing vanished")
	}
	w.Await("the bridge is back", func(context.Context) (bool, error) { return state() == "online", nil })
	if o := unlock(t.Context()); !o.OK() || w.Site.UnlockCount(door.GetAddress()) != 1 {
		t.Errorf("with the link back: %v; the door was opened %d times, by one unlock that was to", o, w.Site.UnlockCount(door.GetAddress()))
	}
}
